"""The page in a real browser, wide and narrow, light and dark: it fits, can be read, works by keyboard, and is quiet."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from html_samples import page as sample

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

QUIET = (
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

# What sticks out of the window, other than what scrolls in a box of its own.
STICKING_OUT = """() => [...document.body.querySelectorAll('*')]
  .filter(e => !e.closest('.scroll > *') && !e.closest('svg > *') && e.getBoundingClientRect().width > 0)
  .filter(e => e.getBoundingClientRect().right > innerWidth + 0.5 && !e.matches('.skip'))
  .map(e => e.tagName + '.' + e.getAttribute('class'))"""

# The contrast of every text with what is behind it, by WCAG 2. Text in a drawing has the ground of its box around its
# letters, so that is what it is compared with; a tint counts only where it is opaque enough to be seen through letters.
POOR_CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = color => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = color; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = c => [0.2126, 0.7152, 0.0722].reduce((sum, weight, i) => {
    const v = c[i] / 255;
    return sum + weight * (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  }, 0);
  const ground = element => {
    const colors = [];
    for (let e = element; e; e = e.parentElement) colors.push(rgba(getComputedStyle(e).backgroundColor));
    return colors.reduceRight((below, top) => over(top, below), rgba('Canvas'));
  };
  const poor = [], seen = {texts: 0, drawn: 0};
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement, style = getComputedStyle(element);
    if (!node.data.trim() || element.closest('title, desc, style, .unseen') || style.visibility === 'hidden') continue;
    if (!element.getClientRects().length) continue;
    const drawn = element.closest('svg') !== null;
    const below = ground(element), color = over(rgba(drawn ? style.fill : style.color), below);
    const [a, b] = [light(color), light(below)].sort((x, y) => y - x);
    const pixels = parseFloat(style.fontSize), bold = parseInt(style.fontWeight) >= 700;
    const needed = pixels >= 24 || (bold && pixels >= 18.66) ? 3 : 4.5;
    seen.texts += 1; seen.drawn += drawn;
    if ((a + 0.05) / (b + 0.05) < needed) poor.push([node.data.trim().slice(0, 60), (a + 0.05) / (b + 0.05)]);
  }
  return {poor, seen};
}"""


@pytest.fixture(scope="module")
def browser():
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None and not os.environ.get("CI"):
        pytest.skip(f"no browser: none of {', '.join(BROWSERS)} is on PATH")
    assert found is not None, f"this is a CI job, and none of {', '.join(BROWSERS)} is on PATH"
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=list(QUIET))
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory) -> str:
    file: Path = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(sample(), encoding="utf-8")
    return file.as_uri()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_can_be_read_and_is_quiet(browser, address: str, width: int, scheme: str) -> None:
    with browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme) as context:
        page = context.new_page()
        said, asked = [], []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("dialog", lambda dialog: said.append(dialog.message))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        assert page.evaluate("() => matchMedia('(prefers-color-scheme: dark)').matches") == (scheme == "dark")

        # With the keyboard alone: the first stop is the way past the heading, and it is seen.
        page.keyboard.press("Tab")
        assert page.evaluate(
            "() => document.activeElement.getBoundingClientRect().left >= 0 && document.activeElement.className"
        )
        assert page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        assert page.evaluate("() => document.activeElement.id") == "main"

        page.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true })")
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width == page.evaluate("() => innerWidth")
        assert page.evaluate(STICKING_OUT) == []
        contrast = page.evaluate(POOR_CONTRAST)
        assert contrast["poor"] == [] and contrast["seen"]["texts"] > 500 and contrast["seen"]["drawn"] > 100
        assert {url for url in asked if not url.startswith("data:")} == {address} and said == []


def test_nothing_keeps_anybody_out(browser, address: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    with browser.new_context(viewport={"width": 390, "height": 900}, color_scheme="dark") as context:
        page = context.new_page()
        page.goto(address)
        page.evaluate("() => document.querySelectorAll('details').forEach(each => { each.open = true })")
        # Contrast is what the other test looks at, in drawings too.
        options = {"resultTypes": ["violations"], "rules": {"color-contrast": {"enabled": False}}}
        found = Axe().run(page, options=options).response["violations"]
        assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found] == []

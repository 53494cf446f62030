# Two commands do everything on a machine with Python >= 3.11: `make fuzz` and `make test`. Both rest on `make setup`.

PYTHON ?= python3
TARGET ?= langgraph
TIME ?= 120s
ARGS ?=

BIN := .venv/bin
STAMP := .venv/.setup-done
EXTRAS := langgraph,postgres,remit,llamaindex,pydantic-graph,autogen,tla,test
# What tests use in environments of their own, built before them because tests use no network.
APART := crewai@1.15.2 langgraph@1.1.4

.DEFAULT_GOAL := help
.PHONY: help setup fuzz environments test bench lint clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 14

setup: $(STAMP) ## build .venv with everything, once

# The stamp is the last thing written, so an installation that was cut short starts again.
$(STAMP): pyproject.toml constraints.txt
	@command -v "$(PYTHON)" >/dev/null || { echo "fuzzresume needs Python >= 3.11, and there is no $(PYTHON); name one: make setup PYTHON=python3.12" >&2; exit 1; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "fuzzresume needs Python >= 3.11, but $(PYTHON) is $$("$(PYTHON)" --version 2>&1); name another: make setup PYTHON=python3.12" >&2; exit 1; }
	"$(PYTHON)" -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[$(EXTRAS)]'
	@touch $@

# The exit codes 1 (something is violated) and 3 (undetermined) are results of a campaign, which the report explains; make
# would show them as its own failure. Whoever wants the code, a CI job for instance, calls `fuzzresume fuzz` itself.
fuzz: setup ## fuzz TARGET (langgraph) for TIME (120s); further arguments in ARGS
	@code=0; $(BIN)/fuzzresume fuzz $(TARGET) --max-time $(TIME) $(ARGS) || code=$$?; \
	case $$code in 0|1|3) ;; *) exit $$code ;; esac

lint: setup ## ruff (lint and format) and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

environments: setup ## the environments of targets that have one of their own, and of scripts
	$(BIN)/fuzzresume prepare $(APART) shrinks/*/*/repro.py

test: environments lint ## lint, then all tests
	$(BIN)/pytest -n 2 -q

bench: setup ## the benchmarks, all or those in ARGS (c d --quick), into bench/results/latest.json
	$(BIN)/python -m bench $(ARGS)

clean: ## remove .venv, builds and caches
	rm -rf .venv build dist fuzzresume.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

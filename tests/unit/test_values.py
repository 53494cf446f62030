import pytest

from fuzzresume.formal.values import Record, printed, read, wrap, write

VALUES = [
    0,
    -3,
    True,
    False,
    "",
    'a "quoted" \\ text',
    (),
    (1, (2, "x")),
    frozenset(),
    frozenset({1, 2}),
    Record(b=(1,), a=frozenset({"x"})),
    (Record(a=Record(b=1)), frozenset({Record(c=())})),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_round_trip(value):
    assert read(write(value)) == value


def test_records_are_equal_whatever_the_order_of_their_fields():
    assert Record(a=1, b=2) == Record([("b", 2), ("a", 1)]) and Record(a=1).a == 1
    with pytest.raises(AttributeError):
        _ = Record(a=1).b


def test_an_interval_is_a_set():
    assert read("{<<1 .. 3, 2>>}") == frozenset({(frozenset({1, 2, 3}), 2)})


@pytest.mark.parametrize("text", ["<<1, 2", "[a |-> 1", "<<1>> <<2>>", "{"])
def test_what_is_not_one_whole_value_is_refused(text):
    with pytest.raises(ValueError, match="TLA"):
        read(text)


def test_what_tla_cannot_say_is_refused():
    with pytest.raises(ValueError, match="no TLA"):
        write(1.5)


def test_prints_are_found_among_other_output():
    lines = ["Starting...", '<<"falls",', '   [a |-> {"x"}],', "   3 >>", "Warning: <<not this>>", "<<1>>", "Finished"]
    assert list(printed(lines)) == [("falls", Record(a=frozenset({"x"})), 3), (1,)]


def test_long_data_is_wrapped():
    text = wrap(map(str, range(30)), "<<", ">>")
    assert max(line.count(",") for line in text.splitlines()) <= 12 and read(text) == tuple(range(30))

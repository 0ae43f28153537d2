"""Numbers as text for people."""

from efface.files.formatting import duration, figure, share


def test_figures_have_three_or_four_digits():
    values = (None, 0.0, 31.456, 1234.4, -0.00012345, 1e-9, 2.5e8)
    assert [figure(v) for v in values] == [
        *("–", "0", "31.5", "1,234", "-0.000123"),
        *("1.00e-09", "2.50e+08"),
    ]


def test_shares_have_three_decimals():
    assert [share(None), share(0.36612), share(-0.5)] == ["–", "0.366", "-0.500"]


def test_durations_never_have_an_exponent():
    values = (3.1e-7, 9.996e-5, 0.00012345, 0.000999999, 0.001, 0.1234, 0.99999, 59.0, 4711.0)
    assert [duration(v) for v in values] == [
        *("0.31 µs", "100 µs", "123 µs", "1000 µs", "1 ms", "123 ms", "1000 ms", "59 s", "4711 s")
    ]

"""Numbers as text for people."""

from efface.files.formatting import figure, share


def test_figures_have_three_or_four_digits():
    values = (None, 0.0, 31.456, 1234.4, -0.00012345, 1e-9, 2.5e8)
    assert [figure(v) for v in values] == [
        *("–", "0", "31.5", "1,234", "-0.000123"),
        *("1.00e-09", "2.50e+08"),
    ]


def test_shares_have_three_decimals():
    assert [share(None), share(0.36612), share(-0.5)] == ["–", "0.366", "-0.500"]

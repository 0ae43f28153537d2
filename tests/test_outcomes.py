"""What a job gave, as one frame."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from efface import Rolling, rolling
from efface.errors import InvalidValue


def days(n=12):
    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=n) for name in ("mkt", "smb", "ret")}
    return pd.DataFrame({"day": np.arange(n), **columns}, index=[7] * n)


def test_keys_come_first_and_features_after_the_name_of_their_value():
    result = rolling(days(), "ret", 5, at="day", stats=True, fit_intercept=True)
    frame = result.to_frame()
    assert list(frame.columns[:5]) == ["day", "coef_mkt", "coef_smb", "intercept", "rank"]
    assert {"bse_mkt", "pvalues_smb", "rsquared", "nobs", "singular"} < set(frame.columns)
    assert frame.index.tolist() == [7] * 12
    assert np.array_equal(frame["coef_mkt"], result.coef["mkt"], equal_nan=True)


def test_a_key_that_is_called_like_a_value_is_refused():
    frame = days().rename(columns={"day": "prediction"})
    with pytest.raises(InvalidValue, match="2 columns named 'prediction'"):
        rolling(frame, "ret", 5, at="prediction").to_frame()


def test_arrays_give_no_frame():
    result = Rolling(np.zeros((2, 1)), None, None, None, None)
    with pytest.raises(InvalidValue, match="'X' was an array: expected a frame"):
        result.to_frame()

"""The models of the lines; test_comparisons.py compares what they predict with a slow loop."""

from __future__ import annotations

import numpy as np
import pytest

from efface.models.linear import AdaptiveRidge, AutoRidge, Ridge, SwitchingRidge
from efface.paper.methods import Line, constant_memory, growing_memory, model_of
from efface.paper.simulate import linear_stream


@pytest.mark.parametrize(
    ("line", "model"),
    [
        (Line("adaptive"), AdaptiveRidge),
        (Line("switching"), SwitchingRidge),
        (Line("fixed", 2.0), Ridge),
        (Line("oracle", 100.0), Ridge),
        (Line("auto"), AutoRidge),
    ],
)
def test_a_line_has_its_model_without_an_intercept(line, model):
    found = model_of(line, 20, 0.05)
    assert type(found) is model
    assert found.fit_intercept is False
    if line.method in ("adaptive", "switching"):
        assert (found.theta_max, found.delta) == (1.0, 0.05)


def test_the_estimate_0_predicts_0_and_has_no_penalty():
    data = linear_stream(0, 0, 80, 4)
    for path, shape in (
        (constant_memory(Line("zero"), data, 20, 0.05), (60, 1)),
        (growing_memory(Line("zero"), data, 3, 0.05), (20, 3)),
    ):
        assert path.predictions.shape == shape
        assert not path.predictions.any()
        assert not path.coef.any()
        assert np.isnan(path.penalty).all()

"""Linear regression that forgets exactly.

Names are loaded when they are first used, so that ``import efface`` is cheap.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from efface.diagnostics import Audit, Diagnosis, audit, diagnose
    from efface.errors import EffaceError
    from efface.forecast import Forecast, forecast_forgetting
    from efface.history import replay
    from efface.intervals import Interval
    from efface.models import OLS, AdaptiveRidge, Ridge, SwitchingRidge, load
    from efface.outcomes import Replay, Rolling
    from efface.policies import FIFD, AddDrop, KeepAll, KeepFor
    from efface.regressions import rolling
    from efface.scaling import WindowScaler

__version__ = "0.1.0"

__all__ = [
    "FIFD",
    "OLS",
    "AdaptiveRidge",
    "AddDrop",
    "Audit",
    "Diagnosis",
    "EffaceError",
    "Forecast",
    "Interval",
    "KeepAll",
    "KeepFor",
    "Replay",
    "Ridge",
    "Rolling",
    "SwitchingRidge",
    "WindowScaler",
    "audit",
    "diagnose",
    "forecast_forgetting",
    "load",
    "replay",
    "rolling",
]

_HOMES = {
    "efface.diagnostics": ("Audit", "Diagnosis", "audit", "diagnose"),
    "efface.errors": ("EffaceError",),
    "efface.forecast": ("Forecast", "forecast_forgetting"),
    "efface.intervals": ("Interval",),
    "efface.models": ("OLS", "AdaptiveRidge", "Ridge", "SwitchingRidge", "load"),
    "efface.policies": ("FIFD", "AddDrop", "KeepAll", "KeepFor"),
    "efface.scaling": ("WindowScaler",),
    "efface.outcomes": ("Replay", "Rolling"),
    "efface.history": ("replay",),
    "efface.regressions": ("rolling",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            module = import_module(home)
            globals().update({each: getattr(module, each) for each in names})
            return globals()[name]
    raise AttributeError(f"module 'efface' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

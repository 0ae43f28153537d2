"""Linear regression that forgets exactly.

Each name is imported when it is first used, so that ``import efface`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from efface.batch.fleet import Fleet
    from efface.batch.replay import replay
    from efface.batch.results import Replay, Rolling
    from efface.batch.rolling import rolling
    from efface.batch.tuning import Tuning, tune
    from efface.diagnostics.audit import Audit, audit
    from efface.diagnostics.diagnosis import Diagnosis, diagnose
    from efface.diagnostics.forecast import Forecast, forecast_forgetting
    from efface.errors import EffaceError
    from efface.live.policies import FIFD, AddDrop, KeepAll, KeepFor
    from efface.models.held import Held
    from efface.models.intervals import Interval
    from efface.models.linear import OLS, AdaptiveRidge, AutoRidge, Ridge, SwitchingRidge, load
    from efface.models.scaler import WindowScaler

__version__ = "0.1.0"

__all__ = [
    "FIFD",
    "OLS",
    "AdaptiveRidge",
    "AddDrop",
    "Audit",
    "AutoRidge",
    "Diagnosis",
    "EffaceError",
    "Fleet",
    "Forecast",
    "Held",
    "Interval",
    "KeepAll",
    "KeepFor",
    "Replay",
    "Ridge",
    "Rolling",
    "SwitchingRidge",
    "Tuning",
    "WindowScaler",
    "audit",
    "diagnose",
    "forecast_forgetting",
    "load",
    "replay",
    "rolling",
    "tune",
]

_MODULES = {
    "efface.diagnostics.audit": ("Audit", "audit"),
    "efface.diagnostics.diagnosis": ("Diagnosis", "diagnose"),
    "efface.errors": ("EffaceError",),
    "efface.diagnostics.forecast": ("Forecast", "forecast_forgetting"),
    "efface.models.held": ("Held",),
    "efface.models.intervals": ("Interval",),
    "efface.models.linear": (
        "OLS",
        "AdaptiveRidge",
        "AutoRidge",
        "Ridge",
        "SwitchingRidge",
        "load",
    ),
    "efface.live.policies": ("FIFD", "AddDrop", "KeepAll", "KeepFor"),
    "efface.models.scaler": ("WindowScaler",),
    "efface.batch.results": ("Replay", "Rolling"),
    "efface.batch.fleet": ("Fleet",),
    "efface.batch.replay": ("replay",),
    "efface.batch.rolling": ("rolling",),
    "efface.batch.tuning": ("Tuning", "tune"),
}


def __getattr__(name: str) -> Any:
    for path, names in _MODULES.items():
        if name in names:
            module = import_module(path)
            globals().update({each: getattr(module, each) for each in names})
            return globals()[name]
    raise AttributeError(f"module 'efface' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__"]

"""Which settings keep a forgotten row readable; test_event_stream reads real checkpoints."""

from __future__ import annotations

import pytest

from efface.spark.checkpoints import CHECKPOINT_SETTINGS, apply_settings, findings, readable_remains


def test_the_settings_pass_the_check():
    assert findings(CHECKPOINT_SETTINGS.get) == []


@pytest.mark.parametrize("name", CHECKPOINT_SETTINGS)
def test_each_setting_is_checked(name):
    changed = {**CHECKPOINT_SETTINGS, name: "600s" if "Interval" in name else "other"}
    (found,) = findings(changed.get)
    assert found.startswith(f"'{name}' is ")
    assert findings({**CHECKPOINT_SETTINGS, name: None}.get)


@pytest.mark.parametrize(("interval", "clean"), [("500ms", True), ("60", True), ("2m", False)])
def test_a_shorter_interval_is_as_good(interval, clean):
    name = "spark.sql.streaming.stateStore.maintenanceInterval"
    assert (findings({**CHECKPOINT_SETTINGS, name: interval}.get) == []) is clean


class Session:
    """A session that has settings alone."""

    def __init__(self):
        self.conf, self._values = self, {}

    def set(self, name, value):
        self._values[name] = value

    def get(self, name, default):
        return self._values.get(name, default)


def test_a_session_passes_once_the_settings_are_applied():
    session = Session()
    assert len(readable_remains(session)) == len(CHECKPOINT_SETTINGS)
    apply_settings(session)
    assert readable_remains(session) == []

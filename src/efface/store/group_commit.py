"""Group commit: rows that wait while another thread commits share the next transaction."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import final

from efface.errors import EffaceError, InvalidValue, UnknownModel
from efface.store.key_segments import SLOTS
from efface.store.learning import Checked, Gate, LearnRequest
from efface.store.stored_models import PlannedRows, StoredModel
from efface.store.stored_rows import joined
from efface.store.writer import Writer


@final
class GroupCommit:
    """The requests that wait to be learned, in the order in which they came."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._gate = Gate(writer.disk.refused, writer.disk.left)
        self._waiting: deque[LearnRequest] = deque()

    def put(self, request: LearnRequest) -> None:
        """Let a request wait; any thread may call this."""
        self._waiting.append(request)

    def commit(self) -> None:
        """Commit all that waits; each request then has its result or its error."""
        while self._waiting:
            group = self._next_group()
            try:
                self._commit_group(group)
            except BaseException as error:
                for request in group:
                    if not request.done:
                        request.error = error
                if not isinstance(error, EffaceError):
                    raise

    def _next_group(self) -> list[LearnRequest]:
        group, rows = list[LearnRequest](), 0
        while self._waiting and rows < SLOTS:
            group.append(self._waiting.popleft())
            rows += group[-1].size
        return group

    def _commit_group(self, group: Sequence[LearnRequest]) -> None:
        """One transaction, or one per request if they do not go together."""
        checked = [each for each in map(self._check, group) if each is not None]
        if len(checked) > 1:
            plans = self._plan_together(checked)
            if plans is not None:
                self._learn(plans, checked)
                return
        for each in checked:
            self._writer.refuse_stopped()
            alone = self._check(each.request) if len(checked) > 1 else each
            if alone is not None:
                self._learn_alone(alone)

    def _check(self, request: LearnRequest) -> Checked | None:
        try:
            return self._gate.check(request, self._model(request.name))
        except (EffaceError, TypeError, ValueError) as error:
            request.error = error
            return None

    def _learn_alone(self, each: Checked) -> None:
        stored = self._model(each.request.name)
        try:
            plan = stored.plan(each.new)
        except InvalidValue as error:
            each.request.error = error
            return
        self._learn([plan], [each])

    def _plan_together(self, checked: Sequence[Checked]) -> list[PlannedRows] | None:
        """One plan per model; None if the requests do not go together."""
        by_model: dict[str, list[Checked]] = {}
        for each in checked:
            by_model.setdefault(each.request.name, []).append(each)
        plans = []
        for name, parts in by_model.items():
            new, stored = joined([part.new for part in parts]), self._model(name)
            if new is None:
                return None
            try:
                plans.append(stored.plan(new))
            except InvalidValue:  # of one of them: alone it says so
                return None
        return plans

    def _learn(self, plans: Sequence[PlannedRows], checked: Sequence[Checked]) -> None:
        self._writer.learn(plans)
        for each in checked:
            each.finish()

    def _model(self, name: str) -> StoredModel:
        return find_model(self._writer.models, name)


def find_model(models: dict[str, StoredModel], name: str) -> StoredModel:
    """The model of this name."""
    found = models.get(name)
    if found is None:
        known = ", ".join(models) or "none"
        raise UnknownModel(f"'name' is {name!r}: expected a model of the store ({known}).")
    return found

"""The obvious twin of ``efface.spark.key_state``: a list of live rows, and one refit per event."""

from __future__ import annotations

from efface import Ridge

DAY = 86_400 * 10**9


class ListedRows:
    """Live rows as a list, for a Ridge of the newest ``window`` rows."""

    def __init__(self, window, alpha):
        self.window, self.alpha, self.rows, self.requests = window, alpha, [], []

    def apply(self, events):
        """(status, prediction, forgotten) of each event, in the order of times."""
        return [self.one(event) for event in sorted(events, key=self.order)]

    @staticmethod
    def order(event):
        return event.at, event.task == "forget", str(event.id), str(event.owner), repr(event)

    def one(self, event):
        if event.task == "forget":
            return self.forget(event)
        if event.task == "predict":
            return "predicted", self.predict(event.x), 0
        if any(self.names(request, event) and event.at <= request.at for request in self.requests):
            return "refused", None, 0
        if any(row.id == event.id for row in self.rows):
            return "repeated", None, 0
        return self.learn(event)

    @staticmethod
    def names(request, row):
        by_id = request.id is not None and request.id == row.id
        return by_id or (request.owner is not None and request.owner == row.owner)

    def forget(self, request):
        left = [row for row in self.rows if not self.names(request, row)]
        count, self.rows = len(self.rows) - len(left), left
        self.requests.append(request)
        return "forgotten" if count else "unknown", None, count

    def learn(self, event):
        prediction = self.predict(event.x)
        later = [row for row in self.rows if row.at > event.at]
        earlier = [row for row in self.rows if row.at <= event.at]
        self.rows = [*earlier, event, *later][-self.window :]
        return "learned" if event in self.rows else "outdated", prediction, 0

    def predict(self, x):
        if not self.rows:
            return 0.0
        model = Ridge(alpha=self.alpha).fit([row.x for row in self.rows], [r.y for r in self.rows])
        return float(model.predict([x])[0])

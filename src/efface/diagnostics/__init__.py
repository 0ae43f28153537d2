"""Questions to a model: audit, diagnose, forecast, and the independent reference fit.

Nothing here imports ``efface.engine``: an audit must not trust what it checks.
"""

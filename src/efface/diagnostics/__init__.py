"""Questions about a model, answered from its live rows.

``audit`` compares a model with a refit, ``diagnosis`` describes its conditioning and leverages,
``forecast`` says what the next deletions will do. ``reference`` is the independent refit,
``design`` the design matrix of the live rows. No function here changes a model, and none imports
``efface.core``: an audit must not trust the code that it checks.
"""

"""The estimators of the public API: linear models, the scaler, intervals, and the River wrapper.

They check their arguments once, by ``efface.inputs``, and call ``efface.live``. They hold no rows
and no numerical state themselves.
"""

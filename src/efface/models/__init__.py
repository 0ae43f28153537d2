"""The estimators a user holds: linear models, the scaler, intervals, and the River wrapper.

They check arguments once, then call ``efface.live``.
"""

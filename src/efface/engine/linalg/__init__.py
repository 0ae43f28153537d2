"""Dense linear algebra: factorise, invert, solve, refit, spectrum, cancellation checks.

Every routine says how far its result can be trusted. Nothing here knows of windows or events.
"""

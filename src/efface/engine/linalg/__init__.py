"""Dense linear algebra on small matrices and on rows: factorise, invert, refit, spectrum.

Each routine says how far its result can be trusted. Nothing here knows a window or an event.
"""

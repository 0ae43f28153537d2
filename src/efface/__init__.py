"""Linear regression that forgets exactly."""

__version__ = "0.1.0"

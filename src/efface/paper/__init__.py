"""The paper's experiments as frozen settings, and a verdict on each of its findings."""

"""Every window of an array: coefficients, statistics, replay."""

"""Whole arrays and frames: rolling regressions, replays, groups, and their results."""

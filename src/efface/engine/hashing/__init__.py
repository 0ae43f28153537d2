"""Hash tables of integers, compiled; they know neither ids nor rows."""

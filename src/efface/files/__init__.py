"""A table in a file, row by row through a model that forgets, and a report of what happened."""

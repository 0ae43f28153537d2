"""What comes from outside, checked: arrays, frames, column roles, parameters, times.

Every function here takes an argument as the caller gave it and returns a checked value of one known
type, or raises an error that names the argument, its value, what was expected and what to do.
Nothing here knows a model or the engine.
"""

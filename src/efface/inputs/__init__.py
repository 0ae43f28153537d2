"""Arguments from the caller, checked: arrays, frames, column roles, parameters, times.

Every function here takes an argument as the caller passed it and returns a checked value of one
known type, or raises an error that names the argument, its value, what was expected and what to do.
Nothing here may import a model or the engine.
"""

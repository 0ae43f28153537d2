"""Compiled routines on arrays: no checks, no classes. They trust what they are given."""

"""The ``efface`` command: parse the command line, call the library, print the result.

One module per group of commands; ``app`` assembles them, ``main`` is the entry point. No
computation happens here.
"""

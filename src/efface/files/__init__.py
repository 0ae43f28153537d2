"""``efface replay``: a table in, a folder with predictions, summary and report out.

Here are the readers of tables, the roles of their columns, the stream of rows through a model and
its baselines, requests to forget, and the files and screens that show the result. Nothing here fits
a model or draws a chart: ``batch`` and ``charts`` do.
"""

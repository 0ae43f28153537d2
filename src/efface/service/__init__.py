"""The store over HTTP: learn, predict and forget by request, and a page that shows it.

One process owns a store. One thread writes; requests that wait share a commit. Predictions are
answered from coefficients that the writer published. Nothing here computes with rows, and no value
of a row or name of a person is in an address, a log or a metric.
"""

from efface.service.client import Client

__all__ = ["Client"]

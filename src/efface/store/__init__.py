"""Durable rows that cannot be read once they are forgotten: encryption, keys, crashes, receipts.

``Store`` keeps models of the library in a folder. It checks and plans a change with the library,
makes it durable, then applies it. Nothing here computes with rows.
"""

from efface.store.backups import RestoreCounts, restore
from efface.store.condition import StoreState
from efface.store.durable import Store
from efface.store.learning import Learned, LearnRequest
from efface.store.receipts import Receipt
from efface.store.takeover import take_over

__all__ = [
    "LearnRequest",
    "Learned",
    "Receipt",
    "RestoreCounts",
    "Store",
    "StoreState",
    "restore",
    "take_over",
]

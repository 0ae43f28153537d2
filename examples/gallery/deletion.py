"""Five patients ask to be deleted: forget their rows, and prove it.

A model of diabetes after one year has learned from 442 patients, each with a name as id. Five of
them withdraw their consent. `forget` removes their rows from the model. `audit` compares the model
with a refit and looks for the names. The file that the model writes then has the same bytes as that
of a model that never saw the five. The model cannot remove what it does not own: copies of the rows
elsewhere, and predictions that were made before. Data: Efron, Hastie, Johnstone and Tibshirani
(2004), shipped with scikit-learn.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes

from efface import AutoRidge, audit

data = load_diabetes(as_frame=True)
names = np.array([f"patient {k:03d}" for k in range(len(data.target))])
leaving = ["patient 023", "patient 123", "patient 256", "patient 322", "patient 405"]
stay = ~np.isin(names, leaving)


def file_of(model: AutoRidge) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        model.save(path := Path(folder) / "model.efface")
        return path.read_bytes()


model = AutoRidge().fit(data.data, data.target, ids=names.tolist())
before = model.coef_
print(f"learned from {model.n_rows_} patients; {leaving[0]!r} in the file:", end=" ")
print(leaving[0].encode() in file_of(model))

model.forget(leaving)
print("audit", audit(model, forgotten=leaving).verdict.split(",")[0])
other = AutoRidge().fit(data.data[stay], data.target[stay], ids=names[stay].tolist())
print("the same file as a model that never saw them:", file_of(model) == file_of(other))

figure, axes = plt.subplots(figsize=(7.2, 3.6), layout="constrained")
places = np.arange(len(before))
axes.axhline(0, color="0.6", linewidth=0.8)
axes.plot(places, before, "o", color="0.55", label=f"{len(names)} patients")
axes.plot(places, model.coef_, "D", color="#d62728", ms=5, label="five forgotten")
axes.plot(places, other.coef_, "x", color="black", ms=9, label="never saw the five")
axes.set_xticks(places, data.feature_names)
axes.set_ylabel("coefficient")
axes.set_title("What forgetting five patients does to the model", size=10)
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.savefig(sys.argv[1], dpi=160)

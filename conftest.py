"""Compiled kernels of exactly these sources, and one core for each process of the tests.

Numba keeps a compiled function until its own file changes, not until one that it calls does. The
tests must not pass on what a kernel used to be: their cache is named by the sources.

The tests share out the cores themselves. Where the threads of a BLAS wait for a core that another
process has, they spin, and small matrices take many times as long.
"""

import hashlib
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).parent
CACHES = ROOT / ".numba_cache"


def name_of_the_sources() -> str:
    digest = hashlib.sha256()
    for path in sorted((ROOT / "src" / "efface").rglob("*.py")):
        if "numba" in (text := path.read_text(encoding="utf-8")):
            digest.update(text.encode())
    return digest.hexdigest()[:16]


cache = CACHES / name_of_the_sources()
if not cache.exists():
    shutil.rmtree(CACHES, ignore_errors=True)
cache.mkdir(parents=True, exist_ok=True)
os.environ["NUMBA_CACHE_DIR"] = str(cache)
for library in ("OPENBLAS", "OMP", "MKL"):  # read when NumPy is loaded, which is later
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")

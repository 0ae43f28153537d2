"""The folder of compiled kernels for exactly these sources.

Numba recompiles a function when its own file changes, not when a function that it calls changes in
another file. The tests, benchmarks and make targets therefore name the cache folder by a digest of
all sources that kernels are made of.

    NUMBA_CACHE_DIR=$(python numba_cache.py) efface ...
"""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

ROOT = Path(__file__).parent
PACKAGE = ROOT / "src" / "efface"
CACHES = ROOT / ".numba_cache"


def sources_digest(package: Path = PACKAGE) -> str:
    """A digest of the engine and of the other modules that use Numba."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        if package / "engine" in path.parents or b"numba" in content:
            digest.update(hashlib.sha256(content).digest())
    return digest.hexdigest()[:16]


def cache_folder(package: Path = PACKAGE, caches: Path = CACHES) -> Path:
    """The cache folder of the sources as they are now; removes the folders of older sources."""
    folder = caches / sources_digest(package)
    if not folder.exists():
        shutil.rmtree(caches, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def use_cache_folder() -> None:
    """Let Numba, when this process imports it, keep its compiled code there."""
    os.environ["NUMBA_CACHE_DIR"] = str(cache_folder())


if __name__ == "__main__":
    print(cache_folder())

"""How kernels are compiled: compiler options, array views, BLAS calls, SIMD operations.

The only package that uses private parts of Numba. These are tested with one minor version; with
another, importing this package raises ``UnsupportedNumba``.
"""

import numba

from efface.engine.jit.numba_version import require_tested_numba

require_tested_numba(numba.__version__)

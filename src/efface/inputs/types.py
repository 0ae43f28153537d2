"""Names for the array types that functions take and return."""

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

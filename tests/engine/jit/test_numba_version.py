"""Untested versions of Numba are refused with a clear error."""

import subprocess
import sys

import numba
import pytest

from efface.engine.jit.numba_version import NEXT, TESTED, require_tested_numba
from efface.errors import EffaceError, UnsupportedNumba


def test_the_installed_version_is_the_tested_one():
    require_tested_numba(numba.__version__)
    assert (TESTED[0], TESTED[1] + 1) == NEXT


@pytest.mark.parametrize("version", ["0.67.0", "0.69.0rc1", "0.6", "1.68.0"])
def test_other_minor_versions_are_refused(version):
    with pytest.raises(UnsupportedNumba, match=f"'numba' is '{version}': expected 0.68.x"):
        require_tested_numba(version)


def test_importing_with_an_untested_version_raises_the_error():
    code = "import numba; numba.__version__ = '0.99.1'; import efface.engine.jit.blas"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "efface.errors.UnsupportedNumba: 'numba' is '0.99.1': expected 0.68.x, with which "
        "efface's compiled code is tested; install 'numba>=0.68,<0.69'."
    )


def test_the_error_is_an_efface_error_and_an_import_error():
    assert issubclass(UnsupportedNumba, EffaceError)
    assert issubclass(UnsupportedNumba, ImportError)

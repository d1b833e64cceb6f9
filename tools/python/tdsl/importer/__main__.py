"""`python3 -m tdsl.importer`, which `tdslc import` runs."""
import sys

DEBIAN = "/usr/bin/python3"

try:
    import numpy  # noqa: F401
except ImportError:
    repair = "apt install python3-numpy" if sys.executable == DEBIAN else f"{sys.executable} -m pip install numpy, or TDSL_PYTHON={DEBIAN} and apt install python3-numpy"
    print(f"tdslc import: {sys.executable} has no NumPy: {repair}", file=sys.stderr)
    sys.exit(4)

from .command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))

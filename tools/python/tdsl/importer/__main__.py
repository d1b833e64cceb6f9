"""`python3 -m tdsl.importer`, which `tdslc import` runs."""
import sys

try:
    import numpy  # noqa: F401
except ImportError:
    print("tdslc import: Python has no NumPy: apt install python3-numpy, or name another interpreter in TDSL_PYTHON", file=sys.stderr)
    sys.exit(4)

from .command import main  # noqa: E402

sys.exit(main(sys.argv[1:]))

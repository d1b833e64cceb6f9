"""The options of `tdslc import`; tools/manual reads this file alone, without NumPy."""

DESCRIPTION = "Translate a NumPy function to a TDSL program and compare both."
EPILOG = """Example arguments give types and dimensions. With two examples of different sizes only extents that are equal in both are one dimension.
Exit codes: 0 verified (or written with --verify no), 1 not translated or different, 2 usage, 4 no Python or NumPy.

Examples:
  tdslc import heat.py::smooth --call 'smooth(np.random.rand(50, 40), 6)' --call 'smooth(np.random.rand(31, 47), 5)'
  tdslc import heat.py::smooth --shapes 'A=f64[n,m], steps=int' -o heat.tdsl
  tdslc import --list heat.py"""


def add_options(parser):
    parser.add_argument("function", metavar="FILE.py::FUNCTION", help="the function; with --list the file alone")
    parser.add_argument("--call", action="append", default=[], metavar="EXPR", help="an example call; twice with different sizes is best")
    parser.add_argument("--args", metavar="MODULE:FUNCTION", help="a function that returns the arguments; with a parameter it is called with 0 and 1")
    parser.add_argument("--shapes", metavar="TEXT", help="'A=f64[n,m], x=f64[m], steps=int': two examples with random elements")
    parser.add_argument("-o", "--output", metavar="F.tdsl", help="the program (default: FUNCTION.tdsl; - is standard output)")
    parser.add_argument("--verify", choices=("eval", "run", "no"), default="eval", help="compare with NumPy by the evaluator, by an executable, or not")
    parser.add_argument("--rtol", type=float, metavar="X", help="largest difference relative to the largest element (default: 1e-9; 1e-4 for f32)")
    parser.add_argument("--literal", action="store_true", help="keep loops as they stand; else known nests become routines and index notation")
    parser.add_argument("--list", action="store_true", help="rate every function of the file")
    parser.add_argument("--json", action="store_true", help="the report as JSON")

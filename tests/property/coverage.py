"""Coverage of generated programs: node kinds, operators, features, remarks of passes, classes of operations."""
import collections
import re
from pathlib import Path

import launch

NODES = ["compute", "routine", "uniform", "normal", "for", "while", "if", "print", "assert", "check", "output", "dimension", "param", "input"]
OPERATORS = ["neg", "not", "abs", "sqrt", "exp", "log", "log1p", "expm1", "sin", "cos", "tan", "tanh", "erf", "floor", "ceil",
             "round", "sign", "isnan", "isinf", "sigmoid", "relu", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh", "atanh",
             "cbrt", "log2", "log10", "exp2", "erfc", "gamma", "lgamma", "digamma", "trunc", "hypot", "atan2", "keyed_uniform", "keyed_normal", "real", "imag", "conj", "complex", "bit_not", "popcount", "bit_and", "bit_or", "bit_xor", "shift_left", "shift_right", "add", "sub", "mul", "div", "rem", "pow", "mod", "min", "max",
             "eq", "ne", "lt", "le", "gt", "ge", "and", "or", "select"]
REDUCTIONS = ["sum", "prod", "min", "max", "any", "all", "argmin", "argmax"]
ROUTINES = ["cumsum", "cumprod", "cummax", "cummin", "sort", "argsort", "topk", "fft", "ifft", "rfft", "irfft", "solve", "cholesky", "lu", "qr", "inv", "det", "lstsq", "svd", "eigh"]
FEATURES = {"left subscripts": r"\) (?:where .*?)?left \[", "base": r" base %", "combine": r" combine \w", "fill": r" fill ",
            "guard": r"\) where ", "reduction": r"= compute \[[^\]]*\] \w+\[",
            "gather": r"%\d+\[[^\]]*%\d+\[", "scatter": r" left \[[^\]]*%\d+\[",
            "procedure": r"apply procedure "}
# Counted in the text of programs: the frontend composes them of other constructs.
WORDS = {w: rf"\b{w}\(" for w in (
    "variance std median quantile diff linspace stack tile repeat flatten take kron searchsorted interp histogram bincount isclose allclose clip copysign isfinite zeros_like ones_like full_like "
    "filter nonzero unique randint permutation pad rk4 euler rk4_path verlet cg bicgstab gmres integrate simpson newton root trapezoid gradient laplacian").split()}
WORDS |= {"array literal": r"[=(,] ?\[", "reversed slice": r":-\d", "ellipsis": r"\.\.\.[,\]]", "newaxis": "newaxis", "break": "break;", "continue": "continue;", "lambda": r"\bfn\(\w+[,)]",
          "type parameter": r"\[T\b", "literal parameter": ": literal ", "default": r"fn .*: \w+ = ", "key": r"\bkey=", "series": r"^ +output ", "every": r" every \d",
          "periodic": "periodic", "edge": r"\bedge\b", "reflect": "reflect", "symmetric": "symmetric"}


class Coverage:
    def __init__(self):
        self.nodes, self.operators, self.reductions = collections.Counter(), collections.Counter(), collections.Counter()
        self.features, self.remarks, self.routines = collections.Counter(), collections.Counter(), collections.Counter()
        self.words, self.gradients = collections.Counter(), 0

    def add(self, tdslc, path):
        """Counts the constructs in the compiler's output for a program."""
        text = Path(path).read_text()
        self.gradients += text.count(" = grad(")
        for name, pattern in WORDS.items():
            self.words[name] += len(re.findall(pattern, text, re.M))
        result = launch.run([tdslc, "passes", path, "--dump-after", "simplify"], 60)
        begin = result.out.find("after simplify:")
        end = result.out.find("\nafter ", begin + 1)
        self.add_graph(result.out[begin:end if end > 0 else None])
        for match in re.finditer(r"^(?:\S+: )?(\w+): (applied|not applied): (.*)$", result.out, re.M):
            words = re.sub(r"'[^']*'|`[^`]*`|\"[^\"]*\"|%?\b\w*\d\w*\b", "_", match[3])
            self.remarks[f"{match[1]}: {match[2]}: {words[:70]}"] += 1

    def add_graph(self, text):
        for line in text.splitlines():
            match = re.match(r"\s*(?:%[^=]*= )?(\w+)", line)
            if match and match[1] in NODES:
                self.nodes[match[1]] += 1
            for word in re.findall(r"\b([a-z]\w*)\(", line):
                if word in OPERATORS:
                    self.operators[word] += 1
            for word in re.findall(r"= routine (\w+)", line):
                self.routines[word] += 1
            for word in re.findall(r"= compute \[[^\]]*\] (\w+)\[", line):
                self.reductions[word] += 1
            for name, pattern in FEATURES.items():
                self.features[name] += bool(re.search(pattern, line))

    def report(self):
        lines = ["coverage:"]
        for title, counter, known in (("nodes", self.nodes, NODES), ("operators", self.operators, OPERATORS),
                                      ("reductions", self.reductions, REDUCTIONS), ("routines", self.routines, ROUTINES),
                                      ("features", self.features, list(FEATURES)), ("words", self.words, list(WORDS))):
            lines.append(f"  {title}: " + ", ".join(f"{name} {counter[name]}" for name in known if counter[name]))
            missing = [name for name in known if not counter[name]]
            if missing:
                lines.append(f"    not met: {', '.join(missing)}")
        lines.append(f"  derivatives: {self.gradients}")
        for remark, count in sorted(self.remarks.items()):
            lines.append(f"  {count:5} {remark}")
        return "\n".join(lines)

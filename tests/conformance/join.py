"""Joins many cases into one program: all names of case 17 begin with q17_, and a printed line marks the start of each."""
import re

TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/|0[xb]\w+|\d[\w.]*(?:(?<=[eE])[+-]\d+i?)?|[A-Za-z_]\w*|.', re.S)
# Names of the language. A case that declares one of them itself is built separately.
KEPT = set("""let var param input output import fn return monoid extern storage tile for in while if then else where sparse true false
inf nan by every out kernel stored to from identity combine axis keepdims bool i32 i64 f32 f64 c64 c128 print assert
sum prod min max mean any all count argmin argmax norm abs sqrt exp log log1p expm1 pow sin cos tan tanh erf floor ceil round sign
mod isnan isinf sigmoid relu where transpose einsum zeros ones full eye iota random randn sprandom concat reshape diag trace tril triu
roll flip pad outer cumsum sort argsort topk size nnz dense solve cholesky lu qr svd eigh eig inv det lstsq grad std linalg""".split())


def tokens(text):
    """Tokenises numbers, but not a range such as 0..n as a number."""
    return TOKEN.findall(re.sub(r"(\d)\.\.", "\\1 ..", text))


# Functions that a case may declare itself; the names of their options; words with a meaning in one place.
SOFT = set("""asin acos atan atan2 sinh cosh asinh acosh atanh hypot cbrt log2 log10 exp2 erfc gamma lgamma digamma copysign trunc clip
isfinite isclose allclose linspace zeros_like ones_like full_like stack repeat flatten take kron diff variance median quantile cumprod
cummax cummin searchsorted interp histogram bincount randint permutation real imag conj arg polar fft ifft fft2 ifft2 fftn
ifftn rfft irfft fftfreq rfftfreq fftshift ifftshift popcount filter nonzero unique groups join i8 u8 i16 u16 u32 u64 f16 bf16""".split())
OPTIONS = {"ddof", "rtol", "atol", "side", "kind", "weights", "key", "like", "n", "d"}
BOUNDARIES = {"periodic", "edge", "reflect", "symmetric"}
TYPES = {"i8", "u8", "i16", "u16", "u32", "u64", "f16", "bf16"}
AFTER = {":": {"literal", "float", "real", "number"} | TYPES, "->": TYPES, ":sparse": TYPES, "side=": {"left", "right"}, "norm=": {"backward", "ortho", "forward"},
         "kind=": {"inner", "left", "lower", "upper", "positive", "general"}}


def renamed(text, prefix, kept=frozenset()):
    """The program with a prefix on each of its own names."""
    declared = set(re.findall(r"\b(?:fn|monoid)\s+(\w+)", text))
    has_pi = re.search(r"\b(?:let|var|param|for)\s+pi\b|\[pi\b", text)
    words = BOUNDARIES - {name for pair in re.findall(r"\b(?:let|var|param|input)\s+(\w+)|\[(\w+)\]", text) for name in pair}
    result, before = [], ["", ""]
    parts = tokens(text)
    after = [t for t in parts if not t.isspace()][1:] + [""]
    for token in parts:
        if token.isspace():
            result.append(token)
            continue
        following = after.pop(0)
        soft = (token in SOFT and token not in declared and following == "(" or token == "pi" and not has_pi or token == "newaxis"
                or token in ("break", "continue") and following == ";"
                or token in words and before[1] == "," and following in (",", ")")
                or token in OPTIONS and following == "=" and before[1] in ("(", ",")
                or token in AFTER.get(before[1], ()) or token in AFTER.get("".join(before), ()))
        own = re.match(r"[A-Za-z_]", token) and token not in KEPT and token not in kept and not soft
        result.append(prefix + token if own else token)
        before = [before[1], token]
    return "".join(result)


class Joined:
    """The text of a program made of cases, and the case of each line."""

    def __init__(self, cases):
        self.cases = list(cases)
        lines, self.owners = [], []
        for number, case in enumerate(self.cases):
            own = [f'print("{self.marker(number)}");', *renamed(case.text, self.prefix(number)).rstrip("\n").split("\n")]
            lines += own
            self.owners += [number] * len(own)
        self.text = "\n".join(lines) + "\n"

    @staticmethod
    def prefix(number):
        return f"q{number}_"

    @staticmethod
    def marker(number):
        return f"== case {number}"

    def arguments(self, folder):
        """Options of the executable; each case's inputs are in its own folder."""
        result = []
        for number, case in enumerate(self.cases):
            result += [re.sub(r"^--(?=\w)", f"--{self.prefix(number)}", a) for a in case.args]
            result += [w for name in case.inputs() for w in (f"--{self.prefix(number)}{name}", folder(case) / f"{name}.npy")]
        return result

    def outputs(self, folder):
        return [w for number, case in enumerate(self.cases) for name in case.outputs
                for w in (f"--{self.prefix(number)}{name}", folder / f"{self.prefix(number)}{name}.npy")]

    def printed(self, text):
        """The printed lines by case."""
        result, current = [[] for _ in self.cases], None
        for line in text.splitlines():
            found = re.fullmatch(r"== case (\d+)", line)
            if found:
                current = int(found[1])
            elif current is not None:
                result[current].append(line)
        return result

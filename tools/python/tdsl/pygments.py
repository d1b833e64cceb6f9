"""TDSL for Pygments. The words are those of tools/editors; tests/docs_check.py compares them with the compiler's."""
import typing

from pygments.lexer import RegexLexer, words
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

_DECLARATIONS = (
    "let var param input output import fn monoid extern storage kernel").split()
_WORDS = (
    "return print assert for while in by every if then else where tile sparse out identity combine").split()
_TYPES = (
    "bool i8 u8 i16 u16 i32 u32 i64 u64 f16 bf16 f32 f64 c64 c128").split()
_CONSTANTS = (
    "true false inf nan").split()
_BUILTINS = (
    "abs sqrt exp log log1p expm1 pow sin cos tan tanh erf floor ceil round sign mod isnan isinf sigmoid relu asin acos atan atan2 sinh cosh "
    "asinh acosh atanh hypot cbrt log2 log10 exp2 erfc gamma lgamma digamma copysign real imag conj arg polar popcount trunc clip isfinite isclose allclose zeros ones full eye "
    "iota random randn sprandom concat reshape diag trace tril triu roll flip pad outer linspace zeros_like ones_like full_like stack tile repeat "
    "flatten take kron diff variance std median quantile cumprod cummax cummin searchsorted interp histogram bincount filter nonzero unique groups join randint permutation cumsum "
    "sort argsort topk size nnz dense sparse transpose einsum where grad solve cholesky lu qr svd eigh eig inv det lstsq norm sum prod min max mean "
    "fft ifft fft2 ifft2 fftn ifftn rfft irfft fftfreq rfftfreq fftshift ifftshift "
    "any all count argmin argmax").split()


class TdslLexer(RegexLexer):  # type: ignore[misc]
    """The entry point `tdsl` of Pygments."""

    name = "TDSL"
    aliases = ["tdsl"]
    filenames = ["*.tdsl"]
    tokens: typing.ClassVar[typing.Dict[str, typing.List[typing.Any]]] = {
        "root": [
            (r"\s+", Text),
            (r"//.*$", Comment.Single),
            (r"/\*(.|\n)*?\*/", Comment.Multiline),
            (r'"(\\.|[^"\\\n])*"', String),
            (words(_DECLARATIONS, suffix=r"\b"), Keyword.Declaration),
            (words(_TYPES, suffix=r"\b"), Keyword.Type),
            (words(_CONSTANTS, suffix=r"\b"), Keyword.Constant),
            (words(_BUILTINS, suffix=r"\b(?=\s*[(\[])"), Name.Builtin),
            (words(("min", "max"), suffix=r"\b(?==)"), Name.Builtin),
            (words(_WORDS, suffix=r"\b"), Keyword),
            (r"[A-Za-z_]\w*", Name),
            (r"0x[0-9A-Fa-f_]+|0b[01_]+", Number),
            (r"\d(_?\d)*(\.\d(_?\d)*)?([eE][+-]?\d+)?", Number),
            (r"\.\.|[-+*/%@<>=!&|^~']", Operator),
            (r"[\[\](){},;:.]", Punctuation),
        ],
    }

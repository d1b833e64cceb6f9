#include "frontend/lower/builtins.h"

namespace tdsl::frontend {

namespace {

using Table = std::map<std::string, Builtin>;

/// Built-ins that a program cannot redefine.
const Table& hard() {
  static const Table table = {
      {"where", call_where},
      {"zeros", call_zeros},
      {"ones", call_zeros},
      {"full", call_full},
      {"eye", call_eye},
      {"iota", call_iota},
      {"random", call_random},
      {"randn", call_random},
      {"transpose", call_transpose},
      {"size", call_size},
      {"outer", call_outer},
      {"diag", call_diag},
      {"trace", call_trace},
      {"tril", call_triangle},
      {"triu", call_triangle},
      {"flip", call_flip},
      {"roll", call_roll},
      {"concat", call_concat},
      {"reshape", call_reshape},
      {"pad", call_pad},
      {"nnz", call_nnz},
      {"dense", call_dense},
      {"sparse", call_sparse},
      {"sprandom", call_sprandom},
      {"einsum", call_einsum},
      {"cumsum", call_cumsum},
      {"sort", call_sort},
      {"argsort", call_sort},
      {"solve", call_solve},
      {"lstsq", call_solve},
      {"cholesky", call_square},
      {"inv", call_square},
      {"det", call_square},
      {"grad", call_grad},
      {"topk", call_topk},
      {"lu", call_lu},
      {"qr", call_qr},
      {"svd", call_svd},
      {"eigh", call_eigh},
      {"abs", UnaryOp::kAbs},
      {"sqrt", UnaryOp::kSqrt},
      {"exp", UnaryOp::kExp},
      {"log", UnaryOp::kLog},
      {"log1p", UnaryOp::kLog1p},
      {"expm1", UnaryOp::kExpm1},
      {"sin", UnaryOp::kSin},
      {"cos", UnaryOp::kCos},
      {"tan", UnaryOp::kTan},
      {"tanh", UnaryOp::kTanh},
      {"erf", UnaryOp::kErf},
      {"floor", UnaryOp::kFloor},
      {"ceil", UnaryOp::kCeil},
      {"round", UnaryOp::kRound},
      {"sign", UnaryOp::kSign},
      {"isnan", UnaryOp::kIsNan},
      {"isinf", UnaryOp::kIsInf},
      {"sigmoid", UnaryOp::kSigmoid},
      {"relu", UnaryOp::kRelu},
      {"sum", Reducer::kSum},
      {"prod", Reducer::kProd},
      {"min", Reducer::kMin},
      {"max", Reducer::kMax},
      {"mean", Reducer::kMean},
      {"any", Reducer::kAny},
      {"all", Reducer::kAll},
      {"count", Reducer::kCount},
      {"norm", Reducer::kNorm},
      {"argmin", Reducer::kArgMin},
      {"argmax", Reducer::kArgMax},
      {"c64", call_complex},
      {"c128", call_complex},
      {"pow", BinaryOp::kPow},
      {"mod", BinaryOp::kMod},
  };
  return table;
}

/// Built-ins that a function, monoid or import of the same name hides.
const Table& soft() {
  static const Table table = {
      {"asin", UnaryOp::kAsin},
      {"acos", UnaryOp::kAcos},
      {"atan", UnaryOp::kAtan},
      {"sinh", UnaryOp::kSinh},
      {"cosh", UnaryOp::kCosh},
      {"asinh", UnaryOp::kAsinh},
      {"acosh", UnaryOp::kAcosh},
      {"atanh", UnaryOp::kAtanh},
      {"cbrt", UnaryOp::kCbrt},
      {"log2", UnaryOp::kLog2},
      {"log10", UnaryOp::kLog10},
      {"exp2", UnaryOp::kExp2},
      {"erfc", UnaryOp::kErfc},
      {"gamma", UnaryOp::kGamma},
      {"lgamma", UnaryOp::kLgamma},
      {"digamma", UnaryOp::kDigamma},
      {"trunc", UnaryOp::kTrunc},
      {"atan2", BinaryOp::kAtan2},
      {"hypot", BinaryOp::kHypot},
      {"copysign", BinaryOp::kCopysign},
      {"real", UnaryOp::kReal},
      {"imag", UnaryOp::kImag},
      {"conj", UnaryOp::kConj},
      {"arg", UnaryOp::kArg},
      {"polar", call_polar},
      {"eig", call_eig},
      {"popcount", UnaryOp::kPopcount},
      {"i8", call_cast},
      {"u8", call_cast},
      {"i16", call_cast},
      {"u16", call_cast},
      {"u32", call_cast},
      {"u64", call_cast},
      {"f16", call_cast},
      {"bf16", call_cast},
      {"clip", call_clip},
      {"isfinite", call_isfinite},
      {"isclose", call_isclose},
      {"allclose", call_isclose},
      {"linspace", call_linspace},
      {"zeros_like", call_like},
      {"ones_like", call_like},
      {"full_like", call_like},
      {"randint", call_randint},
      {"permutation", call_permutation},
      {"stack", call_stack},
      {"tile", call_tile},
      {"repeat", call_repeat},
      {"flatten", call_flatten},
      {"take", call_take},
      {"kron", call_kron},
      {"diff", call_diff},
      {"variance", call_variance},
      {"std", call_variance},
      {"median", call_quantile},
      {"quantile", call_quantile},
      {"cumprod", call_cumsum},
      {"cummax", call_cumsum},
      {"cummin", call_cumsum},
      {"searchsorted", call_searchsorted},
      {"interp", call_interp},
      {"histogram", call_histogram},
      {"bincount", call_bincount},
      {"fft", call_fft},
      {"ifft", call_fft},
      {"fft2", call_fft},
      {"ifft2", call_fft},
      {"fftn", call_fft},
      {"ifftn", call_fft},
      {"rfft", call_rfft},
      {"irfft", call_irfft},
      {"fftfreq", call_fftfreq},
      {"rfftfreq", call_fftfreq},
      {"fftshift", call_fftshift},
      {"ifftshift", call_fftshift},
      {"filter", call_filter},
      {"nonzero", call_nonzero},
      {"unique", call_unique},
      {"groups", call_groups},
      {"join", call_join},
  };
  return table;
}

}  // namespace

const std::map<std::string, BuiltinEntry>& builtins() {
  static const std::map<std::string, BuiltinEntry> all = [] {
    std::map<std::string, BuiltinEntry> entries;
    for (const auto& [name, function] : hard()) entries.emplace(name, BuiltinEntry{function, false});
    for (const auto& [name, function] : soft()) entries.emplace(name, BuiltinEntry{function, true});
    return entries;
  }();
  return all;
}

bool is_contextual_word(const std::string& name) {
  return name == "pi" || name == "newaxis" || name == "left" || name == "right" || name == "inner" ||
         name == "periodic" || name == "edge" || name == "reflect" || name == "symmetric" || name == "lower" ||
         name == "upper" || name == "positive" || name == "general" || name == "backward" || name == "ortho" ||
         name == "forward";
}

}  // namespace tdsl::frontend

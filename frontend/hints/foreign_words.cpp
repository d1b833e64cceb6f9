#include "frontend/hints/foreign_words.h"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "frontend/diagnostics/diagnostics.h"
#include "runtime/types.h"

namespace tdsl::frontend {

namespace {

using Words = std::map<std::string_view, std::string_view>;

constexpr auto kFunctions = std::to_array<ForeignFunction>({
    // Sizes
    {"len", "size(x, 0)"},
    {"length", "size(x, 0)"},
    {"shape", "size(A, 0)"},
    {"numel", "size(A)"},
    // Products
    {"dot", "A @ B"},
    {"matmul", "A @ B"},
    {"mm", "A @ B"},
    {"bmm", "A @ B"},
    {"inner", "A @ transpose(B)"},
    {"vdot", "x' @ y"},
    {"tensordot", "einsum(\"ij,jk->ik\", A, B)"},
    {"multi_dot", "A @ B @ A"},
    // Constructors
    {"arange", "iota(n)", " for 0, 1, …, n - 1; iota(a, b, s) for a, a + s, …; floats are a + s * iota(n)"},
    {"range", "iota(n)", " for 0, 1, …, n - 1, in a loop `for i in 0..n`"},
    {"rand", "random(n)"},
    {"normal", "randn(n)"},
    {"standard_normal", "randn(n)"},
    {"uniform", "a + (b - a) * random(n)"},
    {"integers", "randint(0, 10, n)"},
    {"randi", "randint(0, 10, n)"},
    {"randperm", "permutation(n)"},
    {"default_rng", "random(n, key=1)", "; a key takes the place of a generator"},
    {"PRNGKey", "random(n, key=1)", "; a key is an integer"},
    {"empty", "zeros(n)"},
    {"empty_like", "zeros_like(A)"},
    {"tri", "tril(ones(n, n))"},
    {"logspace", "10.0 ** linspace(a, b, n)"},
    {"array", "[1.0, 2.0]"},
    {"asarray", "[1.0, 2.0]"},
    {"copy", "", "tensors are values: `var B = A;` copies"},
    {"meshgrid", "", "write `let X[i, j] = x[i] for j in 0..m;`"},
    {"mgrid", "", "write `let X[i, j] = x[i] for j in 0..m;`"},
    {"indices", "", "write `let I[i, j] = i for i in 0..n, j in 0..m;`"},
    {"rint", "round(x)"},
    {"fix", "trunc(x)"},
    {"around", "round(100.0 * x) / 100.0"},
    {"identity", "eye(n)"},
    {"fill", "full(a, n)"},
    // Structure
    {"append", "concat(x, y, axis=0)"},
    {"column_stack", "stack(x, y, axis=1)"},
    {"dstack", "stack(A, B, axis=2)"},
    {"block", "concat(concat(A, B, axis=1), concat(B, A, axis=1), axis=0)"},
    {"expand_dims", "x[:, newaxis]"},
    {"atleast_1d", "[a]"},
    {"atleast_2d", "x[newaxis, :]"},
    {"squeeze", "A[:, 0]"},
    {"swapaxes", "transpose(A, 1, 0)"},
    {"moveaxis", "transpose(A, 1, 0)"},
    {"rot90", "flip(transpose(A), axis=0)"},
    {"broadcast_to", "x + zeros(n, n)"},
    {"vectorize", "", "a function of scalars applies to each element of a tensor"},
    {"delete", "concat(x[:0], x[1:], axis=0)"},
    {"insert", "concat(x[:0], y, x[0:], axis=0)"},
    {"split", "x[:0]", " and the other slices"},
    {"take_along_axis", "", "write `let y[i, j] = A[i, p[i, j]];`"},
    {"put", "", "write `let y[p[i]]: f64[n] += v[i];`"},
    {"piecewise", "where(x > 0.0, x, y)"},
    {"digitize", "searchsorted(x, y, side=right)"},
    {"isin", "", "write `let y[i] = any[k](x[i] == v[k]);`"},
    {"cat", "concat(A, B, axis=0)"},
    {"concatenate", "concat(A, B, axis=0)"},
    {"vcat", "concat(A, B, axis=0)"},
    {"vstack", "concat(A, B, axis=0)"},
    {"hcat", "concat(A, B, axis=1)"},
    {"hstack", "concat(A, B, axis=1)"},
    {"view", "reshape(A, n * n)"},
    {"ravel", "flatten(A)"},
    {"permute", "transpose(A, 1, 0)"},
    {"permutedims", "transpose(A, 1, 0)"},
    {"reverse", "flip(x)"},
    {"flipud", "flip(A, axis=0)"},
    {"fliplr", "flip(A, axis=1)"},
    {"circshift", "roll(x, k)"},
    {"sortperm", "argsort(x)"},
    {"ifelse", "where(c, x, y)"},
    {"select", "where(c, x, where(d, y, 0.0))"},
    // Reductions
    {"average", "mean(x)", "; with weights, std.stats has weighted_mean"},
    {"ptp", "max(x) - min(x)"},
    {"percentile", "quantile(x, 50 / 100.0)"},
    {"product", "prod(x)"},
    {"amax", "max(x)"},
    {"amin", "min(x)"},
    {"count_nonzero", "count(x)"},
    {"nanmax", "max[i where !isnan(x[i])](x[i])"},
    {"nanmin", "min[i where !isnan(x[i])](x[i])"},
    {"nansum", "sum[i where !isnan(x[i])](x[i])"},
    {"nanprod", "prod[i where !isnan(x[i])](x[i])"},
    {"nanmean", "mean[i where !isnan(x[i])](x[i])"},
    {"array_equal", "all(x == y)"},
    // Functions of numbers
    {"add", "x + y"},
    {"subtract", "x - y"},
    {"multiply", "x * y"},
    {"divide", "x / y"},
    {"true_divide", "x / y"},
    {"deg2rad", "x * (pi / 180.0)"},
    {"radians", "x * (pi / 180.0)"},
    {"rad2deg", "x * (180.0 / pi)"},
    {"degrees", "x * (180.0 / pi)"},
    {"power", "x ** y"},
    {"floor_divide", "floor(x / y)", "; of integers, (a - mod(a, b)) / b"},
    {"arcsin", "asin(x)"},
    {"arccos", "acos(x)"},
    {"arctan", "atan(x)"},
    {"arctan2", "atan2(y, x)"},
    {"arcsinh", "asinh(x)"},
    {"arccosh", "acosh(x)"},
    {"arctanh", "atanh(x)"},
    {"tgamma", "gamma(x)"},
    {"gammaln", "lgamma(x)"},
    {"psi", "digamma(x)"},
    {"square", "x ** 2"},
    {"sqr", "x ** 2"},
    {"absolute", "abs(x)"},
    {"angle", "arg(x)"},
    {"conjugate", "conj(x)"},
    {"complex", "c128(x, y)"},
    {"complex128", "c128(x)"},
    {"complex64", "c64(x)"},
    {"fabs", "abs(x)"},
    {"ln", "log(x)"},
    {"maximum", "max(x, y)"},
    {"fmax", "max(x, y)"},
    {"minimum", "min(x, y)"},
    {"fmin", "min(x, y)"},
    {"clamp", "clip(x, a, b)"},
    {"fmod", "x % y"},
    {"rem", "x % y"},
    {"sgn", "sign(x)"},
    {"ceiling", "ceil(x)"},
    {"expit", "sigmoid(x)"},
    {"logistic", "sigmoid(x)"},
    // Logic
    {"not", "!c"},
    {"logical_not", "!c"},
    {"logical_and", "c && d"},
    {"logical_or", "c || d"},
    {"logical_xor", "c != d"},
    // Bits
    {"bitwise_and", "k & 1"},
    {"bitwise_or", "k | 1"},
    {"bitwise_xor", "k ^ 1"},
    {"bitwise_not", "~k"},
    {"invert", "~k"},
    {"left_shift", "k << 1"},
    {"right_shift", "k >> 1"},
    {"bitwise_count", "popcount(k)"},
    {"bit_count", "popcount(k)"},
    // Casts
    {"int8", "i8(x)"},
    {"int16", "i16(x)"},
    {"uint8", "u8(x)"},
    {"uint16", "u16(x)"},
    {"uint32", "u32(x)"},
    {"uint64", "u64(x)"},
    {"uint", "u64(x)"},
    {"int", "i64(x)"},
    {"integer", "i64(x)"},
    {"long", "i64(x)"},
    {"int64", "i64(x)"},
    {"int32", "i32(x)"},
    {"float", "f64(x)"},
    {"double", "f64(x)"},
    {"float64", "f64(x)"},
    {"float16", "f16(x)"},
    {"bfloat16", "bf16(x)"},
    {"float32", "f32(x)"},
    {"single", "f32(x)"},
    {"astype", "f64(x)"},
    // Matrix routines
    {"inverse", "inv(A)"},
    {"determinant", "det(A)"},
    {"chol", "cholesky(A)"},
    {"eigvals", "let (w, V) = eig(A)"},
    {"eigvalsh", "let (w, V) = eigh(A)"},
    {"linsolve", "solve(A, x)"},
    {"expm", "let (w, V) = eigh(A); let E = (V * exp(w)) @ V'", " for a symmetric matrix"},
    {"logm", "let (w, V) = eigh(A); let L = (V * log(w)) @ V'", " for a symmetric positive definite matrix"},
    {"sqrtm", "let (w, V) = eigh(A); let S = (V * sqrt(w)) @ V'", " for a symmetric positive semidefinite matrix"},
    // Output
    {"println", "print(x)"},
    {"printf", "print(x)"},
    {"disp", "print(x)"},
    {"display", "print(x)"},
    {"echo", "print(x)"},
    {"puts", "print(x)"},
    // Not here
    {"print", "", "print is a statement of its own"},
    {"assert", "", "assert is a statement of its own"},
    {"swap", "", "write `let t = x[i]; x[i] = x[j]; x[j] = t;`"},
    {"str", "", "print takes values as they are"},
    {"union1d", "unique(concat(x, y, axis=0))"},
    {"intersect1d", "", "write `let c[i] = any[k](x[i] == v[k]);` and filter(x, c)"},
    {"setdiff1d", "", "write `let c[i] = !any[k](x[i] == v[k]);` and filter(x, c)"},
    {"flatnonzero", "nonzero(x)"},
    {"argwhere", "nonzero(x)"},
    {"compress", "filter(x, x > 0.0)"},
    {"extract", "filter(x, x > 0.0)"},
    // In the library
    {"softmax", "import std.nn"},
    {"log_softmax", "import std.nn"},
    {"logsumexp", "import std.nn", "log_sum_exp(A)"},
    {"elu", "import std.nn"},
    {"gelu", "import std.nn"},
    {"silu", "import std.nn"},
    {"softplus", "import std.nn"},
    {"leaky_relu", "import std.nn"},
    {"one_hot", "import std.nn"},
    {"cross_entropy", "import std.nn"},
    {"cov", "import std.stats", "covariance(A)"},
    {"corrcoef", "import std.stats", "correlation(A)"},
    {"cross", "import std.linalg"},
    {"vandermonde", "import std.linalg"},
    {"vander", "import std.linalg", "vandermonde(x, k)"},
    {"kronecker", "kron(A, B)"},
    {"matrix_power", "import std.linalg"},
    {"matrix_rank", "import std.linalg"},
    {"pinv", "import std.linalg"},
    {"cond", "import std.linalg"},
    {"slogdet", "import std.linalg"},
    {"cdist", "import std.linalg", "distances(A, B)"},
    {"convolve", "import std.signal"},
    {"conv", "import std.signal", "convolve(x, y)"},
    {"polyval", "import std.polynomial"},
    {"polyfit", "import std.polynomial"},
    {"polymul", "import std.polynomial"},
    {"polyder", "import std.polynomial"},
    {"polyint", "import std.polynomial"},
    {"correlate", "import std.signal", "correlate_valid(x, y)"},
    {"convolve2d", "import std.signal", "convolve2d_valid(A, B)"},
    {"fftconvolve", "import std.signal", "fft_convolve(x, y)"},
    {"rfft2", "fft2(A)"},
    {"rfftn", "fftn(A)"},
    {"gradient", "import std.calculus"},
    {"trapezoid", "import std.calculus"},
    {"trapz", "import std.calculus", "trapezoid(x, 0.5)"},
    {"cumulative_trapezoid", "import std.calculus"},
    {"simpson", "import std.calculus"},
    {"quad", "import std.calculus", "integrate(sin, 0.0, 1.0)"},
    {"newton", "import std.optimise"},
    {"brentq", "import std.optimise", "root(cos, 0.0, 2.0)"},
    {"choice", "import std.random", "choice(x, k, 1)"},
    {"shuffle", "import std.random", "shuffle(x, 1)"},
    {"exponential", "import std.random", "exponential(x, 1)"},
    {"poisson", "import std.random", "poisson(x, 1)"},
    {"bernoulli", "import std.random", "bernoulli(x, 1)"},
    {"standard_gamma", "import std.random", "gamma_variate(x, 1)"},
});

const Words& values() {
  static const Words table = {
      {"True", "write true"},
      {"TRUE", "write true"},
      {"False", "write false"},
      {"FALSE", "write false"},
      {"None", "there is no value for nothing"},
      {"null", "there is no value for nothing"},
      {"NULL", "there is no value for nothing"},
      {"nullptr", "there is no value for nothing"},
      {"nil", "there is no value for nothing"},
      {"nothing", "there is no value for nothing"},
      {"Pi", "write pi"},
      {"PI", "write pi"},
      {"M_PI", "write pi"},
      {"M_E", "write exp(1.0)"},
      {"e", "write exp(1.0)"},
      {"NaN", "write nan"},
      {"NAN", "write nan"},
      {"Inf", "write inf"},
      {"INF", "write inf"},
      {"Infinity", "write inf"},
      {"INFINITY", "write inf"},
      {"infinity", "write inf"},
      {"end", "the last element is x[-1], and x[k:] runs to it"},
  };
  return table;
}

const Words& types() {
  static const Words table = {
      {"complex128", "c128"}, {"complex64", "c64"}, {"complex", "c128"}, {"float", "f64"},    {"double", "f64"},
      {"real", "f64"},        {"float64", "f64"},   {"Float64", "f64"},  {"Double", "f64"},   {"number", "f64"},
      {"Float", "f64"},       {"single", "f32"},    {"float32", "f32"},  {"Float32", "f32"},  {"half", "f16"},
      {"float16", "f16"},     {"int", "i64"},       {"integer", "i64"},  {"long", "i64"},     {"int64", "i64"},
      {"Int", "i64"},         {"Int64", "i64"},     {"int64_t", "i64"},  {"uint", "u64"},     {"unsigned", "u32"},
      {"uint64_t", "u64"},    {"uint64", "u64"},    {"usize", "i64"},    {"size_t", "i64"},   {"uint32_t", "u32"},
      {"uint32", "u32"},      {"int32", "i32"},     {"Int32", "i32"},    {"int32_t", "i32"},  {"short", "i16"},
      {"int16_t", "i16"},     {"int16", "i16"},     {"uint16_t", "u16"}, {"uint16", "u16"},   {"int8_t", "i8"},
      {"int8", "i8"},         {"uint8_t", "u8"},    {"uint8", "u8"},     {"byte", "u8"},      {"char", "i8"},
      {"boolean", "bool"},    {"Bool", "bool"},     {"Boolean", "bool"}, {"logical", "bool"},
  };
  return table;
}

const Words& members() {
  static const Words table = {
      {"T", "'"},        {"H", "'"},       {"t", "'"},         {"transpose", "'"},
      {"shape", "size"}, {"size", "size"}, {"length", "size"}, {"len", "size"},
  };
  return table;
}

const Words& characters() {
  static const Words table = {
      {"#", "did you mean `//` for comments?"},
      {"`", "did you mean `'` for transpose?"},
      {"\\", "a system of equations is solved by solve(A, b)"},
      {"?", "a choice is written `if c then a else b`"},
      {"−", "did you mean `-`?"},
      {"–", "did you mean `-`?"},
      {"×", "did you mean `*`?"},
      {"·", "did you mean `*` or `@`?"},
      {"÷", "did you mean `/`?"},
      {"≤", "did you mean `<=`?"},
      {"≥", "did you mean `>=`?"},
      {"≠", "did you mean `!=`?"},
      {"“", "did you mean `\"`?"},
      {"”", "did you mean `\"`?"},
      {"’", "did you mean `'`?"},
      {"‘", "did you mean `'`?"},
      {"′", "did you mean `'`?"},
      {"→", "did you mean `->`?"},
      {"∞", "did you mean `inf`?"},
      {"…", "did you mean `..`?"},
      {"∧", "did you mean `&&`?"},
      {"∨", "did you mean `||`?"},
      {"¬", "did you mean `!`?"},
      {"Σ", "did you mean `sum`?"},
      {"∑", "did you mean `sum`?"},
      {"π", "write pi"},
      {"\xC2\xA0", "did you mean a space?"},
  };
  return table;
}

const Words& statements() {
  static const Words table = {
      {"const", "let"},     {"val", "let"},      {"auto", "let"},       {"mut", "var"},      {"global", "var"},
      {"local", "let"},     {"def", "fn"},       {"fun", "fn"},         {"func", "fn"},      {"function", "fn"},
      {"proc", "fn"},       {"procedure", "fn"}, {"include", "import"}, {"use", "import"},   {"using", "import"},
      {"from", "import"},   {"foreach", "for"},  {"forall", "for"},     {"elif", "else if"}, {"elseif", "else if"},
      {"elsif", "else if"},
  };
  return table;
}

std::string_view found(const Words& table, std::string_view word) {
  const auto entry = table.find(word);
  return entry == table.end() ? std::string_view() : entry->second;
}

std::string after_semicolon(std::string_view text) { return text.empty() ? std::string() : "; " + std::string(text); }

}  // namespace

std::span<const ForeignFunction> foreign_functions() { return kFunctions; }

std::string function_hint(std::string_view name) {
  const auto entry = std::ranges::find(kFunctions, name, &ForeignFunction::name);
  if (entry == kFunctions.end()) return {};
  if (entry->write.starts_with("import"))
    return "; it is in the library: " + std::string(entry->write) + ";" +
           (entry->remark.empty() ? "" : " there it is " + std::string(entry->remark));
  return (entry->write.empty() ? "; " : "; write " + std::string(entry->write)) + std::string(entry->remark);
}

std::string value_hint(std::string_view name) { return after_semicolon(found(values(), name)); }

std::string foreign_type(std::string_view name) { return std::string(found(types(), name)); }

std::string type_hint(std::string_view name) {
  if (const std::string type = foreign_type(name); !type.empty()) return "; did you mean `" + type + "`?";
  if (name == "string" || name == "str" || name == "String")
    return "; strings stand in print, assert, einsum, import and extern only";
  std::vector<std::string> all;
  std::string list;
  for (const rt::ElementInfo& info : rt::kElementTypes) {
    all.emplace(all.begin(), info.name);
    list += (list.empty() ? "" : ", ") + std::string(info.name);
  }
  const std::string nearest = did_you_mean(name, all);
  return nearest.empty() ? "; the types are " + list + " and tensors such as f64[n, m]" : nearest;
}

bool is_foreign_module(std::string_view name) {
  static constexpr auto kModules = std::to_array<std::string_view>(
      {"np", "numpy", "math", "Math", "cmath", "torch", "jnp", "jax", "tf", "scipy", "linalg", "std"});
  return std::ranges::find(kModules, name) != kModules.end();
}

std::string member_hint(std::string_view object, std::string_view member, bool called) {
  const std::string value(object);
  const std::string name(member);
  if (is_foreign_module(object)) {
    const std::string hint = called ? function_hint(member) : value_hint(member);
    return !hint.empty() ? hint : called ? "; functions have no prefix: " + name + "(…)" : "; names have no prefix";
  }
  const std::string_view form = found(members(), member);
  if (form == "'") return "; write " + value + "'";
  if (form == "size") return "; write size(" + value + ", 0)";
  if (!called) return "; values have no members";
  const std::string hint = function_hint(member);
  return hint.empty() ? "; a function is called as " + name + "(" + value + ")" : hint;
}

std::string character_hint(std::string_view character) { return after_semicolon(found(characters(), character)); }

std::string statement_word(std::string_view name) {
  return types().contains(name) ? "let" : std::string(found(statements(), name));
}

}  // namespace tdsl::frontend

#include "frontend/lower/lowering.h"

#include <algorithm>
#include <limits>

#include "frontend/hints/foreign_words.h"
#include "frontend/lower/builtins.h"
#include "frontend/lower/functions/instances.h"
#include "runtime/types.h"

namespace tdsl::frontend {

Tensor call_where(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 3, 3, range);
  if (args[0].scalar() != Scalar::kBool) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, args[0].range,
                         "where(c, a, b) needs bools first, but this is " + lowerer.graph.text(args[0]));
  }
  return lowerer.algebra.choice(args[0], args[1], args[2], range);
}

/// `min(max(x, a), b)`.
Tensor call_clip(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 3, 3, range);
  const Tensor raised = lowerer.algebra.arithmetic(BinaryOp::kMax, args[0], args[1], range);
  return lowerer.algebra.arithmetic(BinaryOp::kMin, raised, args[2], range);
}

Tensor call_isfinite(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor x = positional(lowerer, call, 1, 1, range)[0];
  Algebra& algebra = lowerer.algebra;
  const Tensor infinite =
      scalar_tensor(ir::constant(Scalar::kF64, std::numeric_limits<double>::infinity()), Weak::kFloat);
  if (!ir::is_complex(x.scalar()))
    return algebra.arithmetic(BinaryOp::kLt, algebra.apply_unary(UnaryOp::kAbs, x, range), infinite, range);
  // Which part is infinite is open, and the absolute value of finite parts may overflow: the product with 0 is 0 or
  // not.
  const Tensor zero = scalar_tensor(ir::constant(Scalar::kF64, 0.0, range), Weak::kFloat);
  return algebra.arithmetic(BinaryOp::kEq, algebra.arithmetic(BinaryOp::kMul, x, zero, range), zero, range);
}

/// isclose: `abs(a - b) <= atol + rtol * abs(b)`, and equal infinities; allclose: all of these.
Tensor call_isclose(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range, {"rtol", "atol"});
  Algebra& algebra = lowerer.algebra;
  const auto tolerance = [&](const char* name, double otherwise) {
    const ast::Expr* given = named_argument(call, name);
    return given != nullptr ? lower(lowerer, *given)
                            : scalar_tensor(ir::constant(Scalar::kF64, otherwise, range), Weak::kFloat);
  };
  const auto abs = [&](const Tensor& t) { return algebra.apply_unary(UnaryOp::kAbs, t, range); };
  const Tensor difference = abs(algebra.arithmetic(BinaryOp::kSub, args[0], args[1], range));
  const Tensor scaled = algebra.arithmetic(BinaryOp::kMul, tolerance("rtol", 1e-5), abs(args[1]), range);
  const Tensor allowed = algebra.arithmetic(BinaryOp::kAdd, tolerance("atol", 1e-8), scaled, range);
  const Tensor near = algebra.arithmetic(BinaryOp::kLe, difference, allowed, range);
  // Only differences that are finite count: inf is close to inf alone.
  const Tensor infinite =
      scalar_tensor(ir::constant(Scalar::kF64, std::numeric_limits<double>::infinity()), Weak::kFloat);
  const Tensor finite = algebra.arithmetic(BinaryOp::kLt, difference, infinite, range);
  const Tensor equal = algebra.arithmetic(BinaryOp::kEq, args[0], args[1], range);
  const Tensor close = algebra.elementwise({equal, finite, near}, Weak::kNo, range, [&](const std::vector<Expr>& e) {
    return ir::binary(BinaryOp::kOr, e[0], ir::binary(BinaryOp::kAnd, e[1], e[2], range), range);
  });
  if (call.callee.name == "isclose") return close;
  return reduce_axes(lowerer, {Reducer::kAll, {}, Scalar::kBool}, close, std::vector<bool>(close.rank(), true), false,
                     range);
}

Tensor call_nnz(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(lowerer, call, 1, 1, range)[0];
  const Tensor zero = scalar_tensor(ir::constant_i64(0), Weak::kInteger);
  const Tensor present = t.scalar() == Scalar::kBool ? t : lowerer.algebra.arithmetic(BinaryOp::kNe, t, zero, range);
  return reduce_whole(lowerer, {Reducer::kCount, {}, Scalar::kF64}, present, call, range);
}

Tensor call_dense(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  Tensor t = positional(lowerer, call, 1, 1, range)[0];
  if (lowerer.graph.has_sparse()) t.body = ir::unary(UnaryOp::kDense, t.body, range);
  return t;
}

Tensor call_sparse(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  Tensor t = positional(lowerer, call, 1, 1, range)[0];
  lowerer.graph.note_sparse();
  t.body = ir::unary(UnaryOp::kSparse, t.body, range);
  return t;
}

const ast::Expr* named_argument(const ast::Call& call, const std::string& name) {
  for (const ast::Argument& a : call.arguments) {
    if (a.name && a.name->name == name) return a.value.get();
  }
  return nullptr;
}

std::string option_word(Lowerer& lowerer, const ast::Call& call, const std::string& name,
                        const std::vector<std::string>& words) {
  const ast::Expr* given = named_argument(call, name);
  if (given == nullptr) return words[0];
  const auto* word = std::get_if<ast::Name>(&given->node);
  if (word != nullptr && std::ranges::find(words, word->name) != words.end()) return word->name;
  std::string list;
  for (const std::string& legal : words) list += (list.empty() ? "" : ", ") + legal;
  lowerer.reports.fail(DiagnosticId::kBadArgument, given->range,
                       name + "= of " + call.callee.name + " is one of the words " + list);
}

namespace {

/// Message suffix for the excess argument of `sum(x, 0)`.
std::string named_axis(const Reports& reports, const ast::Call& call) {
  std::vector<std::string> texts;
  for (const ast::Argument& a : call.arguments) {
    if (!a.name) texts.push_back(reports.source_text(a.range));
  }
  const std::string axis = texts.back();
  texts.pop_back();
  std::string text;
  for (const std::string& argument : texts) text += (argument.empty() ? "…" : argument) + ", ";
  const bool norm = call.callee.name == "norm";
  return (norm ? "; it is the Euclidean norm, and an axis is named: " : "; an axis is named: ") + call.callee.name +
         "(" + text + "axis=" + (norm || axis.empty() ? "0" : axis) + ")";
}

}  // namespace

namespace {

/// Built-ins that need an order.
void require_real_operand(Lowerer& lowerer, const std::string& name, const Tensor& t) {
  static const std::set<std::string> ordered = {"clip",         "topk",   "sort",   "argsort",   "median",   "quantile",
                                                "cummax",       "cummin", "interp", "histogram", "bincount", "sprandom",
                                                "searchsorted", "unique", "groups", "join"};
  if (!ir::is_complex(t.scalar()) || lowerer.declared.functions.contains(name)) return;
  if (ordered.contains(name)) require_ordered(lowerer.reports, "`" + name + "`", t.scalar(), t.range);
}

/// Built-ins that copy elements: they keep the type of floats of two bytes.
bool copies(const std::string& name) {
  static const std::set<std::string> names = {
      "where", "dense",  "zeros_like", "ones_like", "full_like", "transpose", "tril", "triu",
      "flip",  "roll",   "diag",       "concat",    "reshape",   "stack",     "tile", "repeat",
      "take",  "filter", "fftshift",   "ifftshift", "full",      "flatten"};
  return names.contains(name);
}

}  // namespace

std::vector<Tensor> arguments_in_order(Lowerer& lowerer, const ast::Call& call, std::size_t least, std::size_t most,
                                       const SourceRange& range, const std::set<std::string>& named) {
  std::vector<Tensor> args;
  for (const ast::Argument& a : call.arguments) {
    if (!a.name) {
      args.push_back(lower(lowerer, *a.value));
    } else if (!named.contains(a.name->name)) {
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.name->range,
                           call.callee.name + " has no argument `" + a.name->name + "=`" +
                               did_you_mean(a.name->name, std::vector<std::string>(named.begin(), named.end())));
    }
  }
  for (const Tensor& t : args) require_real_operand(lowerer, call.callee.name, t);
  if (args.size() >= least && args.size() <= most) return args;
  const std::string wanted = least == most ? std::to_string(least)
                             : most > 8    ? "at least " + std::to_string(least)
                                           : std::to_string(least) + " to " + std::to_string(most);
  lowerer.reports.fail(
      DiagnosticId::kBadArgument, range,
      call.callee.name + " takes " + wanted + (wanted == "1" ? " argument" : " arguments") + ", but " +
          std::to_string(args.size()) + (args.size() == 1 ? " is given" : " are given") +
          (args.size() == most + 1 && named.contains("axis") ? named_axis(lowerer.reports, call) : ""));
}

std::vector<Tensor> positional(Lowerer& lowerer, const ast::Call& call, std::size_t least, std::size_t most,
                               const SourceRange& range, const std::set<std::string>& named) {
  std::vector<Tensor> args = arguments_in_order(lowerer, call, least, most, range, named);
  if (!copies(call.callee.name)) std::ranges::transform(args, args.begin(), as_operand);
  return args;
}

namespace {

Tensor call_reduction(Lowerer& lowerer, const ReducerName& op, const ast::Call& call, const SourceRange& range) {
  return reduce_whole(lowerer, op, positional(lowerer, call, 1, 1, range, {"axis", "keepdims"})[0], call, range);
}

Tensor call_extremum(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(lowerer, call, 2, 1000, range);
  const BinaryOp op = call.callee.name == "min" ? BinaryOp::kMin : BinaryOp::kMax;
  Tensor result = args[0];
  for (std::size_t k = 1; k < args.size(); ++k) result = lowerer.algebra.arithmetic(op, result, args[k], range);
  return result;
}

}  // namespace

namespace {

/// `random(key=k)`, `randn(key=k)`.
bool is_keyed_scalar(const ast::Call& call) {
  return (call.callee.name == "random" || call.callee.name == "randn") && call.arguments.size() == 1 &&
         named_argument(call, "key") != nullptr;
}

}  // namespace

bool is_scalar_function(const Declarations& declared, const ast::Call& call) {
  const std::string& name = call.callee.name;
  if (declared.foreigns.contains(name) || declared.monoids.contains(name)) return false;
  const bool extremum = (name == "min" || name == "max") && call.arguments.size() > 1;
  const bool cast = rt::element_type_named(name).has_value();
  const bool complex = name == "c64" || name == "c128" || name == "polar";
  return builtin<UnaryOp>(name) != nullptr || builtin<BinaryOp>(name) != nullptr || name == "where" || name == "clip" ||
         name == "isclose" || name == "isfinite" || complex || cast || extremum || is_keyed_scalar(call);
}

namespace {

Tensor call_builtin(Lowerer& lowerer, const Builtin& function, const ast::Call& call, const SourceRange& range) {
  return ir::match(
      function, [&](Single* single) { return single(lowerer, call, range); },
      [&](Several* several) -> Tensor {
        const std::string& name = call.callee.name;
        // nonzero gives one vector per dimension.
        if (const std::vector<Tensor> results = several(lowerer, call, range); results.size() == 1) return results[0];
        lowerer.reports.fail(DiagnosticId::kMisplacedTuple, range,
                             "`" + name + "` gives several values: write let (a, b) = " + name + "(…);");
      },
      [&](UnaryOp op) { return lowerer.algebra.apply_unary(op, positional(lowerer, call, 1, 1, range)[0], range); },
      [&](Reducer kind) {
        const auto given = std::ranges::count_if(call.arguments, [](const ast::Argument& a) { return !a.name; });
        const bool extremum = kind == Reducer::kMin || kind == Reducer::kMax;
        return extremum && given >= 2 ? call_extremum(lowerer, call, range)
                                      : call_reduction(lowerer, {kind, {}, Scalar::kF64}, call, range);
      },
      [&](BinaryOp op) {
        const std::vector<Tensor> args = positional(lowerer, call, 2, 2, range);
        if (op == BinaryOp::kPow) return lowerer.algebra.power(args[0], args[1], range);
        return op == BinaryOp::kMod ? lowerer.algebra.arithmetic(op, args[0], args[1], range)
                                    : lowerer.algebra.float_function(op, args[0], args[1], range);
      });
}

[[noreturn]] void fail_undefined(Lowerer& lowerer, const ast::Identifier& callee) {
  const std::string& name = callee.name;
  std::vector<std::string> candidates;
  for (const auto& [other, f] : lowerer.declared.functions) candidates.push_back(other);
  for (const auto& [other, f] : lowerer.declared.foreigns) candidates.push_back(other);
  add_builtins<Single*>(candidates);
  add_builtins<Several*>(candidates);
  add_builtins<UnaryOp>(candidates);
  add_builtins<BinaryOp>(candidates);
  add_builtins<Reducer>(candidates);
  const bool is_variable = lowerer.names.find(name) != nullptr;
  const std::string foreign = function_hint(name);
  const std::string hint = foreign.empty() ? did_you_mean(name, candidates) : foreign;
  if (lowerer.declared.lacks_import && !is_variable && hint.empty()) throw Abandoned{};
  lowerer.reports.fail(DiagnosticId::kUndefinedFunction, callee.range,
                       is_variable ? "`" + name + "` is a variable, not a function; its elements are " + name + "[…]"
                                   : "there is no function `" + name + "`" + hint);
}

}  // namespace

namespace {

/// The only one of the results of the call.
Tensor only_result(Lowerer& lowerer, const std::vector<Tensor>& results, const ast::Call& call,
                   const SourceRange& range) {
  if (results.size() == 1) return results[0];
  const std::string& name = call.callee.name;
  lowerer.reports.fail(
      DiagnosticId::kMisplacedTuple, range,
      "`" + name + "` returns " + counted(results.size(), "value") + ": write let (a, b) = " + name + "(…);");
}

}  // namespace

bool Lowerer::is_librarys_built_in(const std::string& name, std::uint32_t file) const {
  if (!modules.is_library(file) || !builtins().contains(name)) return false;
  const auto function = declared.functions.find(name);
  return function == declared.functions.end() || !modules.is_library(function->second.range.file);
}

const ast::Function* Lowerer::called_in(const ast::Function& f, const std::string& name) const {
  const auto closure = inlining.closures.find(&f);
  const bool is_argument = closure != inlining.closures.end() && closure->second.instance.functions.contains(name);
  return is_argument || is_librarys_built_in(name, f.name.range.file) ? nullptr : declared.function_named(name);
}

Tensor lower_call(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (lowerer.frames.back().instance.functions.contains(call.callee.name))
    return only_result(lowerer, call_argument(lowerer, call, range), call, range);
  if (lowerer.is_librarys_built_in(call.callee.name, call.callee.range.file))
    return call_builtin(lowerer, builtins().at(call.callee.name).function, call, range);
  return lower_named_call(lowerer, call, range);
}

Tensor lower_named_call(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::string& name = call.callee.name;
  const Declarations& declared = lowerer.declared;
  if (declared.refused.contains(name)) throw Abandoned{};
  if (declared.functions.contains(name)) {
    return only_result(lowerer, call_function(lowerer, call, range), call, range);
  }
  if (const auto foreign = declared.foreigns.find(name); foreign != declared.foreigns.end()) {
    if (foreign->second.kernel == nullptr) return call_foreign_function(lowerer, foreign->second, call, range);
    return only_result(lowerer, call_foreign_kernel(lowerer, foreign->second, call, range), call, range);
  }
  if (declared.monoids.contains(name))
    return call_reduction(lowerer, *reducer(lowerer, name, call.callee.range), call, range);
  const auto built_in = builtins().find(name);
  if (built_in == builtins().end()) fail_undefined(lowerer, call.callee);
  return call_builtin(lowerer, built_in->second.function, call, range);
}

}  // namespace tdsl::frontend

#include <algorithm>

#include "frontend/hints/foreign_words.h"
#include "frontend/lower/lowerer.h"

namespace tdsl::frontend {

using ir::BinaryOp;
using ir::Expr;
using ir::Scalar;
using ir::UnaryOp;

namespace {

struct UnaryFunction {
  UnaryOp op;
  bool needs_float;
};

const std::map<std::string, UnaryFunction>& unary_functions() {
  static const std::map<std::string, UnaryFunction> table = {
      {"abs", {UnaryOp::kAbs, false}},    {"sqrt", {UnaryOp::kSqrt, true}},    {"exp", {UnaryOp::kExp, true}},
      {"log", {UnaryOp::kLog, true}},     {"log1p", {UnaryOp::kLog1p, true}},  {"expm1", {UnaryOp::kExpm1, true}},
      {"sin", {UnaryOp::kSin, true}},     {"cos", {UnaryOp::kCos, true}},      {"tan", {UnaryOp::kTan, true}},
      {"tanh", {UnaryOp::kTanh, true}},   {"erf", {UnaryOp::kErf, true}},      {"floor", {UnaryOp::kFloor, false}},
      {"ceil", {UnaryOp::kCeil, false}},  {"round", {UnaryOp::kRound, false}}, {"sign", {UnaryOp::kSign, false}},
      {"isnan", {UnaryOp::kIsNan, true}}, {"isinf", {UnaryOp::kIsInf, true}},  {"sigmoid", {UnaryOp::kSigmoid, true}},
      {"relu", {UnaryOp::kRelu, false}},
  };
  return table;
}

const std::set<std::string>& reduction_names() {
  static const std::set<std::string> names = {"sum", "prod",  "min",  "max",    "mean",  "any",
                                              "all", "count", "norm", "argmin", "argmax"};
  return names;
}

}  // namespace

const std::map<std::string, Lowerer::Builtin>& Lowerer::builtins() {
  static const std::map<std::string, Builtin> table = {
      {"where", &Lowerer::call_where},     {"zeros", &Lowerer::call_zeros},   {"ones", &Lowerer::call_zeros},
      {"full", &Lowerer::call_full},       {"eye", &Lowerer::call_eye},       {"iota", &Lowerer::call_iota},
      {"random", &Lowerer::call_random},   {"randn", &Lowerer::call_random},  {"transpose", &Lowerer::call_transpose},
      {"size", &Lowerer::call_size},       {"outer", &Lowerer::call_outer},   {"diag", &Lowerer::call_diag},
      {"trace", &Lowerer::call_trace},     {"tril", &Lowerer::call_triangle}, {"triu", &Lowerer::call_triangle},
      {"flip", &Lowerer::call_flip},       {"roll", &Lowerer::call_roll},     {"concat", &Lowerer::call_concat},
      {"reshape", &Lowerer::call_reshape}, {"pad", &Lowerer::call_pad},       {"nnz", &Lowerer::call_nnz},
      {"dense", &Lowerer::call_dense},     {"sparse", &Lowerer::call_sparse}, {"sprandom", &Lowerer::call_sprandom},
      {"einsum", &Lowerer::call_einsum},   {"cumsum", &Lowerer::call_cumsum}, {"sort", &Lowerer::call_sort},
      {"argsort", &Lowerer::call_sort},    {"solve", &Lowerer::call_solve},   {"lstsq", &Lowerer::call_solve},
      {"cholesky", &Lowerer::call_square}, {"inv", &Lowerer::call_square},    {"det", &Lowerer::call_square},
      {"grad", &Lowerer::call_grad},
  };
  return table;
}

bool Lowerer::is_builtin(const std::string& name) {
  return builtins().contains(name) || tuple_builtins().contains(name) || unary_functions().contains(name) ||
         reduction_names().contains(name) || name == "pow" || name == "mod";
}

bool Lowerer::is_scalar_function(const ast::Call& call) {
  const std::string& name = call.callee.name;
  const bool extremum = (name == "min" || name == "max") && call.arguments.size() > 1;
  return unary_functions().contains(name) || name == "pow" || name == "mod" || name == "where" || extremum;
}

const ast::Expr* Lowerer::named_argument(const ast::Call& call, const std::string& name) const {
  for (const ast::Argument& a : call.arguments) {
    if (a.name && a.name->name == name) return a.value.get();
  }
  return nullptr;
}

/// `sum(x, 0)`: the end of the message about the argument too many.
std::string Lowerer::named_axis(const ast::Call& call) const {
  std::vector<std::string> texts;
  for (const ast::Argument& a : call.arguments) {
    if (!a.name) texts.push_back(reports_.source_text(a.range));
  }
  const std::string axis = texts.back();
  texts.pop_back();
  std::string text;
  for (const std::string& argument : texts) text += (argument.empty() ? "…" : argument) + ", ";
  const bool norm = call.callee.name == "norm";
  return (norm ? "; it is the Euclidean norm, and an axis is named: " : "; an axis is named: ") + call.callee.name +
         "(" + text + "axis=" + (norm || axis.empty() ? "0" : axis) + ")";
}

std::vector<Tensor> Lowerer::positional(const ast::Call& call, std::size_t least, std::size_t most,
                                        const SourceRange& range, const std::set<std::string>& named) {
  std::vector<Tensor> args;
  for (const ast::Argument& a : call.arguments) {
    if (!a.name) {
      args.push_back(lower(*a.value));
    } else if (!named.contains(a.name->name)) {
      reports_.fail(DiagnosticId::kBadArgument, a.name->range,
                    call.callee.name + " has no argument `" + a.name->name + "=`" +
                        did_you_mean(a.name->name, std::vector<std::string>(named.begin(), named.end())));
    }
  }
  if (args.size() >= least && args.size() <= most) return args;
  const std::string wanted = least == most ? std::to_string(least)
                             : most > 8    ? "at least " + std::to_string(least)
                                           : std::to_string(least) + " to " + std::to_string(most);
  reports_.fail(DiagnosticId::kBadArgument, range,
                call.callee.name + " takes " + wanted + (wanted == "1" ? " argument" : " arguments") + ", but " +
                    std::to_string(args.size()) + (args.size() == 1 ? " is given" : " are given") +
                    (args.size() == most + 1 && named.contains("axis") ? named_axis(call) : ""));
}

Tensor Lowerer::lower_call(const ast::Call& call, const SourceRange& range) {
  const std::string& name = call.callee.name;
  if (declared_.refused.contains(name)) throw Abandoned{};
  if (declared_.functions.contains(name)) {
    std::vector<Tensor> results = call_function(call, range);
    if (results.size() == 1) return results[0];
    reports_.fail(
        DiagnosticId::kMisplacedTuple, range,
        "`" + name + "` returns " + counted(results.size(), "value") + ": write let (a, b) = " + name + "(…);");
  }
  if (const auto foreign = declared_.foreigns.find(name); foreign != declared_.foreigns.end()) {
    if (foreign->second.kernel == nullptr) return call_foreign_function(foreign->second, call, range);
    if (foreign->second.kernel->results.size() == 1) return call_foreign_kernel(foreign->second, call, range)[0];
    reports_.fail(DiagnosticId::kMisplacedTuple, range,
                  "`" + name + "` returns " + counted(foreign->second.kernel->results.size(), "value") +
                      ": write let (a, b) = " + name + "(…);");
  }
  const auto extremum = name == "min" || name == "max";
  const auto given = std::ranges::count_if(call.arguments, [](const ast::Argument& a) { return !a.name; });
  if (extremum && given >= 2) return call_extremum(call, range);
  if (const auto op = reducer(name, call.callee.range)) {
    return reduce_whole(*op, positional(call, 1, 1, range, {"axis", "keepdims"})[0], call, range);
  }
  if (const auto result = lower_scalar_function(call, range)) return *result;
  const auto built_in = builtins().find(name);
  if (built_in != builtins().end()) return (this->*built_in->second)(call, range);
  if (tuple_builtins().contains(name)) {
    reports_.fail(DiagnosticId::kMisplacedTuple, range,
                  "`" + name + "` gives several values: write let (a, b) = " + name + "(…);");
  }
  std::vector<std::string> candidates;
  for (const auto& [other, f] : declared_.functions) candidates.push_back(other);
  for (const auto& [other, f] : declared_.foreigns) candidates.push_back(other);
  for (const auto& [other, f] : builtins()) candidates.push_back(other);
  for (const auto& [other, f] : tuple_builtins()) candidates.push_back(other);
  for (const auto& [other, f] : unary_functions()) candidates.push_back(other);
  candidates.insert(candidates.end(), reduction_names().begin(), reduction_names().end());
  const bool is_variable = names_.find(name) != nullptr;
  const std::string foreign = function_hint(name);
  const std::string hint = foreign.empty() ? did_you_mean(name, candidates) : foreign;
  if (declared_.lacks_import && !is_variable && hint.empty()) throw Abandoned{};
  reports_.fail(DiagnosticId::kUndefinedFunction, call.callee.range,
                is_variable ? "`" + name + "` is a variable, not a function; its elements are " + name + "[…]"
                            : "there is no function `" + name + "`" + hint);
}

std::optional<Tensor> Lowerer::lower_scalar_function(const ast::Call& call, const SourceRange& range) {
  const auto unary = unary_functions().find(call.callee.name);
  if (unary != unary_functions().end()) {
    return apply_unary(unary->second.op, unary->second.needs_float, positional(call, 1, 1, range)[0], range);
  }
  if (call.callee.name != "pow" && call.callee.name != "mod") return std::nullopt;
  const std::vector<Tensor> args = positional(call, 2, 2, range);
  if (call.callee.name == "pow") return power(args[0], args[1], range);
  return arithmetic(BinaryOp::kMod, args[0], args[1], range);
}

Tensor Lowerer::call_extremum(const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(call, 2, 1000, range);
  const BinaryOp op = call.callee.name == "min" ? BinaryOp::kMin : BinaryOp::kMax;
  Tensor result = args[0];
  for (std::size_t k = 1; k < args.size(); ++k) result = arithmetic(op, result, args[k], range);
  return result;
}

Tensor Lowerer::call_where(const ast::Call& call, const SourceRange& range) {
  const std::vector<Tensor> args = positional(call, 3, 3, range);
  if (args[0].scalar() != Scalar::kBool) {
    reports_.fail(DiagnosticId::kTypeMismatch, args[0].range,
                  "where(c, a, b) needs bools first, but this is " + graph_.text(args[0]));
  }
  return choice(args[0], args[1], args[2], range);
}

Tensor Lowerer::call_nnz(const ast::Call& call, const SourceRange& range) {
  const Tensor t = positional(call, 1, 1, range)[0];
  const Tensor zero = scalar_tensor(ir::constant_i64(0), Weak::kInteger);
  const Tensor present = t.scalar() == Scalar::kBool ? t : arithmetic(BinaryOp::kNe, t, zero, range);
  return reduce_whole({Reducer::kCount, {}, Scalar::kF64}, present, call, range);
}

Tensor Lowerer::call_dense(const ast::Call& call, const SourceRange& range) {
  Tensor t = positional(call, 1, 1, range)[0];
  if (graph_.has_sparse()) t.body = ir::unary(UnaryOp::kDense, t.body, range);
  return t;
}

Tensor Lowerer::call_sparse(const ast::Call& call, const SourceRange& range) {
  Tensor t = positional(call, 1, 1, range)[0];
  graph_.note_sparse();
  t.body = ir::unary(UnaryOp::kSparse, t.body, range);
  return t;
}

}  // namespace tdsl::frontend

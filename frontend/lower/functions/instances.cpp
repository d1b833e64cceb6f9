#include "frontend/lower/functions/instances.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "frontend/hints/foreign_words.h"
#include "frontend/lower/builtins.h"
#include "frontend/lower/functions/points.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/types.h"
#include "frontend/sema/walk.h"
#include "runtime/kernels/scalar_math.h"

namespace tdsl::frontend {

namespace {

/// The value of an expression of integer literals and of `literals`; nullopt if it has anything else.
std::optional<std::int64_t> constant_of(const std::map<std::string, std::int64_t>& literals, const ast::Expr& e) {
  if (const auto* literal = std::get_if<ast::IntegerLiteral>(&e.node))
    return literal->beyond_i64 ? std::nullopt : std::optional(literal->value);
  if (const std::string* name = bare_name(e)) {
    const auto found = literals.find(*name);
    return found == literals.end() ? std::nullopt : std::optional(found->second);
  }
  if (const auto* unary = std::get_if<ast::Unary>(&e.node)) {
    const auto operand = constant_of(literals, *unary->operand);
    if (!operand) return std::nullopt;
    if (unary->op == ast::UnaryOp::kInvert) return ~*operand;
    return unary->op == ast::UnaryOp::kNot ? static_cast<std::int64_t>(*operand == 0) : -*operand;
  }
  const auto* binary = std::get_if<ast::Binary>(&e.node);
  const auto a = binary == nullptr ? std::nullopt : constant_of(literals, *binary->lhs);
  const auto b = binary == nullptr ? std::nullopt : constant_of(literals, *binary->rhs);
  if (!a || !b) return std::nullopt;
  const bool divides = binary->op == ast::BinaryOp::kDiv || binary->op == ast::BinaryOp::kMod;
  if (divides && (*b == 0 || *b == -1)) return std::nullopt;
  std::int64_t result = 0;
  switch (binary->op) {
    case ast::BinaryOp::kAdd: return __builtin_add_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case ast::BinaryOp::kSub: return __builtin_sub_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case ast::BinaryOp::kMul: return __builtin_mul_overflow(*a, *b, &result) ? std::nullopt : std::optional(result);
    case ast::BinaryOp::kDiv: return *a / *b;
    case ast::BinaryOp::kMod: return *a % *b;
    case ast::BinaryOp::kEq: return static_cast<std::int64_t>(*a == *b);
    case ast::BinaryOp::kNe: return static_cast<std::int64_t>(*a != *b);
    case ast::BinaryOp::kLt: return static_cast<std::int64_t>(*a < *b);
    case ast::BinaryOp::kLe: return static_cast<std::int64_t>(*a <= *b);
    case ast::BinaryOp::kGt: return static_cast<std::int64_t>(*a > *b);
    case ast::BinaryOp::kGe: return static_cast<std::int64_t>(*a >= *b);
    case ast::BinaryOp::kAnd: return static_cast<std::int64_t>(*a != 0 && *b != 0);
    case ast::BinaryOp::kOr: return static_cast<std::int64_t>(*a != 0 || *b != 0);
    case ast::BinaryOp::kBitAnd: return *a & *b;
    case ast::BinaryOp::kBitOr: return *a | *b;
    case ast::BinaryOp::kBitXor: return *a ^ *b;
    case ast::BinaryOp::kShiftLeft: return rt::scalar::shift_left(*a, *b);
    case ast::BinaryOp::kShiftRight: return rt::scalar::shift_right(*a, *b);
    case ast::BinaryOp::kPow:
    case ast::BinaryOp::kMatMul: return std::nullopt;
  }
  return std::nullopt;
}

/// True if calls need no instance: all parameters are values without defaults.
bool takes_values_only(const ast::Function& f) {
  return f.type_parameters.empty() && std::ranges::all_of(f.parameters, [](const ast::FunctionParameter& p) {
           return !p.function && !p.is_literal && !p.default_value;
         });
}

/// The arguments in the order of the parameters; null where the default applies.
std::vector<const ast::Argument*> matched(Lowerer& lowerer, const ast::Function& f, const ast::Call& call,
                                          const SourceRange& range) {
  std::vector<const ast::Argument*> given(f.parameters.size());
  std::size_t count = 0;
  for (const ast::Argument& a : call.arguments) {
    std::size_t k = count;
    if (a.name) {
      const auto found = std::ranges::find_if(
          f.parameters, [&](const ast::FunctionParameter& p) { return p.name.name == a.name->name; });
      if (found == f.parameters.end()) {
        std::vector<std::string> names;
        for (const ast::FunctionParameter& p : f.parameters) names.push_back(p.name.name);
        lowerer.reports.fail(
            DiagnosticId::kBadArgument, a.name->range,
            f.name.name + " has no argument `" + a.name->name + "=`" + did_you_mean(a.name->name, names));
      }
      k = static_cast<std::size_t>(found - f.parameters.begin());
    } else {
      ++count;
    }
    if (k < given.size() && given[k] != nullptr)
      lowerer.reports.fail(DiagnosticId::kBadArgument, a.range,
                           "the argument `" + f.parameters[k].name.name + "` of " + f.name.name + " is given twice");
    if (k < given.size()) given[k] = &a;
  }
  const auto required = static_cast<std::size_t>(
      std::ranges::count_if(f.parameters, [](const ast::FunctionParameter& p) { return !p.default_value; }));
  const auto lacks = [&](std::size_t k) { return given[k] == nullptr && !f.parameters[k].default_value; };
  std::size_t missing = 0;
  while (missing < given.size() && !lacks(missing)) ++missing;
  if (count <= given.size() && missing == given.size()) return given;
  const std::string wanted = required == given.size()
                                 ? std::to_string(required)
                                 : std::to_string(required) + " to " + std::to_string(given.size());
  lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                       f.name.name + " takes " + wanted + (wanted == "1" ? " argument" : " arguments") + ", but " +
                           std::to_string(call.arguments.size()) +
                           (call.arguments.size() == 1 ? " is given" : " are given") +
                           (count <= given.size() ? "; `" + f.parameters[missing].name.name + "` is missing" : ""));
}

/// Reports a call of a function within itself. Literal parameters may recurse to smaller values.
void require_no_recursion(Lowerer& lowerer, const ast::Function& f, const Instance& instance,
                          const SourceRange& range) {
  constexpr std::size_t kMaxLevels = 16;
  std::size_t levels = 0;
  for (std::size_t k = lowerer.frames.size() - 1; k > 0; k = lowerer.frames[k].around) {
    const Frame& frame = lowerer.frames[k];
    if (frame.function != &f && frame.instance.definition != &f) continue;
    if (frame.entry == nullptr) continue;  // a lambda in the function
    const bool smaller = std::ranges::any_of(instance.literals, [&](const auto& literal) {
      const auto outer = frame.instance.literals.find(literal.first);
      return outer != frame.instance.literals.end() && literal.second < outer->second;
    });
    if (!smaller)
      lowerer.reports.fail(
          DiagnosticId::kRecursion, range,
          "`" + f.name.name + "` calls itself; " +
              (instance.literals.empty() ? "functions cannot recurse" : "a literal parameter must become smaller"));
    if (++levels > kMaxLevels)
      lowerer.reports.fail(DiagnosticId::kRecursion, range,
                           "`" + f.name.name + "` calls itself more than " + std::to_string(kMaxLevels) + " deep");
  }
}

bool is_legal(Scalar type, const std::string& bound) {
  if (bound == "float") return ir::is_real(type);
  if (bound == "real" && ir::is_complex(type)) return false;
  return bound.empty() || type != Scalar::kBool;
}

/// Binds the type parameters to the promoted types of the arguments in their places.
void bind_types(Lowerer& lowerer, const ast::Function& f, const ast::Function& instance,
                const std::vector<Tensor>& args, std::map<std::string, Scalar>& types, const SourceRange& range) {
  for (const ast::TypeParameter& t : f.type_parameters) {
    std::optional<Common> common;
    for (std::size_t k = 0; k < args.size(); ++k) {
      if (!instance.parameters[k].type || instance.parameters[k].type->parameter != t.name.name) continue;
      common = common ? lowerer.values.common_type(*common, args[k], range) : Common{args[k].scalar(), args[k].weak};
    }
    if (!common)
      lowerer.reports.fail(DiagnosticId::kBadArgument, range,
                           "no argument determines the type " + t.name.name + " of " + f.name.name,
                           {{t.name.range, "declared here"}});
    const std::string bound = t.bound ? t.bound->name : "";
    // Literals adapt.
    if (bound == "float" && common->weak != Weak::kNo && !ir::is_float(common->type)) common->type = Scalar::kF64;
    if (ir::is_half(common->type))
      lowerer.reports.fail(DiagnosticId::kTypeMismatch, range,
                           std::string(ir::name_of(common->type)) + " does not stand for the type " + t.name.name +
                               " of " + f.name.name + "; cast the argument: f32(x)",
                           {{t.name.range, "declared here"}});
    if (!is_legal(common->type, bound))
      lowerer.reports.fail(DiagnosticId::kTypeMismatch, range,
                           f.name.name + " needs a type that is `" + bound + "` for " + t.name.name +
                               ", but the arguments are " + std::string(ir::name_of(common->type)),
                           {{t.name.range, "declared here"}});
    types[t.name.name] = common->type;
  }
}

}  // namespace

std::optional<bool> decided(const Lowerer& lowerer, const ast::Expr& condition) {
  const auto& literals = lowerer.frames.back().instance.literals;
  if (literals.empty()) return std::nullopt;
  const auto value = constant_of(literals, condition);
  return value ? std::optional(*value != 0) : std::nullopt;
}

void bind_instance(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                   const SourceRange& range) {
  Closure closure;
  closure.instance.definition = &f;
  bind_types(lowerer, f, f, args, closure.instance.types, range);
  lowerer.inlining.closures[&f] = std::move(closure);
}

std::int64_t literal_argument(Lowerer& lowerer, const Instance& around, const ast::FunctionParameter& parameter,
                              const ast::Expr& e) {
  if (const auto value = constant_of(around.literals, e)) return *value;
  lowerer.reports.fail(DiagnosticId::kNotConstant, e.range,
                       "the parameter `" + parameter.name.name +
                           "` needs an integer literal, or a constant expression of literals and literal parameters",
                       {{parameter.name.range, "declared here"}});
}

void bind_literal(Lowerer& lowerer, const ast::Identifier& name, std::int64_t value) {
  lowerer.names.declare(name, Symbol::Kind::kInline)->lazy = scalar_tensor(ir::constant_i64(value));
}

std::vector<ast::FunctionParameter> literal_parameters(const Closure& closure) {
  std::vector<ast::FunctionParameter> literals;
  if (closure.instance.definition == nullptr || closure.lambda != nullptr) return literals;
  for (const ast::FunctionParameter& p : closure.instance.definition->parameters) {
    if (p.is_literal) literals.push_back(p);
  }
  return literals;
}

FunctionValue function_value(Lowerer& lowerer, const ast::Expr& e) {
  if (const auto* lambda = std::get_if<ast::Lambda>(&e.node)) {
    if (!check_definition(lowerer.reports, *lambda->function)) throw Abandoned{};
    return {"fn", lambda->function.get(), &lowerer.names.current(), lowerer.frames.size() - 1};
  }
  const std::string* name = bare_name(e);
  if (name != nullptr) {
    const auto& arguments = lowerer.frames.back().instance.functions;
    if (const auto passed = arguments.find(*name); passed != arguments.end()) return passed->second.value;
    const Declarations& declared = lowerer.declared;
    if (declared.refused.contains(*name)) throw Abandoned{};
    const auto foreign = declared.foreigns.find(*name);
    const bool is_function = declared.functions.contains(*name) ||
                             (foreign != declared.foreigns.end() && foreign->second.kernel == nullptr) ||
                             (foreign == declared.foreigns.end() && builtins().contains(*name));
    if (is_function) return {*name};
    if (lowerer.declared.lacks_import) throw Abandoned{};
  }
  if (name != nullptr && lowerer.names.find(*name) == nullptr && !lowerer.dimensions().contains(*name)) {
    std::vector<std::string> candidates;
    for (const auto& [other, f] : lowerer.declared.functions) candidates.push_back(other);
    for (const auto& [other, f] : builtins()) candidates.push_back(other);
    lowerer.reports.fail(DiagnosticId::kUndefinedFunction, e.range,
                         "there is no function `" + *name + "`" + did_you_mean(*name, candidates));
  }
  lowerer.reports.fail(DiagnosticId::kTypeMismatch, e.range,
                       "a function is needed here: the name of one, or a lambda such as fn(x) = x * x");
}

InstantiatedCall instantiate(Lowerer& lowerer, const ast::Function& f, const ast::Call& call,
                             const SourceRange& range) {
  const bool is_named = std::ranges::any_of(call.arguments, [](const ast::Argument& a) { return a.name.has_value(); });
  if (takes_values_only(f) && !is_named) {
    require_no_recursion(lowerer, f, {}, range);
    return {&f, &call, arguments_in_order(lowerer, call, f.parameters.size(), f.parameters.size(), range)};
  }
  const std::vector<const ast::Argument*> given = matched(lowerer, f, call, range);
  InstantiatedCall made;
  auto own_call = std::make_shared<ast::Call>(ast::Call{call.callee, {}});
  ast::Function instance{f.name, {}, f.results, f.body};
  Closure closure;
  closure.instance.definition = &f;
  for (std::size_t k = 0; k < given.size(); ++k) {
    const ast::FunctionParameter& p = f.parameters[k];
    if (p.function) closure.instance.functions[p.name.name] = {&*p.function, {}};
    if (given[k] == nullptr) {
      closure.instance.by_default.push_back(&p);
    } else if (p.function) {
      closure.instance.functions[p.name.name].value = function_value(lowerer, *given[k]->value);
    } else if (p.is_literal) {
      closure.instance.literals[p.name.name] =
          literal_argument(lowerer, lowerer.frames.back().instance, p, *given[k]->value);
    } else {
      made.arguments.push_back(lower(lowerer, *given[k]->value));
      instance.parameters.push_back(p);
      own_call->arguments.push_back(*given[k]);
    }
  }
  require_no_recursion(lowerer, f, closure.instance, range);
  bind_types(lowerer, f, instance, made.arguments, closure.instance.types, range);
  made.function = &lowerer.inlining.instances.emplace_back(std::move(instance));
  lowerer.inlining.closures[made.function] = std::move(closure);
  made.call = own_call.get();
  auto& numbers = lowerer.frames.back().numbers;
  if (const auto number = numbers.find(&call); number != numbers.end()) numbers[made.call] = number->second;
  lowerer.inlining.calls_made.push_back(std::move(own_call));
  return made;
}

namespace {

/// Binds the names of a lambda for the duration of its call.
class EnteredLambda {
 public:
  EnteredLambda(Lowerer& lowerer, FunctionValue& value, std::vector<ir::Type> types)
      : closures_(lowerer.inlining.closures), function_(value.lambda) {
    const auto outer = closures_.find(function_);
    if (outer != closures_.end()) saved_ = outer->second;
    Instance instance = lowerer.frames[value.frame].instance;
    instance.by_default.clear();
    closures_[function_] = {std::move(instance), &value, std::move(types)};
  }
  ~EnteredLambda() {
    if (saved_) {
      closures_[function_] = std::move(*saved_);
    } else {
      closures_.erase(function_);
    }
  }
  EnteredLambda(const EnteredLambda&) = delete;
  EnteredLambda& operator=(const EnteredLambda&) = delete;

 private:
  std::map<const ast::Function*, Closure>& closures_;
  const ast::Function* function_;
  std::optional<Closure> saved_;
};

/// Calls a function with a name on values that have been lowered.
std::vector<Tensor> call_by_name(Lowerer& lowerer, const std::string& name, const std::vector<Tensor>& args,
                                 const ast::Call& call, const SourceRange& range) {
  const Names::InScope scope(lowerer.names, lowerer.names.current());
  auto inner = std::make_shared<ast::Call>(ast::Call{{name, call.callee.range}, {}});
  for (std::size_t k = 0; k < args.size(); ++k) {
    const SourceRange& place = call.arguments[k].range;
    const ast::Identifier argument{"#" + std::to_string(k), place};
    const SymbolRef symbol = lowerer.names.declare(argument, Symbol::Kind::kInline);
    symbol->lazy = args[k];
    symbol->used = true;
    ast::Expr e{place, ast::Name{argument.name}};
    inner->arguments.push_back({{}, std::make_shared<const ast::Expr>(std::move(e)), place});
  }
  auto& numbers = lowerer.frames.back().numbers;
  if (const auto number = numbers.find(&call); number != numbers.end()) numbers[inner.get()] = number->second;
  lowerer.inlining.calls_made.push_back(inner);
  return lower_named_tuple_call(lowerer, *inner, range);
}

}  // namespace

std::vector<Tensor> call_argument(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  const std::string& name = call.callee.name;
  FunctionParameterValue argument = lowerer.frames.back().instance.functions.at(name);
  const ast::FunctionType& type = *argument.type;
  const std::size_t count = type.parameters.size();
  const std::vector<Tensor> given = arguments_in_order(lowerer, call, count, count, range);
  // Dimensions that the function type alone names are bound in each call.
  const Restored dimensions(lowerer.frames.back().dimensions);
  const Restored rest(lowerer.frames.back().instance.rest);
  std::vector<Tensor> args;
  std::vector<ir::Type> types;
  for (std::size_t k = 0; k < count; ++k) {
    const ast::Identifier place{name + ", argument " + std::to_string(k + 1), type.parameters[k].range};
    auto [value, fitted_type] = fitted(lowerer, place, type.parameters[k], given[k], call.arguments[k].range);
    args.push_back(std::move(value));
    types.push_back(std::move(fitted_type));
  }
  std::vector<Tensor> results;
  if (argument.value.lambda != nullptr) {
    const ast::Function& lambda = *argument.value.lambda;
    if (lambda.parameters.size() != count)
      lowerer.reports.fail(DiagnosticId::kBadArgument, lambda.name.range,
                           "the lambda has " + counted(lambda.parameters.size(), "parameter") + ", but `" + name +
                               "` is called with " + std::to_string(count),
                           {{type.range, "declared here"}});
    const EnteredLambda entered(lowerer, argument.value, std::move(types));
    results = inline_body(lowerer, lambda, args, call, range, lowerer.names.point_labels());
  } else {
    results = call_by_name(lowerer, argument.value.name, args, call, range);
  }
  if (results.size() != type.results.size())
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, range,
                         "`" + name + "` returns " + counted(type.results.size(), "value") +
                             ", but this function gives " + std::to_string(results.size()),
                         {{type.range, "declared here"}});
  for (std::size_t k = 0; k < results.size(); ++k) {
    const auto bind = [&](const ast::Identifier& dimension, std::size_t d) -> std::optional<ir::Extent> {
      if (results[k].rank() != type.results[k].dimensions.size())
        lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                             "`" + name + "` returns a tensor with " +
                                 counted(type.results[k].dimensions.size(), "dimension") +
                                 ", but this function gives " + lowerer.graph.text(results[k]),
                             {{type.range, "declared here"}});
      lowerer.dimensions()[dimension.name] = {results[k].shape[d].extent, dimension.range, true};
      return results[k].shape[d].extent;
    };
    results[k] = check_result(lowerer, results[k], type.results[k], "`" + name + "`", bind);
  }
  return results;
}

bool has_random_argument(const Lowerer& lowerer, const ast::Function& f) {
  const auto closure = lowerer.inlining.closures.find(&f);
  if (closure == lowerer.inlining.closures.end()) return false;
  const auto called = [&](const ast::Function& in, const std::string& name) { return lowerer.called_in(in, name); };
  return std::ranges::any_of(closure->second.instance.functions, [&](const auto& argument) {
    const FunctionValue& value = argument.second.value;
    const ast::Function* function =
        value.lambda != nullptr ? value.lambda : lowerer.declared.function_named(value.name);
    const bool built_in = value.name == "random" || value.name == "randn" || draws_integers(value.name);
    return function != nullptr ? draws(*function, called) : built_in;
  });
}

}  // namespace tdsl::frontend

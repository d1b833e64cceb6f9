#include "frontend/lower/lowering.h"

#include <algorithm>

#include "frontend/lower/builtins.h"
#include "frontend/lower/functions/captures.h"
#include "frontend/lower/functions/instances.h"
#include "frontend/lower/functions/points.h"
#include "frontend/sema/types.h"
#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

CallNumbers number_calls(const std::function<bool(const std::string&)>& is_function,
                         const std::function<void(const ExprVisitor&)>& each) {
  CallNumbers numbers;
  std::int64_t random_calls = 0;
  std::int64_t integer_calls = 0;
  std::int64_t function_calls = 0;
  each([&](const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    if (call == nullptr) return;
    const std::string& name = call->callee.name;
    if (name == "random" || name == "randn" || name == "sprandom") numbers[call] = random_calls++;
    if (draws_integers(name)) numbers[call] = integer_calls++;
    if (is_function(name)) numbers[call] = function_calls++;
  });
  return numbers;
}

namespace {

CallNumbers number_function(const Declarations& declared, const Instance& instance, const ast::Function& f) {
  const auto is_function = [&](const std::string& name) {
    return declared.functions.contains(name) || instance.functions.contains(name);
  };
  return number_calls(is_function, [&](const ExprVisitor& visit) { for_each_expr(f, visit); });
}

Tensor call_scalar_function(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                            const ast::Call& call, const SourceRange& range) {
  // Applied once to the elements at new index variables over the broadcast shape.
  Tensor shape =
      lowerer.algebra.elementwise(args, Weak::kNo, range, [](const std::vector<Expr>&) { return ir::constant_i64(0); });
  std::vector<Expr> own;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    shape.labels[d] = lowerer.graph.new_label(shape.shape[d].extent);
    own.push_back(ir::index_ref(shape.labels[d]));
  }
  std::vector<Tensor> elements;
  for (const Tensor& a : args) {
    std::vector<Expr> subscripts;
    for (std::size_t d = 0; d < a.rank(); ++d) {
      const std::size_t at = shape.rank() - a.rank() + d;
      const bool stretches = a.shape[d].extent.constant() == 1 && !(shape.shape[at].extent == a.shape[d].extent);
      subscripts.push_back(stretches ? ir::constant_i64(0) : own[at]);
    }
    elements.push_back(scalar_tensor(element(a, subscripts), a.weak));
    elements.back().range = a.range;
  }
  const std::vector<Tensor> results = inline_body(lowerer, f, elements, call, range, shape.labels);
  if (results.size() != 1 || results[0].rank() != 0) {
    lowerer.reports.fail(DiagnosticId::kNotScalar, range,
                         "`" + f.name.name + "` is applied per element, so it must return one scalar");
  }
  lowerer.graph.flush();
  shape.body = results[0].body;
  shape.weak = results[0].weak;
  return shape;
}

}  // namespace

std::vector<Tensor> call_function(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  FunctionEntry& entry = lowerer.declared.functions.at(call.callee.name);
  entry.called = true;
  if (entry.broken) throw Abandoned{};
  constexpr std::size_t kMaxCalls = 20'000;
  if (++lowerer.inlining.calls > kMaxCalls) {
    lowerer.reports.fail(
        DiagnosticId::kNestingTooDeep, range,
        "the program has more than " + std::to_string(kMaxCalls) + " calls of functions when all are put in place");
  }
  const InstantiatedCall made = instantiate(lowerer, *entry.function, call, range);
  const std::size_t errors = lowerer.reports.sink().error_count();
  const auto& parameters = made.function->parameters;
  const bool scalar_function =
      !parameters.empty() && std::ranges::none_of(parameters, [](const auto& p) { return p.type.has_value(); });
  const bool has_tensors = std::ranges::any_of(made.arguments, [](const Tensor& t) { return t.rank() > 0; });
  std::vector<Tensor> results =
      scalar_function && has_tensors
          ? std::vector{call_scalar_function(lowerer, *made.function, made.arguments, *made.call, range)}
          : inline_body(lowerer, *made.function, made.arguments, *made.call, range, lowerer.names.point_labels());
  if (lowerer.reports.sink().error_count() == errors) entry.sound = true;
  return results;
}

namespace {

/// Inlines the body in a branch; the results are 0 if the condition is false.
std::vector<Tensor> call_under(Lowerer& lowerer, const Expr& condition, const ast::Function& f,
                               const std::vector<Tensor>& args, const ast::Call& call, const SourceRange& range) {
  const Restored<Guards> outside(lowerer.guards, lowerer.guards.without_conditions());
  ir::Program& program = lowerer.graph.program();
  ir::If branch;
  branch.condition = lowerer.values.materialise(scalar_tensor(condition), "", range);
  lowerer.guards.enter_branch();
  const auto known = static_cast<std::int32_t>(program.values.size());
  std::vector<ValueId> results;
  {
    const Shapes::InRegion region(lowerer.shapes, branch.then_region);
    for (const Tensor& t : inline_body(lowerer, f, args, call, range, {}))
      branch.then_region.yields.push_back(lowerer.values.materialise(t, "", range));
    lowerer.graph.flush();
  }
  {
    const Shapes::InRegion region(lowerer.shapes, branch.else_region);
    for (const ValueId v : branch.then_region.yields) {
      const ir::Type type = program.type(v);
      for (const ir::Extent& e : type.shape) {
        if (std::ranges::any_of(e.values(), [&](ValueId size) { return size.id >= known; }))
          lowerer.reports.unsupported(range,
                                      "a condition in front of a function whose result has a size of its own is");
      }
      std::vector<Dim> shape;
      for (const ir::Extent& e : type.shape) shape.push_back({e, "", range});
      branch.else_region.yields.push_back(lowerer.values.materialise(
          lowerer.algebra.filled(converted(ir::constant_i64(0), type.scalar), Weak::kNo, shape), "", range, &type));
      results.push_back(program.new_value(type, "", range));
    }
  }
  lowerer.graph.emit_results(std::move(branch), results, range);
  std::vector<Tensor> tensors;
  for (const ValueId v : results) tensors.push_back(lowerer.values.temporary(v, range));
  return tensors;
}

/// True if inlining makes an expression that is too large to be duplicated.
bool is_large_in_place(GrowthFinder& finder, const ast::Function& f, const std::vector<Tensor>& args) {
  // Expressions that double repeatedly exceed any compiler's limits.
  constexpr std::size_t kLarge = 500;
  const Growth& growth = finder.of(f);
  double operations = growth.own;
  for (std::size_t k = 0; k < args.size(); ++k)
    operations += growth.uses[k] * static_cast<double>(operations_of(args[k].body, kLarge));
  return operations > static_cast<double>(kLarge);
}

/// Declares a parameter with this type: an expression of index variables stays one, other values are computed first.
void bind_typed(Lowerer& lowerer, const ast::Identifier& parameter, const Tensor& value, const ir::Type& type,
                const SourceRange& range) {
  if (value.rank() == 0 && (!free_labels(value).empty() || depends_on_operands(value))) {
    lowerer.names.declare(parameter, Symbol::Kind::kInline)->lazy = value;
    return;
  }
  if (const StoredWhole* whole = type.has_sparse() ? nullptr : stored_whole(value)) {
    declare_value(lowerer, parameter, Symbol::Kind::kInput, lowerer.versions.own_value(parameter, whole->value),
                  whole->storage)
        ->used = true;
    return;
  }
  const auto storage = type.has_sparse() ? Values::Storage::kOfType : Values::Storage::kInferred;
  const ValueId made = lowerer.values.materialise(value, parameter.name, range, &type, storage);
  declare_value(lowerer, parameter, Symbol::Kind::kInput, lowerer.versions.own_value(parameter, made))->used = true;
}

void bind_parameter(Lowerer& lowerer, const ast::FunctionParameter& parameter, const Tensor& arg,
                    const SourceRange& range) {
  const std::string& name = parameter.name.name;
  if (!parameter.type) {
    // Derivatives are with respect to variables: an argument that is an expression becomes one.
    const bool number = arg.rank() == 0 && ir::is_float(arg.scalar()) && free_labels(arg).empty();
    if (number && differentiates(*lowerer.frames.back().function)) {
      declare_value(lowerer, parameter.name, Symbol::Kind::kInput,
                    lowerer.versions.own_value(parameter.name, lowerer.values.materialise(arg, name, range)))
          ->used = true;
      return;
    }
    lowerer.names.declare(parameter.name, Symbol::Kind::kInline)->lazy = arg;
    return;
  }
  const auto [value, type] = fitted(lowerer, parameter.name, *parameter.type, arg, range);
  bind_typed(lowerer, parameter.name, value, type, range);
  lowerer.names.find_here(name)->any_rank = has_rest(*parameter.type);
}

/// Binds a parameter without argument to its default, which may mention earlier parameters.
void bind_default(Lowerer& lowerer, const ast::FunctionParameter& parameter) {
  const ast::Expr& value = *parameter.default_value;
  Instance& instance = lowerer.frames.back().instance;
  if (parameter.function) {
    instance.functions[parameter.name.name] = {&*parameter.function, function_value(lowerer, value)};
  } else if (parameter.is_literal) {
    instance.literals[parameter.name.name] = literal_argument(lowerer, instance, parameter, value);
    bind_literal(lowerer, parameter.name, instance.literals[parameter.name.name]);
  } else {
    bind_parameter(lowerer, parameter, lower(lowerer, value), value.range);
  }
}

Tensor lower_returned(Lowerer& lowerer, const ast::ExprPtr& value, const ast::Suffixes& suffixes) {
  const std::vector<ast::Identifier> names = free_subscript_names(*value, [&](const std::string& name) {
    return lowerer.names.find(name) != nullptr || lowerer.dimensions().contains(name);
  });
  if (names.empty()) {
    require_no_suffixes(lowerer.reports, suffixes);
    return lower(lowerer, *value);
  }
  if (lowerer.frames.back().inline_locals)
    lowerer.reports.unsupported(value->range, "index notation in a function applied per element is");
  IndexStatement s;
  const std::size_t outer_guards = lowerer.guards.size();
  const Names::InScope scope(lowerer.names, Scope::Kind::kIndex);
  if (suffixes.loop) {
    for (const ast::IndexRange& r : suffixes.loop->ranges)
      bind_range(lowerer, r.name, r.lower, r.upper, r.step, s.labels);
  }
  for (const ast::Identifier& name : names) {
    if (!lowerer.names.find_here(name.name)) s.labels.push_back(bind_index(lowerer.graph, lowerer.names, name));
    const SymbolRef symbol = lowerer.names.find(name.name);
    if (!symbol->is_label) lowerer.reports.unsupported(name.range, "a free index with a step is");
    s.lone.push_back(symbol->label);
    s.left.push_back(ir::index_ref(symbol->label));
  }
  ast::Definition definition;
  definition.value = value;
  definition.suffixes = suffixes;
  lower_right_side(lowerer, s, definition);
  s.guard = lowerer.guards.take(outer_guards);
  s.result.scalar = s.value.scalar();
  for (const std::int32_t id : s.lone) {
    const LabelInfo& label = lowerer.graph.label(id);
    s.result.shape.push_back(label.bare_uses.empty() ? label.end : label.bare_uses.front().dim.extent);
  }
  const std::string name = lowerer.frames.back().function->name.name;
  // Index variables without a left side are ordered by appearance.
  std::string order;
  for (const ast::Identifier& n : names) order += (order.empty() ? "" : ", ") + n.name;
  return lowerer.values.tensor_of(emit_index_statement(lowerer, s, name, value->range),
                                  "the value over [" + order + "] in " + name, value->range);
}

std::vector<Tensor> lower_return(Lowerer& lowerer, const ast::ExprPtr& value, const ast::Suffixes& suffixes) {
  std::vector<Tensor> results;
  if (const auto* tuple = std::get_if<ast::Tuple>(&value->node)) {
    for (const ast::ExprPtr& e : tuple->elements) results.push_back(lower_returned(lowerer, e, suffixes));
  } else if (const auto* call = tuple_call(lowerer, value); call != nullptr) {
    require_no_suffixes(lowerer.reports, suffixes);
    results = lower_tuple_call(lowerer, *call, value->range);
  } else {
    results.push_back(lower_returned(lowerer, value, suffixes));
  }
  return results;
}

}  // namespace

Tensor check_result(Lowerer& lowerer, const Tensor& t, const ast::TypeExpr& type, const std::string& function,
                    const BindDimension& bind) {
  const ir::Type wanted = lower_type(lowerer, type, bind);
  const Tensor result = lowerer.values.converted_to(t, wanted.scalar, "the result of " + function, t.range);
  lowerer.shapes.require_shape(result, wanted, "the result of " + function, t.range);
  // Like a parameter, a result has the storage of its expression unless the type contains `sparse`.
  return wanted.has_sparse() ? lowerer.values.tensor_of(lowerer.values.materialise(result, "", t.range, &wanted),
                                                        lowerer.reports.source_text(t.range), t.range)
                             : result;
}

namespace {

/// `per_element`: locals become expressions.
std::vector<Tensor> put_in_place(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                 const ast::Call& call, const SourceRange& range,
                                 const std::vector<std::int32_t>& drawn_at, bool per_element) {
  const auto number = lowerer.frames.back().numbers.find(&call);
  const auto found = lowerer.inlining.closures.find(&f);
  const Closure closure = found == lowerer.inlining.closures.end() ? Closure{} : found->second;
  Frame frame;
  frame.function = &f;
  frame.around = lowerer.frames.size() - 1;
  frame.instance = closure.instance;
  if (closure.lambda != nullptr) {
    frame.around = closure.lambda->frame;
    frame.dimensions = lowerer.frames[frame.around].dimensions;
  } else {
    frame.entry = &lowerer.declared.functions.at(f.name.name);
  }
  frame.call = range;
  frame.chain = lowerer.frames.back().chain + f.name.name + ":" +
                std::to_string(number == lowerer.frames.back().numbers.end() ? 0 : number->second) + "/";
  frame.numbers = number_function(lowerer.declared, frame.instance, f);
  frame.points = drawn_at;
  frame.inline_locals = per_element;
  for (std::size_t k = args.size(); k-- > 0 && closure.lambda == nullptr;) {
    if (!f.parameters[k].type && args[k].rank() > 0) frame.tensor = f.parameters[k].name.name;
  }
  // Restores frame and scope also after an error, which abandons only the calling statement.
  std::optional<Names::InScope> scope;
  if (closure.lambda != nullptr) {
    scope.emplace(lowerer.names, *closure.lambda->scope);
  } else {
    scope.emplace(lowerer.names, Scope::Kind::kFunction);
    lowerer.names.current().sees_params = !lowerer.modules.is_library(f.name.range.file);
  }
  const EnteredFrame entered(lowerer.frames, std::move(frame));
  for (const ast::FunctionParameter& p : literal_parameters(closure)) {
    if (closure.instance.literals.contains(p.name.name))
      bind_literal(lowerer, p.name, closure.instance.literals.at(p.name.name));
  }
  bind_late_dimensions(lowerer, f, args);
  for (std::size_t k = 0; k < args.size(); ++k) {
    if (!f.parameters[k].type && k < closure.types.size()) {
      bind_typed(lowerer, f.parameters[k].name, args[k], closure.types[k], call.arguments[k].range);
    } else {
      bind_parameter(lowerer, f.parameters[k], args[k], call.arguments[k].range);
    }
  }
  for (const ast::FunctionParameter* p : closure.instance.by_default) bind_default(lowerer, *p);
  std::vector<Tensor> results;
  if (const auto* e = std::get_if<ast::ExprPtr>(&f.body)) {
    results = lower_return(lowerer, *e, {});
  } else {
    const auto& block = std::get<ast::Block>(f.body);
    const ast::Return* last =
        block.statements.empty() ? nullptr : std::get_if<ast::Return>(&block.statements.back()->node);
    TDSL_CHECK(last != nullptr, "the body of a function that is called ends in return");
    for (std::size_t k = 0; k + 1 < block.statements.size(); ++k) dispatch(lowerer, *block.statements[k]);
    results = lower_return(lowerer, last->value, last->suffixes);
  }
  if (f.results.empty()) return results;
  if (f.results.size() != results.size()) {
    lowerer.reports.fail(DiagnosticId::kTypeMismatch, f.name.range,
                         "`" + f.name.name + "` declares " + counted(f.results.size(), "result") + ", but returns " +
                             std::to_string(results.size()));
  }
  for (std::size_t k = 0; k < results.size(); ++k)
    results[k] =
        check_result(lowerer, results[k], f.results[k], "`" + f.name.name + "`", bind_found(lowerer, results[k]));
  return results;
}

}  // namespace

std::vector<Tensor> inline_body(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                const ast::Call& call, const SourceRange& range,
                                const std::vector<std::int32_t>& points) {
  const bool of_scalars = std::ranges::all_of(args, [](const Tensor& t) { return t.rank() == 0; });
  const auto called = [&](const ast::Function& in, const std::string& name) { return lowerer.called_in(in, name); };
  // Random numbers are drawn per element even if no argument depends on the element.
  const bool is_random = draws(f, called) || has_random_argument(lowerer, f);
  const std::vector<std::int32_t> drawn_at =
      !points.empty() && of_scalars && is_random ? points : std::vector<std::int32_t>();
  const bool captures = !captures_of(lowerer, f).empty();
  const bool per_element = !drawn_at.empty() || captures || std::ranges::any_of(args, [](const Tensor& t) {
    return !free_labels(t).empty() || depends_on_operands(t);
  });
  if (per_element && runs_statements(f, called)) return {call_at_points(lowerer, f, args, call, range, drawn_at)};
  if (!lowerer.guards.empty() && runs_statements(f, called)) {
    // The guard of the call guards its statements: they run only if the value is needed.
    const Expr guard = lowerer.guards.all();
    if (labels_of(guard).empty()) return call_under(lowerer, guard, f, args, call, range);
    if (of_scalars) return {call_at_points(lowerer, f, args, call, range, drawn_at)};
  }
  const bool grows = of_scalars && drawn_at.empty() && is_large_in_place(lowerer.inlining.growth, f, args);
  if (grows && (per_element || !lowerer.guards.empty())) {
    if (const auto shared = call_as_procedure(lowerer, f, args, call, range)) return {*shared};
  }
  std::vector<Tensor> results = put_in_place(lowerer, f, args, call, range, drawn_at, per_element);
  if (grows && !per_element && lowerer.guards.empty() && results.size() == 1 && results[0].rank() == 0)
    results = {lowerer.values.tensor_of(lowerer.values.materialise(results[0], "", range),
                                        lowerer.reports.source_text(range), range)};
  return results;
}

namespace {

/// Binds `...` to the dimensions of the argument that the type does not name, if it is not bound yet.
void bind_rest(Lowerer& lowerer, const ast::TypeExpr& written, const Tensor& arg) {
  auto& rest = lowerer.frames.back().instance.rest;
  const std::size_t named = written.dimensions.size() - 1;
  if (rest || arg.rank() < named) return;
  const auto at = std::ranges::find_if(written.dimensions, [](const ast::Dimension& d) { return !d.extent; });
  const std::size_t first = static_cast<std::size_t>(at - written.dimensions.begin());
  rest.emplace();
  for (std::size_t d = first; d < first + arg.rank() - named; ++d) rest->push_back(arg.shape[d].extent);
}

}  // namespace

std::pair<Tensor, ir::Type> fitted(Lowerer& lowerer, const ast::Identifier& parameter, const ast::TypeExpr& written,
                                   const Tensor& arg, const SourceRange& range) {
  const std::string& name = parameter.name;
  const bool any_rank = has_rest(written);
  if (any_rank) bind_rest(lowerer, written, arg);
  const std::size_t named = written.dimensions.size() - (any_rank ? 1 : 0);
  if (any_rank ? arg.rank() < named : arg.rank() != named) {
    lowerer.reports.fail(DiagnosticId::kRankMismatch, range,
                         "the parameter `" + name + "` has " + (any_rank ? "at least " : "") +
                             counted(named, "dimension") + ", but the argument is " + lowerer.graph.text(arg) +
                             (written.dimensions.empty() ? "; without types a function applies to each element" : ""),
                         {{parameter.range, "declared here"}});
  }
  const ir::Type type =
      lower_type(lowerer, written, [&](const ast::Identifier& dimension, std::size_t d) -> std::optional<ir::Extent> {
        lowerer.dimensions()[dimension.name] = {arg.shape[d].extent, dimension.range, true};
        return arg.shape[d].extent;
      });
  Tensor value = lowerer.values.converted_to(arg, type.scalar, "the parameter `" + name + "`", range);
  lowerer.shapes.require_shape(value, type, "the parameter `" + name + "`", range);
  return {std::move(value), type};
}

const ast::Call* tuple_call(const Lowerer& lowerer, const ast::ExprPtr& value) {
  const auto* call = std::get_if<ast::Call>(&value->node);
  if (call == nullptr) return nullptr;
  const Declarations& declared = lowerer.declared;
  const auto& arguments = lowerer.frames.back().instance.functions;
  if (const auto argument = arguments.find(call->callee.name); argument != arguments.end())
    return argument->second.type->results.size() > 1 ? call : nullptr;
  if (const auto foreign = declared.foreigns.find(call->callee.name); foreign != declared.foreigns.end())
    return foreign->second.kernel != nullptr && foreign->second.kernel->results.size() > 1 ? call : nullptr;
  const auto function = declared.functions.find(call->callee.name);
  const bool several = function == declared.functions.end() ? builtin<Several*>(call->callee.name) != nullptr
                                                            : function->second.function->results.size() > 1;
  return several ? call : nullptr;
}

std::vector<Tensor> lower_tuple_call(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (lowerer.frames.back().instance.functions.contains(call.callee.name)) return call_argument(lowerer, call, range);
  return lower_named_tuple_call(lowerer, call, range);
}

std::vector<Tensor> lower_named_tuple_call(Lowerer& lowerer, const ast::Call& call, const SourceRange& range) {
  if (lowerer.declared.functions.contains(call.callee.name)) return call_function(lowerer, call, range);
  if (const auto foreign = lowerer.declared.foreigns.find(call.callee.name); foreign != lowerer.declared.foreigns.end())
    return call_foreign_kernel(lowerer, foreign->second, call, range);
  if (const auto* several = builtin<Several*>(call.callee.name)) return (**several)(lowerer, call, range);
  return {lower_named_call(lowerer, call, range)};
}

}  // namespace tdsl::frontend

#include <algorithm>

#include "frontend/lower/index_statement.h"
#include "frontend/lower/points.h"
#include "frontend/sema/walk.h"
#include "ir/graph/check.h"

namespace tdsl::frontend {

using ir::Expr;
using ir::Scalar;
using ir::ValueId;

CallNumbers Lowerer::number_calls(const std::function<void(const ExprVisitor&)>& each) const {
  CallNumbers numbers;
  std::int64_t random_calls = 0;
  std::int64_t function_calls = 0;
  each([&](const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    if (call == nullptr) return;
    const std::string& name = call->callee.name;
    if (name == "random" || name == "randn" || name == "sprandom") numbers[call] = random_calls++;
    if (declared_.functions.contains(name)) numbers[call] = function_calls++;
  });
  return numbers;
}

CallNumbers Lowerer::number_function(const ast::Function& f) const {
  return number_calls([&](const ExprVisitor& visit) { for_each_expr(f, visit); });
}

namespace {

/// How deep expressions and blocks of the function nest.
std::uint32_t depth_of_body(const ast::Function& f) {
  if (const auto* e = std::get_if<ast::ExprPtr>(&f.body)) return (*e)->depth;
  std::uint32_t deepest = 0;
  for (const ast::StmtPtr& s : std::get<ast::Block>(f.body).statements) deepest = std::max(deepest, s->depth);
  return deepest;
}

/// A function on the way from the first one through calls, with its callees that are still to be looked at.
struct Called {
  const ast::Function* function = nullptr;
  std::vector<const ast::Function*> callees;
  std::uint32_t own = 0;
  std::uint32_t below = 0;  ///< the deepest callee so far
};

}  // namespace

bool Lowerer::calls_fit() {
  // Without recursion: what it is about is that recursion over calls needs a limit.
  std::map<const ast::Function*, std::uint32_t> depths;
  std::set<const ast::Function*> entered;
  for (const auto& [name, entry] : declared_.functions) {
    std::vector<Called> way;
    std::uint32_t depth = 0;
    const auto enter = [&](const ast::Function* f) {
      if (!entered.insert(f).second) return;  // known, or on the way: recursion is found at the call
      Called called{f, {}, depth_of_body(*f), 0};
      for_each_expr(*f, [&](const ast::Expr& e) {
        const auto* call = std::get_if<ast::Call>(&e.node);
        if (const ast::Function* callee = call == nullptr ? nullptr : declared_.function_named(call->callee.name))
          called.callees.push_back(callee);
      });
      depth += called.own;
      way.push_back(std::move(called));
    };
    enter(entry.function);
    while (!way.empty()) {
      Called& last = way.back();
      const ast::Function* callee = last.callees.empty() ? nullptr : last.callees.back();
      const auto known = depths.find(callee);
      const std::uint32_t whole = depth + (known == depths.end() ? 0 : known->second);
      if (whole > ast::kMaxDepth) {
        const ast::Identifier& first = way.front().function->name;
        reports_.error(DiagnosticId::kNestingTooDeep, first.range,
                       "`" + first.name + "` calls functions that call others, with their expressions more than " +
                           std::to_string(ast::kMaxDepth) + " deep");
        return false;
      }
      if (callee != nullptr) {
        last.below = std::max(last.below, known == depths.end() ? 0 : known->second);
        last.callees.pop_back();
        const std::size_t before = way.size();
        enter(callee);
        if (way.size() > before) way[before - 1].callees.push_back(callee);  // looked at again when it is known
        continue;
      }
      depth -= last.own;
      const std::uint32_t here = last.own + last.below;
      depths.emplace(last.function, here);
      way.pop_back();
    }
  }
  return true;
}

std::vector<Tensor> Lowerer::call_function(const ast::Call& call, const SourceRange& range) {
  FunctionEntry& entry = declared_.functions.at(call.callee.name);
  const ast::Function& f = *entry.function;
  entry.called = true;
  if (entry.broken) throw Abandoned{};
  for (const Frame& frame : frames_) {
    if (frame.function == &f)
      reports_.fail(DiagnosticId::kRecursion, range, "`" + f.name.name + "` calls itself; functions cannot recurse");
  }
  constexpr std::size_t kMaxCalls = 20'000;
  if (++inlined_calls_ > kMaxCalls) {
    reports_.fail(
        DiagnosticId::kNestingTooDeep, range,
        "the program has more than " + std::to_string(kMaxCalls) + " calls of functions when all are put in place");
  }
  const std::vector<Tensor> args = positional(call, f.parameters.size(), f.parameters.size(), range);
  const std::size_t errors = sink_.error_count();
  const bool scalar_function =
      !f.parameters.empty() && std::ranges::none_of(f.parameters, [](const auto& p) { return p.type.has_value(); });
  const bool has_tensors = std::ranges::any_of(args, [](const Tensor& t) { return t.rank() > 0; });
  std::vector<Tensor> results = scalar_function && has_tensors
                                    ? std::vector{call_scalar_function(f, args, call, range)}
                                    : inline_body(f, args, call, range, names_.point_labels());
  if (sink_.error_count() == errors) entry.sound = true;
  return results;
}

Tensor Lowerer::call_scalar_function(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                                     const SourceRange& range) {
  // Applied once to the elements at index variables of its own, whose ranges are the broadcast shape's.
  Tensor shape = elementwise(args, Weak::kNo, range, [](const std::vector<Expr>&) { return ir::constant_i64(0); });
  std::vector<Expr> own;
  for (std::size_t d = 0; d < shape.rank(); ++d) {
    shape.labels[d] = graph_.new_label(shape.shape[d].extent);
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
  const std::vector<Tensor> results = inline_body(f, elements, call, range, shape.labels);
  if (results.size() != 1 || results[0].rank() != 0) {
    reports_.fail(DiagnosticId::kNotScalar, range,
                  "`" + f.name.name + "` is applied per element, so it must return one scalar");
  }
  graph_.flush();
  shape.body = results[0].body;
  shape.weak = results[0].weak;
  return shape;
}

std::vector<Tensor> Lowerer::call_under(const Expr& condition, const ast::Function& f, const std::vector<Tensor>& args,
                                        const ast::Call& call, const SourceRange& range) {
  const Restored<Guards> outside(guards_, guards_.without_conditions());
  ir::Program& program = graph_.program();
  ir::If branch;
  branch.condition = values_.materialise(scalar_tensor(condition), "", range);
  guards_.enter_branch();
  const auto known = static_cast<std::int32_t>(program.values.size());
  std::vector<ValueId> results;
  {
    const Shapes::InRegion region(shapes_, branch.then_region);
    for (const Tensor& t : inline_body(f, args, call, range, {}))
      branch.then_region.yields.push_back(values_.materialise(t, "", range));
    graph_.flush();
  }
  {
    const Shapes::InRegion region(shapes_, branch.else_region);
    for (const ValueId v : branch.then_region.yields) {
      const ir::Type type = program.type(v);
      for (const ir::Extent& e : type.shape) {
        if (std::ranges::any_of(e.values(), [&](ValueId size) { return size.id >= known; }))
          reports_.unsupported(range, "a condition in front of a function whose result has a size of its own is");
      }
      std::vector<Dim> shape;
      for (const ir::Extent& e : type.shape) shape.push_back({e, "", range});
      branch.else_region.yields.push_back(
          values_.materialise(filled(converted(ir::constant_i64(0), type.scalar), Weak::kNo, shape), "", range, &type));
      results.push_back(program.new_value(type, "", range));
    }
  }
  graph_.emit_results(std::move(branch), results, range);
  std::vector<Tensor> tensors;
  for (const ValueId v : results) tensors.push_back(values_.temporary(v, range));
  return tensors;
}

std::vector<Tensor> Lowerer::inline_body(const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                                         const SourceRange& range, const std::vector<std::int32_t>& points) {
  const bool of_scalars = std::ranges::all_of(args, [](const Tensor& t) { return t.rank() == 0; });
  const auto called = [this](const std::string& name) { return declared_.function_named(name); };
  // Without an argument that depends on the element, random numbers are still the element's own.
  const std::vector<std::int32_t> drawn_at =
      !points.empty() && of_scalars && draws(f, called) ? points : std::vector<std::int32_t>();
  const bool per_element = !drawn_at.empty() || std::ranges::any_of(args, [](const Tensor& t) {
    return !free_labels(t).empty() || depends_on_operands(t);
  });
  if (per_element && runs_statements(f)) return {call_at_points(f, args, call, range, drawn_at)};
  if (!guards_.empty() && runs_statements(f)) {
    // What protects the call protects the statements: they run where the value is needed and nowhere else.
    const Expr guard = guards_.all();
    if (labels_of(guard).empty()) return call_under(guard, f, args, call, range);
    if (of_scalars) return {call_at_points(f, args, call, range, drawn_at)};
  }
  const bool grows = of_scalars && drawn_at.empty() && is_large_in_place(f, args);
  if (grows && (per_element || !guards_.empty())) {
    if (const auto shared = call_as_procedure(f, args, call, range)) return {*shared};
  }
  std::vector<Tensor> results = put_in_place(f, args, call, range, drawn_at, per_element);
  if (grows && !per_element && guards_.empty() && results.size() == 1 && results[0].rank() == 0)
    results = {values_.tensor_of(values_.materialise(results[0], "", range), reports_.source_text(range), range)};
  return results;
}

bool Lowerer::is_large_in_place(const ast::Function& f, const std::vector<Tensor>& args) {
  // Doubled again and again, an expression outgrows every compiler.
  constexpr std::size_t kLarge = 500;
  const Growth& growth = growth_.of(f);
  double operations = growth.own;
  for (std::size_t k = 0; k < args.size(); ++k)
    operations += growth.uses[k] * static_cast<double>(operations_of(args[k].body, kLarge));
  return operations > static_cast<double>(kLarge);
}

std::vector<Tensor> Lowerer::put_in_place(const ast::Function& f, const std::vector<Tensor>& args,
                                          const ast::Call& call, const SourceRange& range,
                                          const std::vector<std::int32_t>& drawn_at, bool per_element) {
  const auto number = frames_.back().numbers.find(&call);
  Frame frame;
  frame.function = &f;
  frame.entry = &declared_.functions.at(f.name.name);
  frame.call = range;
  frame.chain = frames_.back().chain + f.name.name + ":" +
                std::to_string(number == frames_.back().numbers.end() ? 0 : number->second) + "/";
  frame.numbers = number_function(f);
  frame.points = drawn_at;
  frame.inline_locals = per_element;
  for (std::size_t k = args.size(); k-- > 0;) {
    if (!f.parameters[k].type && args[k].rank() > 0) frame.tensor = f.parameters[k].name.name;
  }
  // Frame and scope are left in any case: an error in the body gives up the calling statement only.
  const Names::InScope scope(names_, Scope::Kind::kFunction);
  const EnteredFrame entered(frames_, std::move(frame));
  for (std::size_t k = 0; k < args.size(); ++k) bind_parameter(f.parameters[k], args[k], call.arguments[k].range);
  std::vector<Tensor> results;
  if (const auto* e = std::get_if<ast::ExprPtr>(&f.body)) {
    results = lower_return(*e, {});
  } else {
    const auto& block = std::get<ast::Block>(f.body);
    const ast::Return* last =
        block.statements.empty() ? nullptr : std::get_if<ast::Return>(&block.statements.back()->node);
    TDSL_CHECK(last != nullptr, "the body of a function that is called ends in return");
    for (std::size_t k = 0; k + 1 < block.statements.size(); ++k) dispatch(*block.statements[k]);
    results = lower_return(last->value, last->suffixes);
  }
  if (f.results.empty()) return results;
  if (f.results.size() != results.size()) {
    reports_.fail(DiagnosticId::kTypeMismatch, f.name.range,
                  "`" + f.name.name + "` declares " + counted(f.results.size(), "result") + ", but returns " +
                      std::to_string(results.size()));
  }
  for (std::size_t k = 0; k < results.size(); ++k) results[k] = check_result(results[k], f.results[k], f);
  return results;
}

namespace {

/// Calls `f` on every `return` inside the blocks of a statement.
void for_each_inner_return(const ast::Stmt& s, const std::function<void(const ast::Stmt&)>& f) {
  const auto block = [&](const ast::Block& b) {
    for (const ast::StmtPtr& inner : b.statements) {
      if (std::holds_alternative<ast::Return>(inner->node)) f(*inner);
      for_each_inner_return(*inner, f);
    }
  };
  if (const auto* loop = std::get_if<ast::For>(&s.node)) block(loop->body);
  if (const auto* loop = std::get_if<ast::While>(&s.node)) block(loop->body);
  const auto* branch = std::get_if<ast::If>(&s.node);
  if (branch == nullptr) return;
  for (const ast::IfArm& arm : branch->arms) block(arm.body);
  if (branch->else_body) block(*branch->else_body);
}

}  // namespace

bool Lowerer::check_returns(const ast::Function& f) {
  const auto* block = std::get_if<ast::Block>(&f.body);
  if (block == nullptr) return true;
  const std::size_t errors = sink_.error_count();
  bool returns = false;
  bool inner_returns = false;
  for (const ast::StmtPtr& s : block->statements) {
    if (returns) {
      reports_.error(DiagnosticId::kMissingReturn, s->range,
                     "nothing can follow `return`, which comes last in a function");
      break;
    }
    returns = std::holds_alternative<ast::Return>(s->node);
    for_each_inner_return(*s, [&](const ast::Stmt& inner) {
      reports_.error(
          DiagnosticId::kMissingReturn, inner.range,
          "`return` stands at the end of a function's body only; choose the value with `if c then a else b`");
      inner_returns = true;
    });
  }
  if (!returns && !inner_returns)
    reports_.error(DiagnosticId::kMissingReturn, f.name.range,
                   "the body of `" + f.name.name + "` must end in `return`");
  return errors == sink_.error_count();
}

std::pair<Tensor, ir::Type> Lowerer::fitted(const ast::Identifier& parameter, const ast::TypeExpr& written,
                                            const Tensor& arg, const SourceRange& range) {
  const std::string& name = parameter.name;
  if (written.dimensions.size() != arg.rank()) {
    reports_.fail(DiagnosticId::kRankMismatch, range,
                  "the parameter `" + name + "` has " + counted(written.dimensions.size(), "dimension") +
                      ", but the argument is " + graph_.text(arg) +
                      (written.dimensions.empty() ? "; without types a function applies to each element" : ""),
                  {{parameter.range, "declared here"}});
  }
  const ir::Type type =
      lower_type(written, [&](const ast::Identifier& dimension, std::size_t d) -> std::optional<ir::Extent> {
        dimensions()[dimension.name] = {arg.shape[d].extent, dimension.range, true};
        return arg.shape[d].extent;
      });
  Tensor value = values_.converted_to(arg, type.scalar, "the parameter `" + name + "`", range);
  shapes_.require_shape(value, type, "the parameter `" + name + "`", range);
  return {std::move(value), type};
}

void Lowerer::bind_parameter(const ast::FunctionParameter& parameter, const Tensor& arg, const SourceRange& range) {
  const std::string& name = parameter.name.name;
  if (!parameter.type) {
    // Derivatives are by variables: an argument that is an expression becomes one.
    const bool number = arg.rank() == 0 && ir::is_float(arg.scalar()) && free_labels(arg).empty();
    if (number && differentiates(*frames_.back().function)) {
      declare_value(parameter.name, Symbol::Kind::kInput,
                    versions_.own_value(parameter.name, values_.materialise(arg, name, range)))
          ->used = true;
      return;
    }
    names_.declare(parameter.name, Symbol::Kind::kInline)->lazy = arg;
    return;
  }
  const auto [value, type] = fitted(parameter.name, *parameter.type, arg, range);
  if (value.rank() == 0 && (!free_labels(value).empty() || depends_on_operands(value))) {
    names_.declare(parameter.name, Symbol::Kind::kInline)->lazy = value;
    return;
  }
  if (const StoredWhole* whole = type.has_sparse() ? nullptr : stored_whole(value)) {
    declare_value(parameter.name, Symbol::Kind::kInput, versions_.own_value(parameter.name, whole->value),
                  whole->storage)
        ->used = true;
    return;
  }
  const auto storage = type.has_sparse() ? Values::Storage::kOfType : Values::Storage::kInferred;
  declare_value(parameter.name, Symbol::Kind::kInput,
                versions_.own_value(parameter.name, values_.materialise(value, name, range, &type, storage)))
      ->used = true;
}

const ast::Call* Lowerer::tuple_call(const ast::ExprPtr& value) const {
  const auto* call = std::get_if<ast::Call>(&value->node);
  if (call == nullptr) return nullptr;
  if (const auto foreign = declared_.foreigns.find(call->callee.name); foreign != declared_.foreigns.end())
    return foreign->second.kernel != nullptr && foreign->second.kernel->results.size() > 1 ? call : nullptr;
  const auto function = declared_.functions.find(call->callee.name);
  const bool several = function == declared_.functions.end() ? tuple_builtins().contains(call->callee.name)
                                                             : function->second.function->results.size() > 1;
  return several ? call : nullptr;
}

std::vector<Tensor> Lowerer::lower_tuple_call(const ast::Call& call, const SourceRange& range) {
  if (declared_.functions.contains(call.callee.name)) return call_function(call, range);
  if (const auto foreign = declared_.foreigns.find(call.callee.name); foreign != declared_.foreigns.end())
    return call_foreign_kernel(foreign->second, call, range);
  return (this->*tuple_builtins().at(call.callee.name))(call, range);
}

std::vector<Tensor> Lowerer::lower_return(const ast::ExprPtr& value, const ast::Suffixes& suffixes) {
  std::vector<Tensor> results;
  if (const auto* tuple = std::get_if<ast::Tuple>(&value->node)) {
    for (const ast::ExprPtr& e : tuple->elements) results.push_back(lower_returned(e, suffixes));
  } else if (const auto* call = tuple_call(value); call != nullptr) {
    require_no_suffixes(suffixes);
    results = lower_tuple_call(*call, value->range);
  } else {
    results.push_back(lower_returned(value, suffixes));
  }
  return results;
}

Tensor Lowerer::lower_returned(const ast::ExprPtr& value, const ast::Suffixes& suffixes) {
  const std::vector<ast::Identifier> names = free_subscript_names(
      *value, [this](const std::string& name) { return names_.find(name) != nullptr || dimensions().contains(name); });
  if (names.empty()) {
    require_no_suffixes(suffixes);
    return lower(*value);
  }
  if (frames_.back().inline_locals)
    reports_.unsupported(value->range, "index notation in a function applied per element is");
  IndexStatement s;
  const std::size_t outer_guards = guards_.size();
  const Names::InScope scope(names_, Scope::Kind::kIndex);
  if (suffixes.loop) {
    for (const ast::IndexRange& r : suffixes.loop->ranges) bind_range(r.name, r.lower, r.upper, r.step, s.labels);
  }
  for (const ast::Identifier& name : names) {
    if (!names_.find_here(name.name)) s.labels.push_back(bind_index(name));
    const SymbolRef symbol = names_.find(name.name);
    if (!symbol->is_label) reports_.unsupported(name.range, "a free index with a step is");
    s.lone.push_back(symbol->label);
    s.left.push_back(ir::index_ref(symbol->label));
  }
  ast::Definition definition;
  definition.value = value;
  definition.suffixes = suffixes;
  lower_right_side(s, definition);
  s.guard = guards_.take(outer_guards);
  s.result.scalar = s.value.scalar();
  for (const std::int32_t id : s.lone) {
    const LabelInfo& label = graph_.label(id);
    s.result.shape.push_back(label.bare_uses.empty() ? label.end : label.bare_uses.front().dim.extent);
  }
  const std::string name = frames_.back().function->name.name;
  // Index variables that no left side orders come in the order in which they appear.
  std::string order;
  for (const ast::Identifier& n : names) order += (order.empty() ? "" : ", ") + n.name;
  return values_.tensor_of(emit_index_statement(s, name, value->range), "the value over [" + order + "] in " + name,
                           value->range);
}

Tensor Lowerer::check_result(const Tensor& t, const ast::TypeExpr& type, const ast::Function& f) {
  const ir::Type wanted = lower_type(type);
  const Tensor result = values_.converted_to(t, wanted.scalar, "the result of `" + f.name.name + "`", t.range);
  shapes_.require_shape(result, wanted, "the result of `" + f.name.name + "`", t.range);
  // As a parameter, a result has the storage of its expression unless the type says `sparse`.
  return wanted.has_sparse() ? values_.tensor_of(values_.materialise(result, "", t.range, &wanted),
                                                 reports_.source_text(t.range), t.range)
                             : result;
}

void Lowerer::check_uncalled() {
  if (declared_.lacks_import) return;
  for (const auto& [name, entry] : declared_.functions) {
    if (entry.called) continue;
    const std::set<std::string> names = names_of(*entry.function);
    for_each_expr(*entry.function, [&](const ast::Expr& e) {
      const std::string* used = bare_name(e);
      const SymbolRef global = used == nullptr ? nullptr : names_.find_global(*used);
      const bool is_param = global && global->kind == Symbol::Kind::kParam;
      if (is_param) global->used = true;
      if (used != nullptr && !names.contains(*used) && !is_param) {
        reports_.error(DiagnosticId::kUndefinedName, e.range,
                       "`" + *used + "` is not declared" +
                           did_you_mean(*used, std::vector<std::string>(names.begin(), names.end())));
      }
      const auto* call = std::get_if<ast::Call>(&e.node);
      if (call == nullptr) return;
      const std::string& callee = call->callee.name;
      if (declared_.functions.contains(callee) || declared_.monoids.contains(callee) ||
          declared_.refused.contains(callee) || declared_.foreigns.contains(callee) || is_builtin(callee))
        return;
      reports_.error(DiagnosticId::kUndefinedFunction, call->callee.range, "there is no function `" + callee + "`");
    });
  }
}

}  // namespace tdsl::frontend

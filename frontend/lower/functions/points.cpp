#include "frontend/lower/functions/points.h"

#include <algorithm>
#include <set>
#include <utility>

#include "frontend/lower/functions/captures.h"
#include "frontend/lower/lowering.h"
#include "frontend/sema/walk.h"
#include "ir/differentiate/compute.h"
#include "ir/graph/procedure.h"

namespace tdsl::frontend {

std::vector<std::int32_t> free_labels(const Tensor& t) {
  std::vector<std::int32_t> free = labels_of(t.body);
  std::erase_if(free, [&](std::int32_t id) { return std::ranges::find(t.labels, id) != t.labels.end(); });
  return free;
}

bool depends_on_operands(const Tensor& t) {
  return ir::any_node(t.body, [](const ir::ExprNode& n) { return std::holds_alternative<ir::Argument>(n.op); });
}

namespace {

bool calls_any(const ast::Function& f, const std::set<std::string>& names) {
  bool found = false;
  for_each_expr(f, [&](const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    found = found || (call != nullptr && names.contains(call->callee.name));
  });
  return found;
}

/// `randn(3)`: drawn anew for every element.
bool draws_tensors(const ast::Function& f, const FunctionOfName& called) {
  bool found = false;
  for_each_expr(f, [&](const ast::Expr& e) {
    const auto* call = std::get_if<ast::Call>(&e.node);
    if (call == nullptr || !draws_afresh(*call) || called(f, call->callee.name) != nullptr) return;
    const std::size_t bounds = call->callee.name == "randint" ? 2 : 0;
    found = found || call->arguments.size() > bounds;
  });
  return found;
}

/// The scalars of the function that may depend on the element: parameters of rank 0 and locals.
std::set<std::string> scalars_of(const ast::Function& f) {
  std::set<std::string> names;
  for (const ast::FunctionParameter& p : f.parameters) {
    if (!p.type || p.type->dimensions.empty()) names.insert(p.name.name);
  }
  if (const auto* block = std::get_if<ast::Block>(&f.body)) {
    for (const ast::StmtPtr& s : block->statements) {
      if (const auto* let = std::get_if<ast::Let>(&s->node)) names.insert(let->target.name.name);
    }
  }
  return names;
}

/// `A[i, :]`, `t[0:k]` with i and k that may depend on the element: such slices are taken per element.
bool slices_by_element(const ast::Function& f) {
  const std::set<std::string> scalars = scalars_of(f);
  bool found = false;
  const auto look = [&](const ast::ExprPtr& e) {
    if (e)
      for_each_expr(*e, [&](const ast::Expr& part) {
        const std::string* name = bare_name(part);
        found = found || (name != nullptr && scalars.contains(*name));
      });
  };
  for_each_expr(f, [&](const ast::Expr& e) {
    const auto* s = std::get_if<ast::Subscript>(&e.node);
    const auto is_slice = [](const ast::SubscriptItem& item) {
      return std::holds_alternative<ast::SliceSubscript>(item.node);
    };
    if (s == nullptr || std::ranges::none_of(s->items, is_slice)) return;
    for (const ast::SubscriptItem& item : s->items) {
      ir::match(
          item.node, [&](const ast::IndexSubscript& i) { look(i.value); }, [](const ast::EllipsisSubscript&) {},
          [&](const ast::SliceSubscript& slice) {
            look(slice.start);
            look(slice.stop);
          });
    }
  });
  return found;
}

}  // namespace

bool differentiates(const ast::Function& f) { return calls_any(f, {"grad"}); }

bool draws_integers(const std::string& name) { return name == "randint" || name == "permutation"; }

bool draws_afresh(const ast::Call& call) {
  const std::string& name = call.callee.name;
  return (name == "random" || name == "randn" || draws_integers(name)) && named_argument(call, "key") == nullptr;
}

bool draws(const ast::Function& f, const FunctionOfName& called) {
  std::vector<const ast::Function*> reached = {&f};
  for (std::size_t k = 0; k < reached.size(); ++k) {
    bool found = false;
    for_each_expr(*reached[k], [&](const ast::Expr& e) {
      const auto* call = std::get_if<ast::Call>(&e.node);
      const ast::Function* other = call == nullptr ? nullptr : called(*reached[k], call->callee.name);
      found = found || (call != nullptr && other == nullptr && draws_afresh(*call));
      if (other != nullptr && std::ranges::find(reached, other) == reached.end()) reached.push_back(other);
    });
    if (found) return true;
  }
  return false;
}

bool is_arithmetic(const ast::Function& f, const FunctionOfName& called,
                   const std::function<bool(const ast::Call&)>& is_operation) {
  std::vector<const ast::Function*> reached = {&f};
  bool only = true;
  for (std::size_t k = 0; only && k < reached.size(); ++k) {
    only = !runs_statements(*reached[k], called);
    for_each_expr(*reached[k], [&](const ast::Expr& e) {
      const bool other =
          std::holds_alternative<ast::Subscript>(e.node) || std::holds_alternative<ast::Reduction>(e.node) ||
          std::holds_alternative<ast::ArrayLiteral>(e.node) || std::holds_alternative<ast::Transpose>(e.node) ||
          std::holds_alternative<ast::Tuple>(e.node) || std::holds_alternative<ast::StringLiteral>(e.node);
      const auto* call = std::get_if<ast::Call>(&e.node);
      const ast::Function* function = call == nullptr ? nullptr : called(*reached[k], call->callee.name);
      only = only && !other && (call == nullptr || function != nullptr || is_operation(*call));
      if (function != nullptr && std::ranges::find(reached, function) == reached.end()) reached.push_back(function);
    });
  }
  return only;
}

bool runs_statements(const ast::Function& f, const FunctionOfName& called) {
  const auto* block = std::get_if<ast::Block>(&f.body);
  if (calls_any(f, {"grad"}) || draws_tensors(f, called) || slices_by_element(f)) return true;
  return block != nullptr && std::ranges::any_of(block->statements, [](const ast::StmtPtr& s) {
           if (std::holds_alternative<ast::Return>(s->node)) return false;
           const auto* let = std::get_if<ast::Let>(&s->node);
           return let == nullptr || let->is_mutable || let->target.subscripts ||
                  let->definition.op.kind != ast::AssignKind::kSet ||
                  (let->annotations.type && !let->annotations.type->dimensions.empty());
         });
}

namespace {

void position_of(GraphBuilder& graph, std::int32_t id, PointLoop& loop) {
  const LabelInfo info = graph.label(id);
  if (!loop.positions.contains(id))
    loop.positions.emplace(id, graph.program().new_value({Scalar::kI64, {}, {}}, info.name, info.range));
}

/// Makes the expression a parameter of the body; returns the parameter.
Tensor as_parameter(Lowerer& lowerer, PointLoop& loop, const Tensor& t, const std::string& name,
                    const SourceRange& range) {
  ComputeSpec spec;
  std::vector<Expr> subscripts;
  for (const Dim& d : t.shape) {
    spec.out.push_back(lowerer.graph.new_label(d.extent));
    spec.type.shape.push_back(d.extent);
    subscripts.push_back(ir::index_ref(spec.out.back()));
  }
  spec.body = element(t, subscripts);
  spec.type.scalar = spec.body->type;
  spec.name = name;
  spec.range = range;
  const ValueId value = lowerer.graph.program().new_value(spec.type, spec.name, spec.range);
  loop.parameters.emplace_back(value, std::move(spec));
  return lowerer.values.tensor_of(value, name, range);
}

/// Lowers the body at one point of the index variables that the arguments, and lambdas among them, mention; the result
/// is a scalar.
PointLoop body_at_a_point(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                          const ast::Call& call, const SourceRange& range, const std::vector<std::int32_t>& drawn_at) {
  PointLoop made;
  std::vector<Tensor> inside;
  for (std::size_t k = 0; k < args.size(); ++k) {
    inside.push_back(args[k]);
    // Scalars and constants are passed as they are; tensor elements such as c[0] are evaluated by the caller.
    const bool plain = args[k].rank() > 0 || whole_value(args[k]) || literal_of(args[k].body) != nullptr;
    if (plain && free_labels(args[k]).empty()) continue;
    inside.back() = as_parameter(lowerer, made, args[k], f.parameters[k].name.name, call.arguments[k].range);
  }
  std::vector<Tensor> outside = args;
  Recaptured recaptured(lowerer.inlining);
  for (const Capture& capture : captures_of(lowerer, f)) {
    std::vector<Tensor> values = values_outside(lowerer, capture);
    outside.insert(outside.end(), values.begin(), values.end());
    for (std::size_t k = 0; k < values.size(); ++k) {
      const bool is_name = k < capture.names.size();
      const std::string name =
          is_name ? capture.names[k]->name : *bare_name(*capture.elements[k - capture.names.size()]->base);
      values[k] = as_parameter(lowerer, made, values[k], name, is_name ? capture.names[k]->range : range);
    }
    recaptured.replace(capture, values);
  }
  for (const Tensor& t : outside) {
    for (const std::int32_t id : free_labels(t)) position_of(lowerer.graph, id, made);
  }
  for (const std::int32_t id : drawn_at) position_of(lowerer.graph, id, made);
  const GraphBuilder::SeparateRegion region(lowerer.graph, made.body);
  // The caller's guards apply to the whole body, so the body starts without conditions; its checks do not count
  // outside.
  const Restored<Guards> guards(lowerer.guards, lowerer.guards.without_conditions());
  const auto checks = lowerer.shapes.separate_checks();
  std::vector<EnclosingLoop> points;
  for (const auto& [label, position] : made.positions) points.push_back({position, {}, 1});
  const auto inside_points = lowerer.loops.enter(points);
  const std::vector<Tensor> results = inline_body(lowerer, f, inside, call, range, {});
  if (results.size() != 1 || results[0].rank() != 0)
    lowerer.reports.fail(DiagnosticId::kNotScalar, range,
                         "`" + f.name.name + "` is applied per element, so it must return one scalar");
  made.result = lowerer.values.materialise(results[0], "", range);
  return made;
}

/// True if evaluating the expression has no observable effect: it cannot fail.
bool is_harmless(const Expr& e) {
  bool harmless = true;
  ir::for_each_node(e, [&](const ir::ExprNode& n) {
    const auto* r = std::get_if<ir::Read>(&n.op);
    const auto* a = std::get_if<ir::Apply>(&n.op);
    harmless = harmless && !ir::operation_may_fail(n) && (r == nullptr || r->subscripts.empty()) &&
               (a == nullptr || !ir::may_stop(*a->procedure));
  });
  return harmless;
}

/// True if evaluating the expression always evaluates argument `k`.
bool always_reads(const Expr& e, std::int32_t k) {
  if (const auto* a = std::get_if<ir::Argument>(&e->op)) return a->position == k;
  if (const auto* s = std::get_if<ir::Select>(&e->op))
    return always_reads(s->condition, k) || (always_reads(s->when_true, k) && always_reads(s->when_false, k));
  const auto* b = std::get_if<ir::Binary>(&e->op);
  if (b != nullptr && (b->op == ir::BinaryOp::kAnd || b->op == ir::BinaryOp::kOr)) return always_reads(b->left, k);
  return std::ranges::any_of(ir::children(*e), [&](const Expr& child) { return always_reads(child, k); });
}

bool always_reads(const ir::Procedure& p, std::int32_t k) {
  return always_reads(p.result, k) || std::ranges::any_of(p.body, [&](const ir::Procedure::Statement& s) {
           const auto* assign = std::get_if<ir::Procedure::Assign>(&s.op);
           return assign != nullptr && always_reads(assign->value, k);
         });
}

/// The body as a procedure if it is work on scalars. Reports unsupported derivatives in it.
std::optional<ir::Procedure> procedure_of_body(GraphBuilder& graph, Reports& reports, const ast::Function& f,
                                               const PointLoop& loop, const std::vector<ValueId>& parameters,
                                               std::vector<ValueId>& captured) {
  try {
    return ir::procedure_of(graph.program(), f.name.name, loop.body, parameters, loop.result, captured);
  } catch (const ir::NotDifferentiable& problem) {
    reports.sink().unsupported(DiagnosticId::kNotSupported, problem.range, problem.message + " yet",
                               {{f.name.range, "in this function"}});
    throw Abandoned{};
  }
}

/// The results of `loop` as an expression that applies `procedure`, made from its body.
Expr applied(const GraphBuilder& graph, const PointLoop& loop, ir::Procedure procedure,
             const std::vector<ValueId>& captured, const ast::Function& f, const SourceRange& range) {
  procedure.range = f.name.range;
  procedure.text = ir::text_of(procedure);
  std::vector<Expr> arguments;
  for (const auto& [value, parameter] : loop.parameters) arguments.push_back(parameter.body);
  for (const ValueId v : captured) arguments.push_back(ir::read(graph.program().type(v).scalar, v, {}));
  return ir::application(std::make_shared<const ir::Procedure>(std::move(procedure)), std::move(arguments), range);
}

}  // namespace

std::optional<Tensor> call_as_procedure(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args,
                                        const ast::Call& call, const SourceRange& range) {
  const auto called = [&](const ast::Function& in, const std::string& name) { return lowerer.called_in(in, name); };
  if (!is_arithmetic(f, called, [&](const ast::Call& c) { return is_scalar_function(lowerer.declared, c); }))
    return std::nullopt;
  const PointLoop loop = body_at_a_point(lowerer, f, args, call, range, {});
  std::vector<ValueId> parameters;
  for (const auto& [value, parameter] : loop.parameters) parameters.push_back(value);
  std::vector<ValueId> captured;
  auto procedure = procedure_of_body(lowerer.graph, lowerer.reports, f, loop, parameters, captured);
  if (!procedure) return std::nullopt;
  // A procedure's operands are evaluated first.
  for (std::size_t k = 0; k < loop.parameters.size(); ++k) {
    if (!is_harmless(loop.parameters[k].second.body) && !always_reads(*procedure, static_cast<std::int32_t>(k)))
      return std::nullopt;
  }
  return scalar_tensor(applied(lowerer.graph, loop, std::move(*procedure), captured, f, range));
}

Tensor call_at_points(Lowerer& lowerer, const ast::Function& f, const std::vector<Tensor>& args, const ast::Call& call,
                      const SourceRange& range, const std::vector<std::int32_t>& drawn_at) {
  PointLoop loop = body_at_a_point(lowerer, f, args, call, range, drawn_at);
  ir::Program& program = lowerer.graph.program();
  std::vector<ValueId> parameters;
  for (const auto& [value, parameter] : loop.parameters) parameters.push_back(value);
  std::vector<ValueId> captured;
  if (auto procedure = procedure_of_body(lowerer.graph, lowerer.reports, f, loop, parameters, captured)) {
    ComputeSpec spec;
    const bool in_monoid = std::ranges::any_of(args, depends_on_operands);
    spec.body = applied(lowerer.graph, loop, std::move(*procedure), captured, f, range);
    if (in_monoid) return scalar_tensor(spec.body);
    spec.type.scalar = spec.body->type;
    spec.name = lowerer.reports.source_text(range);
    spec.range = range;
    return lowerer.values.hoist(std::move(spec), {});
  }
  if (std::ranges::any_of(args, depends_on_operands))
    lowerer.reports.unsupported(range, "a function that does more than arithmetic on scalars in a monoid is");
  for (const Expr& guard : lowerer.guards.conditions()) {
    for (const std::int32_t id : labels_of(guard)) position_of(lowerer.graph, id, loop);
    loop.guard = both(loop.guard, guard);
  }
  std::vector<std::int32_t> labels;
  std::vector<Expr> subscripts;
  for (const auto& [id, position] : loop.positions) {
    labels.push_back(id);
    subscripts.push_back(ir::index_ref(id));
  }
  const Scalar type = program.type(loop.result).scalar;
  const ValueId v = lowerer.graph.wait(std::move(loop), std::move(labels), lowerer.reports.source_text(range), range);
  lowerer.values.note_temporary(v);
  Tensor t = scalar_tensor(ir::read(type, v, std::move(subscripts), range));
  t.range = range;
  return t;
}

}  // namespace tdsl::frontend

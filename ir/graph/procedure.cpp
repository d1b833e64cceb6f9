#include "ir/graph/procedure.h"

#include <algorithm>
#include <utility>

#include "ir/graph/check.h"

namespace tdsl::ir {

namespace {

void visit(const Procedure::Statements& statements, const std::function<void(const Expr&)>& f) {
  for (const Procedure::Statement& s : statements) {
    match(
        s.op, [&](const Procedure::Assign& a) { f(a.value); },
        [&](const Procedure::Count& c) {
          f(c.begin);
          f(c.end);
          visit(c.body, f);
        },
        [&](const Procedure::Repeat& r) {
          visit(r.before, f);
          f(r.condition);
          visit(r.body, f);
        },
        [&](const Procedure::Branch& b) {
          f(b.condition);
          visit(b.then_part, f);
          visit(b.else_part, f);
        },
        [&](const Procedure::Require& r) { f(r.condition); });
  }
}

double operations(const Expr& e) {
  double sum = 0;
  for_each_node(e, [&](const ExprNode& node) {
    if (std::holds_alternative<Binary>(node.op) || std::holds_alternative<Unary>(node.op)) sum += 1;
    if (const auto* a = std::get_if<Apply>(&node.op)) sum += operations_of(*a->procedure);
  });
  return sum;
}

double operations(const Procedure::Statements& statements) {
  double sum = 0;
  for (const Procedure::Statement& s : statements) {
    sum += match(
        s.op, [](const Procedure::Assign& a) { return operations(a.value); },
        [](const Procedure::Count& c) {
          const auto number = [](const Expr& e) -> std::optional<std::int64_t> {
            const auto* known = std::get_if<Constant>(&e->op);
            return known == nullptr ? std::nullopt : std::optional(std::get<std::int64_t>(known->value));
          };
          const auto begin = number(c.begin);
          const auto end = number(c.end);
          const bool known = begin && end && c.step != 0;
          const double often = known ? std::max(0.0, (static_cast<double>(*end) - static_cast<double>(*begin)) /
                                                         static_cast<double>(c.step))
                                     : 1;
          return often * operations(c.body);
        },
        [](const Procedure::Repeat& r) { return operations(r.before) + operations(r.condition) + operations(r.body); },
        [](const Procedure::Branch& b) {
          return operations(b.condition) + std::max(operations(b.then_part), operations(b.else_part));
        },
        [](const Procedure::Require& r) { return operations(r.condition); });
  }
  return sum;
}

bool loops_freely(const Procedure::Statements& statements) {
  return std::ranges::any_of(statements, [](const Procedure::Statement& s) {
    return match(
        s.op, [](const Procedure::Assign&) { return false; },
        [](const Procedure::Count& c) { return loops_freely(c.body); }, [](const Procedure::Repeat&) { return true; },
        [](const Procedure::Branch& b) { return loops_freely(b.then_part) || loops_freely(b.else_part); },
        [](const Procedure::Require&) { return true; });
  });
}

}  // namespace

bool operation_may_fail(const ExprNode& node) {
  if (const auto* a = std::get_if<Apply>(&node.op)) return may_stop(*a->procedure);
  if (const auto* c = std::get_if<Cast>(&node.op)) return is_integer(node.type) && is_float(c->operand->type);
  const auto* b = std::get_if<Binary>(&node.op);
  if (b == nullptr || is_float(node.type)) return false;
  const auto* known = std::get_if<Constant>(&b->right->op);
  const auto* right = known == nullptr ? nullptr : std::get_if<std::int64_t>(&known->value);
  switch (b->op) {
    case BinaryOp::kDiv:
    case BinaryOp::kAbsentDiv:
    case BinaryOp::kRem:
    case BinaryOp::kMod: return right == nullptr || *right == 0;
    case BinaryOp::kPow: return right == nullptr || *right < 0;
    default: return false;
  }
}

void for_each_expr(const Procedure& procedure, const std::function<void(const Expr&)>& f) {
  visit(procedure.body, f);
  f(procedure.result);
}

Procedure procedure_of(ForeignRef function, SourceRange range) {
  TDSL_CHECK(!function->is_kernel, "kernels are nodes of their own");
  Procedure p;
  p.name = function->name;
  p.range = range;
  p.parameters = function->parameters.size();
  for (const Foreign::Parameter& parameter : function->parameters)
    p.variables.push_back({parameter.name, parameter.type});
  p.result = cast(function->result, constant_i64(0));
  p.foreign = std::move(function);
  p.text = text_of(p);
  return p;
}

double operations_of(const Procedure& procedure) {
  if (procedure.foreign) return procedure.foreign->operations;
  return operations(procedure.body) + operations(procedure.result);
}

bool may_stop(const Procedure& procedure) {
  if (procedure.foreign) return procedure.foreign->may_stop;
  bool may = loops_freely(procedure.body);
  for_each_expr(procedure, [&](const Expr& e) {
    for_each_node(e, [&](const ExprNode& node) { may = may || operation_may_fail(node); });
  });
  return may;
}

}  // namespace tdsl::ir

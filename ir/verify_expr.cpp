#include "ir/verify_expr.h"

#include <fmt/format.h>

#include "ir/infer.h"

namespace tdsl::ir {

namespace {

using Problems = std::vector<std::string>;

void verify_read(const Program& program, const ExprNode& node, const Read& r, Problems& problems) {
  if (!r.tensor.valid() || static_cast<std::size_t>(r.tensor.id) >= program.values.size()) {
    problems.push_back(fmt::format("reads the unknown value %{}", r.tensor.id));
    return;
  }
  const Type& type = program.type(r.tensor);
  if (type.rank() != r.subscripts.size()) {
    problems.push_back(
        fmt::format("reads %{} of rank {} with {} subscripts", r.tensor.id, type.rank(), r.subscripts.size()));
  }
  if (type.scalar != node.type) {
    problems.push_back(fmt::format("reads %{} of {} as {}", r.tensor.id, name_of(type.scalar), name_of(node.type)));
  }
  for (const Expr& s : r.subscripts) {
    if (s->type != Scalar::kI64)
      problems.push_back(fmt::format("a subscript of %{} is not i64", r.tensor.id));
  }
}

void verify_node(const Program& program, const ExprNode& node, const ExprContext& context, Problems& problems) {
  const auto require = [&](bool good, const std::string& message) {
    if (!good)
      problems.push_back(message);
  };
  match(
      node.op,
      [&](const Constant& c) { require(holds(node.type, c.value), "a constant's literal is not of its type"); },
      [&](const IndexRef& i) {
        require(node.type == Scalar::kI64, "an index variable is not i64");
        require(i.label >= 0 && static_cast<std::size_t>(i.label) < context.labels,
                fmt::format("the index variable #{} does not exist here", i.label));
      },
      [&](const Read& r) {
        require(context.reads, "a constant expression reads a tensor");
        verify_read(program, node, r, problems);
      },
      [&](const Argument& a) {
        require(context.argument.has_value(), "an argument stands outside a combine expression");
        require(!context.argument || node.type == *context.argument, "an argument has the wrong type");
        require(a.position == 0 || a.position == 1, "a combine expression has two arguments");
      },
      [&](const Unary& u) {
        require(result_type(u.op, u.operand->type) == node.type,
                fmt::format("{} of {} is not {}", name_of(u.op), name_of(u.operand->type), name_of(node.type)));
      },
      [&](const Binary& b) {
        require(result_type(b.op, b.left->type, b.right->type) == node.type,
                fmt::format("{} of {} and {} is not {}", name_of(b.op), name_of(b.left->type), name_of(b.right->type),
                            name_of(node.type)));
      },
      [&](const Select& s) {
        require(s.condition->type == Scalar::kBool, "a condition is not bool");
        require(s.when_true->type == node.type && s.when_false->type == node.type,
                "the branches of a select differ in type");
      },
      [](const Cast&) {});
}

bool complete(const Expr& e) {
  if (!e)
    return false;
  for (const Expr& child : children(*e)) {
    if (!complete(child))
      return false;
  }
  return true;
}

}  // namespace

void verify_expr(const Program& program, const Expr& e, const ExprContext& context, Problems& problems) {
  if (!complete(e)) {
    problems.push_back("an expression is missing");
    return;
  }
  for_each_node(e, [&](const ExprNode& node) { verify_node(program, node, context, problems); });
}

}  // namespace tdsl::ir

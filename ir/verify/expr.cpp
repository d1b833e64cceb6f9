#include "ir/verify/parts.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/graph/procedure.h"
#include "ir/graph/scalar.h"

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
    if (s->type != Scalar::kI64) problems.push_back(fmt::format("a subscript of %{} is not i64", r.tensor.id));
  }
}

class ProcedureVerifier {
 public:
  ProcedureVerifier(const Program& program, const Procedure& procedure, Problems& problems)
      : program_(program), procedure_(procedure), problems_(problems) {
    context_.reads = false;
    for (const Procedure::Variable& v : procedure.variables) context_.arguments.push_back(v.type);
  }

  void run(const std::vector<Expr>& arguments) {
    require(procedure_.parameters <= procedure_.variables.size(), "parameters are variables");
    require(arguments.size() == procedure_.parameters, "there is one argument per parameter");
    for (std::size_t k = 0; k < std::min(arguments.size(), procedure_.variables.size()); ++k)
      require(arguments[k]->type == procedure_.variables[k].type, "an argument has its parameter's type");
    statements(procedure_.body);
    expression(procedure_.result, std::nullopt);
  }

 private:
  void require(bool good, const std::string& message) {
    if (!good) problems_.push_back(fmt::format("procedure {}: not so: {}", procedure_.name, message));
  }

  void expression(const Expr& e, std::optional<Scalar> type) {
    verify_expr(program_, e, context_, problems_);
    require(!type || !e || e->type == *type, "an expression has the type its place needs");
  }

  void variable(std::int32_t v, std::optional<Scalar> type) {
    const auto index = static_cast<std::size_t>(v);
    const bool known = v >= 0 && index < procedure_.variables.size();
    require(known && (!type || procedure_.variables[index].type == *type),
            "a variable exists and has its value's type");
  }

  void statements(const Procedure::Statements& list) {
    for (const Procedure::Statement& s : list) {
      match(
          s.op,
          [&](const Procedure::Assign& a) {
            expression(a.value, std::nullopt);
            variable(a.variable, a.value ? std::optional(a.value->type) : std::nullopt);
          },
          [&](const Procedure::Count& c) {
            variable(c.variable, Scalar::kI64);
            expression(c.begin, Scalar::kI64);
            expression(c.end, Scalar::kI64);
            require(c.step != 0, "a loop's step is not 0");
            statements(c.body);
          },
          [&](const Procedure::Repeat& r) {
            statements(r.before);
            expression(r.condition, Scalar::kBool);
            statements(r.body);
          },
          [&](const Procedure::Branch& b) {
            expression(b.condition, Scalar::kBool);
            statements(b.then_part);
            statements(b.else_part);
          },
          [&](const Procedure::Require& r) { expression(r.condition, Scalar::kBool); });
    }
  }

  const Program& program_;
  const Procedure& procedure_;
  Problems& problems_;
  ExprContext context_;
};

void verify_node(const Program& program, const ExprNode& node, const ExprContext& context, Problems& problems) {
  const auto require = [&]<class... Parts>(bool good, fmt::format_string<Parts...> text, Parts&&... parts) {
    if (!good) problems.push_back(fmt::format(text, std::forward<Parts>(parts)...));
  };
  match(
      node.op,
      [&](const Constant& c) { require(holds(node.type, c.value), "a constant's literal is not of its type"); },
      [&](const IndexRef& i) {
        require(node.type == Scalar::kI64, "an index variable is not i64");
        require(i.label >= 0 && static_cast<std::size_t>(i.label) < context.labels,
                "the index variable #{} does not exist here", i.label);
      },
      [&](const Read& r) {
        require(context.reads, "a constant expression reads a tensor");
        verify_read(program, node, r, problems);
      },
      [&](const Argument& a) {
        const auto position = static_cast<std::size_t>(a.position);
        const auto type =
            position < context.arguments.size() ? std::optional(context.arguments[position]) : context.argument;
        require(type.has_value(), "an argument stands outside a combine expression");
        require(!type || node.type == *type, "an argument has the wrong type");
        require(context.arguments.empty() ? a.position == 0 || a.position == 1
                                          : static_cast<std::size_t>(a.position) < context.arguments.size(),
                "an argument has a wrong number");
      },
      [&](const Unary& u) {
        require(result_type(u.op, u.operand->type) == node.type, "{} of {} is not {}", name_of(u.op),
                name_of(u.operand->type), name_of(node.type));
      },
      [&](const Binary& b) {
        require(result_type(b.op, b.left->type, b.right->type) == node.type, "{} of {} and {} is not {}", name_of(b.op),
                name_of(b.left->type), name_of(b.right->type), name_of(node.type));
      },
      [&](const Select& s) {
        require(s.condition->type == Scalar::kBool, "a condition is not bool");
        require(s.when_true->type == node.type && s.when_false->type == node.type,
                "the branches of a select differ in type");
      },
      [](const Cast&) {}, [&](const Apply& a) { ProcedureVerifier(program, *a.procedure, problems).run(a.arguments); });
}

bool complete(const Expr& e) {
  if (!e) return false;
  for (const Expr& child : children(*e)) {
    if (!complete(child)) return false;
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

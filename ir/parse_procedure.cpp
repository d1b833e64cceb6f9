#include "ir/check.h"
#include "ir/parse_expr.h"

namespace tdsl::ir {

std::int32_t ExprParser::variable() {
  cursor_.expect("$");
  return static_cast<std::int32_t>(cursor_.natural());
}

Procedure::Statement ExprParser::statement() {
  if (cursor_.accept("for")) {
    Procedure::Count c;
    c.variable = variable();
    cursor_.expect("in");
    c.begin = expr();
    cursor_.expect("..");
    c.end = expr();
    cursor_.expect("by");
    c.step = cursor_.integer();
    c.body = statements();
    return {{}, std::move(c)};
  }
  if (cursor_.accept("repeat")) {
    Procedure::Repeat r;
    r.before = statements();
    cursor_.expect("while");
    r.condition = expr();
    r.body = statements();
    return {{}, std::move(r)};
  }
  if (cursor_.accept("if")) {
    Procedure::Branch b;
    b.condition = expr();
    b.then_part = statements();
    cursor_.expect("else");
    b.else_part = statements();
    return {{}, std::move(b)};
  }
  if (cursor_.accept("require")) {
    Procedure::Require r;
    r.condition = expr();
    r.message = cursor_.string();
    cursor_.expect(";");
    return {{}, std::move(r)};
  }
  Procedure::Assign a;
  a.variable = variable();
  cursor_.expect("=");
  a.value = expr();
  cursor_.expect(";");
  return {{}, std::move(a)};
}

Procedure::Statements ExprParser::statements() {
  Procedure::Statements list;
  cursor_.expect("{");
  while (!cursor_.accept("}"))
    list.push_back(statement());
  return list;
}

Expr ExprParser::application() {
  auto procedure = std::make_shared<Procedure>();
  cursor_.expect("procedure");
  procedure->name = cursor_.string();
  procedure->parameters = cursor_.natural();
  list("[", "]", [&] {
    Procedure::Variable v;
    v.name = cursor_.string();
    cursor_.expect(":");
    v.type = scalar();
    procedure->variables.push_back(std::move(v));
  });
  procedure->body = statements();
  cursor_.expect("return");
  procedure->result = expr();
  if (procedure->parameters > procedure->variables.size())
    cursor_.fail("a procedure's parameters are its first variables");
  const std::vector<Expr> arguments = expr_list("(", ")");
  bool fits = arguments.size() == procedure->parameters;
  for (std::size_t k = 0; fits && k < arguments.size(); ++k)
    fits = arguments[k]->type == procedure->variables[k].type;
  if (!fits)
    cursor_.fail("the arguments are not those of the procedure's parameters");
  procedure->text = text_of(*procedure);
  return ir::application(std::move(procedure), arguments);
}

}  // namespace tdsl::ir

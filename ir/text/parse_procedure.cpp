#include "ir/text/parse_expr.h"

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
  while (!cursor_.accept("}")) list.push_back(statement());
  return list;
}

ForeignRef parse_foreign(TextCursor& cursor) {
  auto foreign = std::make_shared<Foreign>();
  cursor.expect("foreign");
  foreign->header = cursor.string();
  foreign->name = cursor.string();
  cursor.expect("(");
  while (!cursor.accept(")")) {
    Foreign::Parameter p;
    p.name = cursor.string();
    cursor.expect(":");
    p.is_output = cursor.accept("out");
    p.fresh = p.is_output && cursor.accept("fresh");
    p.type = cursor.scalar();
    p.rank = cursor.natural();
    foreign->parameters.push_back(std::move(p));
    static_cast<void>(cursor.accept(","));
  }
  foreign->is_kernel = cursor.accept("kernel");
  if (!foreign->is_kernel) foreign->result = cursor.scalar();
  foreign->may_stop = cursor.accept("may_stop");
  cursor.expect("operations");
  foreign->operations = static_cast<double>(cursor.integer());
  return foreign;
}

Expr ExprParser::application() {
  cursor_.expect("procedure");
  std::string name = cursor_.string();
  if (cursor_.at_word()) {
    const ForeignRef function = parse_foreign(cursor_);
    if (function->is_kernel) cursor_.fail("a kernel is not applied to scalars");
    const std::vector<Expr> arguments = expr_list("(", ")");
    bool fits = arguments.size() == function->parameters.size();
    for (std::size_t k = 0; fits && k < arguments.size(); ++k)
      fits = arguments[k]->type == function->parameters[k].type;
    if (!fits) cursor_.fail("the arguments are not those of the function's parameters");
    return ir::application(std::make_shared<const Procedure>(procedure_of(function)), arguments);
  }
  auto procedure = std::make_shared<Procedure>();
  procedure->name = std::move(name);
  procedure->parameters = cursor_.natural();
  list("[", "]", [&] {
    Procedure::Variable v;
    v.name = cursor_.string();
    cursor_.expect(":");
    v.type = cursor_.scalar();
    procedure->variables.push_back(std::move(v));
  });
  procedure->body = statements();
  cursor_.expect("return");
  procedure->result = expr();
  if (procedure->parameters > procedure->variables.size())
    cursor_.fail("a procedure's parameters are its first variables");
  const std::vector<Expr> arguments = expr_list("(", ")");
  bool fits = arguments.size() == procedure->parameters;
  for (std::size_t k = 0; fits && k < arguments.size(); ++k) fits = arguments[k]->type == procedure->variables[k].type;
  if (!fits) cursor_.fail("the arguments are not those of the procedure's parameters");
  procedure->text = text_of(*procedure);
  return ir::application(std::move(procedure), arguments);
}

}  // namespace tdsl::ir

#include <fmt/format.h>

#include "ir/graph/foreign.h"
#include "ir/graph/procedure.h"
#include "ir/text/print.h"

namespace tdsl::ir {

namespace {

std::string expression(const Expr& e) { return print(Program(), e, {}); }

std::string block(const Procedure::Statements& statements);

std::string statement(const Procedure::Statement& s) {
  return match(
      s.op, [](const Procedure::Assign& a) { return fmt::format("${} = {}; ", a.variable, expression(a.value)); },
      [](const Procedure::Count& c) {
        return fmt::format("for ${} in {}..{} by {} {}", c.variable, expression(c.begin), expression(c.end), c.step,
                           block(c.body));
      },
      [](const Procedure::Repeat& r) {
        return fmt::format("repeat {}while {} {}", block(r.before), expression(r.condition), block(r.body));
      },
      [](const Procedure::Branch& b) {
        return fmt::format("if {} {}else {}", expression(b.condition), block(b.then_part), block(b.else_part));
      },
      [](const Procedure::Require& r) {
        return fmt::format("require {} {}; ", expression(r.condition), quoted(r.message));
      });
}

std::string block(const Procedure::Statements& statements) {
  std::string text = "{ ";
  for (const Procedure::Statement& s : statements) text += statement(s);
  return text + "} ";
}

}  // namespace

std::string text_of(const Foreign& foreign) {
  std::string parameters;
  for (const Foreign::Parameter& p : foreign.parameters) {
    parameters += fmt::format("{}{}:{}{} {}", parameters.empty() ? "" : ", ", quoted(p.name),
                              p.is_output ? (p.fresh ? "out fresh " : "out ") : "", name_of(p.type), p.rank);
  }
  return fmt::format("foreign {} {} ({}) {}{} operations {}", quoted(foreign.header), quoted(foreign.name), parameters,
                     foreign.is_kernel ? "kernel" : name_of(foreign.result), foreign.may_stop ? " may_stop" : "",
                     foreign.operations);
}

std::string title_of(const Foreign& foreign) { return fmt::format("`{}` of {}", foreign.name, foreign.header); }

std::string title_of(const std::set<std::string>& functions) {
  return fmt::format("{} {}", functions.size() == 1 ? "the C++ function" : "one of the C++ functions",
                     fmt::join(functions, ", "));
}

std::string text_of(const Procedure& procedure) {
  std::string variables;
  for (const Procedure::Variable& v : procedure.variables)
    variables += fmt::format("{}{}:{}", variables.empty() ? "" : ", ", quoted(v.name), name_of(v.type));
  if (procedure.foreign) return fmt::format("procedure {} {}", quoted(procedure.name), text_of(*procedure.foreign));
  return fmt::format("procedure {} {} [{}] {}return {}", quoted(procedure.name), procedure.parameters, variables,
                     block(procedure.body), expression(procedure.result));
}

}  // namespace tdsl::ir

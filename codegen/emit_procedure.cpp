#include "codegen/emit_procedure.h"

#include <fmt/format.h>

#include "codegen/names.h"
#include "codegen/nest/print_cpp.h"
#include "codegen/nest/verify.h"
#include "codegen/procedure_nest.h"
#include "ir/check.h"

namespace tdsl::codegen {

namespace {

/// `double gelu(double x) { return ::gelu(x); }`
std::string call_of_users(const ir::Procedure& procedure, const std::string& name) {
  NameTable table;
  std::string parameters;
  std::string arguments;
  for (std::size_t k = 0; k < procedure.parameters; ++k) {
    const ir::Procedure::Variable& v = procedure.variables[k];
    const std::string_view between = k == 0 ? "" : ", ";
    const std::string variable = table.claim(v.name.empty() ? "t" : v.name);
    parameters += fmt::format("{}{} {}", between, cpp_type(v.type), variable);
    arguments += fmt::format("{}{}", between, variable);
  }
  return fmt::format("{} {}({}) {{\n  return ::{}({});\n}}\n", cpp_type(procedure.foreign->result), name, parameters, procedure.foreign->name, arguments);
}

}  // namespace

EmittedProcedure emit_procedure(const ir::Procedure& procedure, const std::string& name, const ExprEmitter::ProcedureName& apply) {
  if (procedure.foreign) return {call_of_users(procedure, name), false};
  const nest::Nest nest = build_nest(procedure, name);
  const std::vector<std::string> problems = nest::verify(nest);
  TDSL_CHECK(problems.empty(), "the nest of a procedure is well-formed: " + problems.front());
  const nest::PrintedNest printed = nest::print_scalar_function(nest, apply);
  return {printed.text, printed.places};
}

}  // namespace tdsl::codegen

#include "codegen/print/emit_procedure.h"

#include "codegen/loops/build_nest.h"
#include "codegen/nest/print_cpp.h"
#include "codegen/nest/verify.h"
#include "ir/graph/check.h"

namespace tdsl::codegen {

Code emit_procedure(const ir::Procedure& procedure, const std::string& name, const ExprEmitter::ProcedureName& apply) {
  TDSL_CHECK(!procedure.foreign, "a function of the user's has no body to print");
  const nest::Nest nest = build_nest(procedure, name);
  nest::require_valid(nest);
  const nest::PrintedNest printed = nest::print_scalar_function(nest, apply);
  Code code{printed.text, printed.needs};
  if (code.needs.has(Helper::kPlace)) code.needs.add(Header::kElements);  // declares rt::stop
  return code;
}

}  // namespace tdsl::codegen

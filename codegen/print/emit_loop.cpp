#include "codegen/print/emit_loop.h"

#include "codegen/loops/build_nest.h"
#include "codegen/nest/interior.h"
#include "codegen/nest/print_cpp.h"
#include "codegen/nest/verify.h"

namespace tdsl::codegen {

EmittedLoop emit_loop(const LoopRequest& request) {
  BuiltNest built = build_nest({request.program, request.name, request.place, request.value_name}, request.step);
  nest::require_valid(built.nest);
  nest::split_interiors(built.nest);
  nest::require_valid(built.nest);
  const nest::PrintedNest printed = nest::print_task(built.nest, request.procedure_name, request.source_line);
  EmittedLoop emitted{printed.text, {}, printed.needs, printed.draws};
  emitted.needs.add(Header::kElements);
  for (const ValueId v : printed.captures) emitted.captures.push_back(built.captured[static_cast<std::size_t>(v.id)]);
  return emitted;
}

}  // namespace tdsl::codegen

#pragma once

#include <string>

#include "codegen/families/family_builder.h"
#include "codegen/print/emit_loop.h"

namespace tdsl::codegen {

/// Lowers a kernel of the user's to one operation of one task, which reads its operands whole, as a loop that is a task
/// does. What it gathers is reported by the run where that is much.
void lower_foreign(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine);

/// The task in C++: a function that makes tiles of the task's blocks. `call` is the function of `foreign_call`.
///
///     void call_scale(const TaskArgs& t, double c) {
///       fn::scale(rt::tile_in<double, 2>(t, 0), c, rt::tile_out<double, 2>(t, 0));
///     }
[[nodiscard]] EmittedLoop emit_foreign(const LoopRequest& request, const std::string& call);

/// A function that calls the user's. It is declared before the program and defined after it, where the header is
/// included: the header's macros, pragmas and names reach nothing but the definition.
///
///     double gelu(double);      double gelu(double tdsl_1) { return ::gelu(tdsl_1); }
struct ForeignCall {
  std::string declaration;
  std::string definition;
};
[[nodiscard]] ForeignCall foreign_call(const ir::Foreign& function, const std::string& name);

}  // namespace tdsl::codegen

#pragma once

#include <string>

#include "codegen/print/emit_loop.h"

namespace tdsl::codegen {

/// The task in C++: a function that makes tiles of the task's blocks. `call` is the function of `foreign_call`.
///
///     void call_scale(const TaskArgs& t, double c) {
///       fn::scale(rt::tile_in<double, 2>(t, 0), c, rt::tile_out<double, 2>(t, 0));
///     }
[[nodiscard]] EmittedLoop emit_foreign(const LoopRequest& request, const std::string& call);

/// A wrapper of a user's function, declared before the program and defined after it, where the header is included:
/// macros, pragmas and names of the header affect the definition only.
///
///     double gelu(double);      double gelu(double tdsl_1) { return ::gelu(tdsl_1); }
struct ForeignCall {
  std::string declaration;
  std::string definition;
};
[[nodiscard]] ForeignCall foreign_call(const ir::Foreign& function, const std::string& name);

}  // namespace tdsl::codegen

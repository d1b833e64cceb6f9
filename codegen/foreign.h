#pragma once

#include "codegen/emit_loop.h"
#include "codegen/family_builder.h"

namespace tdsl::codegen {

/// Lowers a kernel of the user's to one operation of one task, which reads its operands whole, as a loop that is a task does. What it
/// gathers is reported by the run where that is much.
void lower_foreign(FamilyBuilder& builder, const ir::Node& node, const ir::Routine& routine);

/// The call in C++: a function that makes tiles of the task's blocks.
///
///     void call_scale(const TaskArgs& t, double c) {
///       ::scale(rt::tile_in<double, 2>(t, 0), c, rt::tile_out<double, 2>(t, 0));
///     }
[[nodiscard]] EmittedLoop emit_foreign(const LoopRequest& request);

}  // namespace tdsl::codegen

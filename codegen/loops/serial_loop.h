#pragma once

#include "codegen/families/family_builder.h"

namespace tdsl::codegen {

/// Whether every rank runs the loop by itself: it touches host values only.
[[nodiscard]] bool runs_on_host(const ir::Program& program, const ir::Node& loop, const std::vector<bool>& host);

/// Lowers a loop that is marked serial (ir/analysis/serial_loop.h) to one operation of one task, which reads its
/// tensors whole and gives the last values of what it carries. What it gathers is reported by the run where that is
/// much.
void lower_serial_loop(FamilyBuilder& builder, const ir::Program& program, const ir::Node& loop);

}  // namespace tdsl::codegen

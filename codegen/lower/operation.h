#pragma once

#include "codegen/operations/builder.h"

namespace tdsl::codegen {

/// Adds the steps of one Compute: host arithmetic, or one recorded operation per result, with the operations it needs
/// (a reduction that is then combined differently, a hit mask) before it. Throws NotSupported.
void lower_compute(ProgramBuilder& builder, const ir::Node& node, const ir::Compute& compute);

}  // namespace tdsl::codegen

#pragma once

#include <vector>

#include "passes/loops/loop_forms.h"
#include "passes/pass_context.h"

namespace tdsl::passes {

/// What `loops_to_algebra` makes of nodes that are not yet part of the program: without remarks, warnings and variants.
/// `scalars`: of the program around them; `counts`: its `use_counts`, newer values count as used. Adds values to
/// `program`. The result is for inspection: results of converted nodes have other names.
[[nodiscard]] std::vector<ir::Node> nodes_to_algebra(ir::Program& program, std::vector<ir::Node> nodes,
                                                     const KnownScalars& scalars, const std::vector<int>& counts,
                                                     PassOptions options);

}  // namespace tdsl::passes

#pragma once

#include <optional>
#include <vector>

#include "passes/loops/loop_dependences.h"

namespace tdsl::passes {

/// The nodes that compute all iterations of the loop at once, statement by statement, with the loop variable as an
/// index variable of each. `renames` maps the loop's results to their new values. Returns nullopt and sets `refusal` if
/// a statement cannot be vectorised. Precondition: `dependences` was computed for this body.
[[nodiscard]] std::optional<std::vector<ir::Node>> vectorise(ir::Program& program, const LoopBody& body,
                                                             const LoopDependences& dependences, ValueMap& renames,
                                                             Refusal& refusal);

}  // namespace tdsl::passes

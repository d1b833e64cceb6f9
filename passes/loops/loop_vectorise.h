#pragma once

#include <optional>
#include <vector>

#include "passes/loops/loop_dependences.h"

namespace tdsl::passes {

/// The nodes that compute all iterations of the loop at once, statement by statement; the loop variable has become an
/// index variable of each. `renames` receives what the loop's results are called now. Nothing, with `refusal` set, if a
/// statement cannot be written that way. Precondition: `dependences` was computed for this body.
[[nodiscard]] std::optional<std::vector<ir::Node>> vectorise(ir::Program& program, const LoopBody& body,
                                                             const LoopDependences& dependences, ValueMap& renames,
                                                             Refusal& refusal);

}  // namespace tdsl::passes

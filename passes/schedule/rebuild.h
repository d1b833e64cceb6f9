#pragma once

#include <vector>

#include "ir/graph/extent_facts.h"
#include "passes/rewriting.h"
#include "passes/schedule/distribute.h"

namespace tdsl::passes {

/// The loops and statements of `steps` as nodes in place of the nest. Adds values to `program`; `renames` maps the
/// nest's results to new values. `facts`: of the program.
[[nodiscard]] std::vector<ir::Node> rebuilt(ir::Program& program, const Scop& scop, const std::vector<Step>& steps,
                                            const ir::ExtentFacts& facts, ValueMap& renames);

}  // namespace tdsl::passes

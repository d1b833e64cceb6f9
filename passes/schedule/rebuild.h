#pragma once

#include <cstdint>
#include <vector>

#include "ir/graph/extent_facts.h"
#include "passes/rewriting.h"
#include "passes/schedule/distribute.h"

namespace tdsl::passes {

/// The version that an independent statement reads of the variable that it changes.
enum class ReadVersion : std::uint8_t {
  kCurrent,
  kBefore,  ///< the one before its loops, so that it may become one Compute; a loop needs a copy of the variable
};

/// The loops and statements of `steps` as nodes in place of the nest. Adds values to `program`; `renames` maps the
/// nest's results to new values. `facts`: of the program.
[[nodiscard]] std::vector<ir::Node> rebuilt(ir::Program& program, const Scop& scop, const std::vector<Step>& steps,
                                            const ir::ExtentFacts& facts, ReadVersion version, ValueMap& renames);

}  // namespace tdsl::passes

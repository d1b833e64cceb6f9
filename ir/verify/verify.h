#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// Whether a program may contain Gradient nodes: only between the frontend and the pass `differentiate`.
enum class Gradients : std::uint8_t { kRefused, kAllowed };

/// Every violated invariant of the index graph as one sentence naming the node; empty if the program is well formed:
/// values defined once and before use, within scope; types and ranks of operands; labels in range; monoid exactly with
/// reduce labels; region arity; loop-carried types equal.
[[nodiscard]] std::vector<std::string> verify(const Program& program, Gradients gradients = Gradients::kRefused);

}  // namespace tdsl::ir

#pragma once

#include <string>
#include <vector>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// One sentence per violated rule, beginning with the operator's line; empty if the program is well formed:
///   uniqueness   no operator creates two tuples with one key;
///   continuity   an absent block represents a zero block wherever its value is used, including results;
///   sites        joined blocks are on one site, concatenated blocks are together, and partial results are aggregated
///                before they are used as complete ones, including results.
[[nodiscard]] std::vector<std::string> verify(const Program& program);
[[nodiscard]] std::vector<std::string> verify(const Expr& e);

}  // namespace tdsl::ir::algebra

#pragma once

#include <string>
#include <vector>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// Every violated rule as one sentence that begins with the operator's line; empty if the program is well formed:
///   uniqueness   no operator gives two tuples of one key;
///   continuity   an absent block stands for a zero block wherever its value is used, also in results;
///   sites        joined blocks meet, concatenated blocks are together, partial results are aggregated before they are
///   used
///                as whole ones, also in results.
[[nodiscard]] std::vector<std::string> verify(const Program& program);
[[nodiscard]] std::vector<std::string> verify(const Expr& e);

}  // namespace tdsl::ir::algebra

#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// Last uses of values.
struct Lifetimes {
  /// For every node, the values of its own region that are dead after it (including its own results).
  std::unordered_map<const Node*, std::vector<ValueId>> last;
  /// For every node with regions, the outer values used in these.
  std::unordered_map<const Node*, std::set<ValueId>> captured;
};
[[nodiscard]] Lifetimes find_lifetimes(const Program& program);

}  // namespace tdsl::ir::eval

#pragma once

#include <set>
#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir::eval {

/// When values are needed for the last time.
struct Lifetimes {
  /// For every node, the values of its own region that nothing after it uses (its own results included).
  std::unordered_map<const Node*, std::vector<ValueId>> last;
  /// For every node with regions, the outer values that these mention.
  std::unordered_map<const Node*, std::set<ValueId>> captured;
};
[[nodiscard]] Lifetimes find_lifetimes(const Program& program);

}  // namespace tdsl::ir::eval

#pragma once

#include <unordered_map>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// Computes when values can be released. Each value that a region defines, or receives as an argument, and does not
/// yield occurs exactly once: after the node of that region that last uses it, nested regions included (using a tensor
/// uses the values of its shape); after its definition if it is unused; or on entry if it is an unused argument.
///
///     %2 = compute [i in 0..%0] (exp(%1[i]))
///     %3 = compute [i in 0..%0] (neg(%2[i]))      dead after: %2
///     output "y" %3                               dead after: %0, %3
///
/// Holds pointers into the given program, which must outlive the table and stay unchanged.
struct Lifetimes {
  std::unordered_map<const ir::Node*, std::vector<ir::ValueId>> dead_after;
  std::unordered_map<const ir::Region*, std::vector<ir::ValueId>> dead_on_entry;

  /// The values dead after `node`; empty if none.
  [[nodiscard]] const std::vector<ir::ValueId>& after(const ir::Node& node) const;
  [[nodiscard]] const std::vector<ir::ValueId>& on_entry(const ir::Region& region) const;
};

[[nodiscard]] Lifetimes lifetimes(const ir::Program& program);

}  // namespace tdsl::passes

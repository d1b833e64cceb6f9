#pragma once

#include <set>
#include <vector>

#include "ir/differentiate/adjoints.h"
#include "ir/graph/clone.h"
#include "ir/graph/extent_facts.h"

namespace tdsl::ir {

/// Values carried into or out of each iteration of a loop, stored for the reversed loop: an additional carried tensor
/// `[iterations, shape…]`, one slice per iteration.
class Tape {
 public:
  /// `node` is the loop, which gets new carried values. `prelude` is inserted before it.
  Tape(Program& program, const ExtentFacts& facts, Node& node, std::vector<Node>& prelude);

  /// The loop's trip count.
  [[nodiscard]] const Extent& count() const { return count_; }
  /// The number of the iteration with that index, from 0.
  [[nodiscard]] Expr number(ValueId index) const;
  /// Stores an argument or a yield of the body; returns the tensor after the loop.
  ValueId keep(ValueId value);

 private:
  Program& program_;
  const ExtentFacts& facts_;
  Node& node_;
  NodeWriter prelude_;
  Extent count_;
};

/// Recomputation of the part of a forward region that a reversed region needs, under new names.
///
/// Prepends to `reversed.nodes` copies of the nodes of `forward` that `reversed` uses, directly or not, and renames
/// these uses. `names` maps values of `forward` that are already available: its arguments and stored values.
void recompute(Program& program, const Region& forward, Region& reversed, Renaming names);
/// The values defined by `forward` itself (arguments and results of its nodes) that `reversed` and its recomputation
/// need, given the available `known` ones.
[[nodiscard]] std::set<ValueId> needed_of(const Program& program, const Region& forward, const Region& reversed,
                                          const Renaming& known);

}  // namespace tdsl::ir

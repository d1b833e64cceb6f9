#pragma once

#include <map>
#include <set>
#include <vector>

#include "ir/differentiate/adjoints.h"
#include "ir/graph/clone.h"
#include "ir/graph/extent_facts.h"

namespace tdsl::ir {

/// Values that a loop carries into each iteration or out of it, kept for the reversed loop: a further carried tensor
/// `[iterations, shape…]` of which each iteration writes its own part.
class Tape {
 public:
  /// `node` is the loop; it gets new carried values. `prelude`: goes before it.
  Tape(Program& program, const ExtentFacts& facts, Node& node, std::vector<Node>& prelude);

  /// How many iterations the loop has.
  [[nodiscard]] const Extent& count() const { return count_; }
  /// The number of the iteration with that index, from 0.
  [[nodiscard]] Expr number(ValueId index) const;
  /// Keeps an argument or a yield of the body; the result is the tensor after the loop.
  ValueId keep(ValueId value);

 private:
  Program& program_;
  const ExtentFacts& facts_;
  Node& node_;
  NodeWriter prelude_;
  Extent count_;
};

/// The part of a forward region that a reversed region needs again, under new names.
///
/// Appends to `reversed.nodes`' front copies of the nodes of `forward` that `reversed` mentions, directly or not, and
/// renames what it mentions. `names` says what already stands for values of `forward`: its arguments and what was kept.
void recompute(Program& program, const Region& forward, Region& reversed, Renaming names);
/// The values defined by `forward` itself (arguments and results of its nodes) that `reversed` and recomputing for it
/// need, where `known` stands for some of them.
[[nodiscard]] std::set<ValueId> needed_of(const Program& program, const Region& forward, const Region& reversed,
                                          const Renaming& known);

}  // namespace tdsl::ir

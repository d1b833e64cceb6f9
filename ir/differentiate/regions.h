#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"
#include "ir/graph/extent_facts.h"

namespace tdsl::ir {

/// What all parts of one `grad` share.
struct GradientContext {
  Program& program;
  const ExtentFacts& facts;
  Activity& activity;
};

/// Nodes to be put in front of the region's node number `position`.
struct Prelude {
  std::size_t position = 0;
  std::vector<Node> nodes;
};
void insert(Region& region, std::vector<Prelude> preludes);

/// Walks nodes backwards and writes the nodes that compute adjoints.
///
/// Note [Loops]. A loop is differentiated by a loop in the opposite direction, which carries the adjoints of what the
/// loop carries and of what its body reads from outside. What the reversed body needs of the forward iteration it
/// computes again, from the values carried at the iteration's begin, which the forward loop keeps in a tensor with a
/// leading dimension, the tape (ir/differentiate/tape.h). Only what is needed is kept and computed: a loop that adds up
/// products keeps nothing. A branch is differentiated by a branch under the same condition. A `while` loop also counts
/// its iterations; it is run once more as a loop of that length, and that one is differentiated.
class ReverseWalk {
 public:
  ReverseWalk(const GradientContext& context, std::vector<Node>& nodes)
      : context_(context), writer_(context.program, nodes), adjoints_(writer_) {}
  ReverseWalk(const ReverseWalk&) = delete;
  ReverseWalk& operator=(const ReverseWalk&) = delete;

  [[nodiscard]] Adjoints& adjoints() { return adjoints_; }
  /// The first `count` nodes of the region, the last one first. Loops among them may get tapes, whose preludes are for
  /// the caller to insert. Throws NotDifferentiable.
  [[nodiscard]] std::vector<Prelude> walk(Region& region, std::size_t count);

 private:
  void loop(Node& node, For& f, std::vector<Node>& prelude);
  void while_loop(Node& node, While& w, std::vector<Node>& prelude);
  void branch(Node& node, If& i);
  /// Adjoints that an iteration hands on as it got them need not be carried: returns which, with their initial values.
  static std::vector<std::pair<std::size_t, ValueId>> drop_unchanged(Program& program, For& reversed,
                                                                     std::vector<std::size_t>& carried,
                                                                     std::vector<ValueId>& results);
  [[nodiscard]] Region reversed_branch(const Node& node, Region& forward, const std::vector<ValueId>& outer,
                                       const std::vector<std::optional<ValueId>>& given);
  [[nodiscard]] bool any_adjoint(const Node& node) const;
  /// What the results that have adjoints depend on inside the node's regions.
  [[nodiscard]] std::set<ValueId> relevant(const Node& node) const;
  /// The active values of the surroundings among those.
  [[nodiscard]] std::vector<ValueId> captured(const Node& node) const;
  ValueId scalar(const Expr& e, const std::string& name, const SourceRange& range);

  const GradientContext& context_;
  NodeWriter writer_;
  Adjoints adjoints_;
};

}  // namespace tdsl::ir

#pragma once

#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/differentiate/activity.h"
#include "ir/differentiate/adjoints.h"
#include "ir/graph/extent_facts.h"

namespace tdsl::ir {

/// Data shared by all parts of one `grad`.
struct GradientContext {
  Program& program;
  const ExtentFacts& facts;
  Activity& activity;
};

/// Nodes to insert before node number `position` of the region.
struct Prelude {
  std::size_t position = 0;
  std::vector<Node> nodes;
};
void insert(Region& region, std::vector<Prelude> preludes);

/// Traverses nodes backwards and emits the nodes that compute adjoints.
///
/// Note [Loops]. A loop is differentiated by a loop in the opposite direction, which carries the adjoints of the loop's
/// carried values and of the outside values read in its body. The reversed body recomputes the forward values it needs
/// from the values carried at the beginning of the iteration, which the forward loop stores in a tensor with a leading
/// dimension, the tape (ir/differentiate/tape.h). Only needed values are stored and recomputed: a loop that accumulates
/// products stores nothing. A branch is differentiated by a branch under the same condition. A `while` loop also counts
/// its iterations; it is run again as a loop of that length, which is then differentiated.
class ReverseWalk {
 public:
  ReverseWalk(const GradientContext& context, std::vector<Node>& nodes)
      : context_(context), writer_(context.program, nodes), adjoints_(writer_) {}
  ReverseWalk(const ReverseWalk&) = delete;
  ReverseWalk& operator=(const ReverseWalk&) = delete;

  [[nodiscard]] Adjoints& adjoints() { return adjoints_; }
  /// Processes the first `count` nodes of the region, from the last to the first. Loops among them may get tapes, whose
  /// preludes the caller inserts. Throws NotDifferentiable.
  [[nodiscard]] std::vector<Prelude> walk(Region& region, std::size_t count);

 private:
  void loop(Node& node, For& f, std::vector<Node>& prelude);
  void while_loop(Node& node, While& w, std::vector<Node>& prelude);
  void branch(Node& node, If& i);
  /// Adjoints that an iteration passes on unchanged need not be carried: returns their positions and initial values.
  static std::vector<std::pair<std::size_t, ValueId>> drop_unchanged(Program& program, For& reversed,
                                                                     std::vector<std::size_t>& carried,
                                                                     std::vector<ValueId>& results);
  [[nodiscard]] Region reversed_branch(const Node& node, Region& forward, const std::vector<ValueId>& outer,
                                       const std::vector<std::optional<ValueId>>& given);
  [[nodiscard]] bool any_adjoint(const Node& node) const;
  /// Values inside the node's regions on which results with adjoints depend.
  [[nodiscard]] std::set<ValueId> relevant(const Node& node) const;
  /// The active outside values among those.
  [[nodiscard]] std::vector<ValueId> captured(const Node& node) const;
  ValueId scalar(const Expr& e, const std::string& name, const SourceRange& range);

  const GradientContext& context_;
  NodeWriter writer_;
  Adjoints adjoints_;
};

/// In a loop body, names the single elements that scalar statements read from tensors modified in the loop, and the
/// values they store, so that a reversed loop stores those instead of whole tensors:
///
///     y[i] = sin(y[i - 1]) * x[i];     becomes     let e = y[i - 1]; let v = sin(e) * x[i]; y[i] = v;
///
/// Returns the elements' values. Reads that occur only in a branch stay in place.
[[nodiscard]] std::vector<ValueId> name_elements(Program& program, Region& body, Activity& activity);

}  // namespace tdsl::ir

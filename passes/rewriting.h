#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ir/graph/clone.h"
#include "ir/graph/expr_build.h"
#include "ir/graph/graph.h"

// What several passes need to look up and rewrite in an index graph.

namespace tdsl::passes {

using ValueMap = std::unordered_map<ir::ValueId, ir::ValueId>;

/// What `v` is called after following the map to its end.
[[nodiscard]] ir::ValueId renamed(const ValueMap& map, ir::ValueId v);
[[nodiscard]] ir::Expr rename_values(const ir::Expr& e, const ValueMap& map);
[[nodiscard]] ir::Extent rename_values(const ir::Extent& e, const ValueMap& map);
/// Renames every operand of the node, nested regions included; never what it defines.
void rename_operands(ir::Node& node, const ValueMap& map);
void rename_operands(ir::Region& region, const ValueMap& map);
/// Renames in the region and in the shapes of all values.
void rename_everywhere(ir::Program& program, const ValueMap& map);

/// Applies `f` to every expression of the Compute: bodies, guard, left subscripts.
void rewrite_expressions(ir::Compute& c, const std::function<ir::Expr(const ir::Expr&)>& f);

/// Replaces label `i` by `replacements[i]`; null entries stay.
[[nodiscard]] ir::Expr substitute_labels(const ir::Expr& e, const std::vector<ir::Expr>& replacements);
/// Adds `by` to all labels from `first` on.
[[nodiscard]] ir::Expr shift_labels(const ir::Expr& e, std::int32_t first, std::int32_t by);
/// Whether a read of `v` occurs.
[[nodiscard]] bool reads(const ir::Expr& e, ir::ValueId v);
[[nodiscard]] int node_count(const ir::Expr& e);
/// All values read by the expressions of the Compute.
[[nodiscard]] std::set<ir::ValueId> values_read(const ir::Compute& c);

/// The value's name in backquotes for messages; `otherwise` if it has none.
[[nodiscard]] std::string quoted(const ir::Program& program, ir::ValueId v, std::string_view otherwise);

/// Number of places (operand lists, yields) that mention each value, indexed by id.
[[nodiscard]] std::vector<int> use_counts(const ir::Program& program);

/// The node that defines each value; null for region arguments. Pointers into the program: valid until it changes.
[[nodiscard]] std::vector<const ir::Node*> definitions(const ir::Program& program);
/// The Compute that defines `v`, or null.
[[nodiscard]] const ir::Compute* compute_of(const std::vector<const ir::Node*>& definitions, ir::ValueId v);

/// True if Computes in the node's regions become operations of their own: no loop that runs as one task, no nest of
/// operators.
[[nodiscard]] bool holds_operations(const ir::Node& node);
/// Calls `f` on every Compute and its node, at any depth, in place.
void for_each_compute(ir::Region& region, const std::function<void(ir::Node&, ir::Compute&)>& f);

/// Whether the node's value is a body evaluated per element and nothing else: no reduction, no left side, one result,
/// no guard.
[[nodiscard]] bool is_elementwise(const ir::Compute& c);
/// Whether all elements are one constant; then that constant, else null.
[[nodiscard]] ir::Expr constant_fill(const ir::Compute& c);

/// Whether a read may be out of bounds as far as the ranges of `labels` (by number) tell.
[[nodiscard]] bool read_may_fail(const ir::Program& program, const ir::Read& r,
                                 const std::vector<const ir::Label*>& labels);
/// Whether computing it can stop the run: integer division, narrowing, subscripts not known to be in bounds, colliding
/// writes.
[[nodiscard]] bool can_fail(const ir::Program& program, const ir::Compute& c);

}  // namespace tdsl::passes

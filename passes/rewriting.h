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

// Lookup and rewriting helpers shared by passes over the index graph.

namespace tdsl::passes {

/// Not all of the compiler supports Computes with more index variables.
inline constexpr std::size_t kMostLabels = 8;

using ValueMap = std::unordered_map<ir::ValueId, ir::ValueId>;

/// The new name of `v`: follows the map to its end.
[[nodiscard]] ir::ValueId renamed(const ValueMap& map, ir::ValueId v);
[[nodiscard]] ir::Expr rename_values(const ir::Expr& e, const ValueMap& map);
[[nodiscard]] ir::Extent rename_values(const ir::Extent& e, const ValueMap& map);
/// Renames every operand of the node, nested regions included, but not its results.
void rename_operands(ir::Node& node, const ValueMap& map);
void rename_operands(ir::Region& region, const ValueMap& map);
/// Renames values in the region and in the shapes of all values.
void rename_everywhere(ir::Program& program, const ValueMap& map);

/// Applies `f` to every expression of the Compute: bodies, guard, left subscripts.
void rewrite_expressions(ir::Compute& c, const std::function<ir::Expr(const ir::Expr&)>& f);

/// Replaces label `i` by `replacements[i]`; null entries leave it unchanged.
[[nodiscard]] ir::Expr substitute_labels(const ir::Expr& e, const std::vector<ir::Expr>& replacements);
/// Adds `by` to all labels >= `first`.
[[nodiscard]] ir::Expr shift_labels(const ir::Expr& e, std::int32_t first, std::int32_t by);
/// True if the expression reads `v`.
[[nodiscard]] bool reads(const ir::Expr& e, ir::ValueId v);
[[nodiscard]] int node_count(const ir::Expr& e);
/// True if the expression applies a procedure.
[[nodiscard]] bool applies(const ir::Expr& e);
/// All values read by the expressions of the Compute.
[[nodiscard]] std::set<ir::ValueId> values_read(const ir::Compute& c);

/// The value's name in backquotes for messages; `otherwise` if it has none.
[[nodiscard]] std::string quoted(const ir::Program& program, ir::ValueId v, std::string_view otherwise);

/// Number of mentions (operand lists, yields) of each value, indexed by id.
[[nodiscard]] std::vector<int> use_counts(const ir::Program& program);

/// The node that defines each value; null for region arguments. The pointers are invalidated when the program changes.
[[nodiscard]] std::vector<const ir::Node*> definitions(const ir::Program& program);
/// The Compute that defines `v`, or null.
[[nodiscard]] const ir::Compute* compute_of(const std::vector<const ir::Node*>& definitions, ir::ValueId v);

/// True if Computes in the node's regions become separate operations: false for loops that run as one task and for
/// fused nests.
[[nodiscard]] bool holds_operations(const ir::Node& node);
/// Calls `f` on every Compute and its node, at any depth, in place.
void for_each_compute(ir::Region& region, const std::function<void(ir::Node&, ir::Compute&)>& f);

/// True if the node only evaluates one body per element: no reduction, store subscripts, guard or base, one result.
[[nodiscard]] bool is_elementwise(const ir::Compute& c);
/// The constant that all elements are equal to, or null.
[[nodiscard]] ir::Expr constant_fill(const ir::Compute& c);

/// True unless the ranges of `labels` (by number) prove that the read is in bounds where all `conditions` hold.
[[nodiscard]] bool read_may_fail(const ir::Program& program, const ir::Read& r,
                                 const std::vector<const ir::Label*>& labels,
                                 const std::vector<ir::Expr>& conditions = {});
/// True if evaluating the Compute can stop the run: integer division, narrowing, subscripts not provably in bounds,
/// colliding writes.
[[nodiscard]] bool can_fail(const ir::Program& program, const ir::Compute& c);

}  // namespace tdsl::passes

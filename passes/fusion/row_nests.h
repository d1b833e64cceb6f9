#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/graph.h"

// Requirements on operators of a nest over rows (ir::Fused): the Row template of Boehm et al., On Optimizing Operator
// Fusion Plans for Large-Scale Machine Learning in SystemML (2018), in terms of index variables.

namespace tdsl::passes::fusion_plans {

/// The labels of an operator that a nest runs over, outermost first.
using SharedLabels = std::vector<std::int32_t>;

[[nodiscard]] std::int32_t label_count(const ir::Compute& c);
/// Number of shared labels that are out labels: all of them for an aligned value, none for a closing one.
[[nodiscard]] std::size_t aligned_labels(const ir::Compute& c, const SharedLabels& shared);

/// Labels 0, 1, …
[[nodiscard]] SharedLabels leading_labels(std::size_t count);
/// True if the read's first subscripts are the shared labels.
[[nodiscard]] bool is_by_rows(const ir::Read& r, const SharedLabels& shared);

/// The node's operator if a nest can contain it, else null: one result, no guard or store subscripts, a built-in
/// monoid, and it cannot stop the run. `groups`: also allows a guard that is a group (ir/graph/group.h).
[[nodiscard]] const ir::Compute* nest_operator(const ir::Program& program, const ir::Node& node, bool groups = false);
/// True if a nest over `shared` can contain the operator: it reads its operands by the rows of the nest. `products`:
/// also allows operators with more points than an operand has elements.
[[nodiscard]] bool fits_rows(const ir::Program& program, const ir::Compute& c, const SharedLabels& shared,
                             bool products);
/// True if the shared operand of a product, or the result of a product of rows, provably fits in cache.
[[nodiscard]] bool is_small_product(const ir::Compute& c, const SharedLabels& shared);
/// True if a node from `first` to `last` may replace one of these tensors: a read moved behind it would extend the old
/// tensor's lifetime.
[[nodiscard]] bool replaced_between(const std::set<ir::ValueId>& read, const ir::Region& region, std::size_t first,
                                    std::size_t last);
/// True if every row is read at most once.
[[nodiscard]] bool streams_rows(const ir::Compute& c, const SharedLabels& shared);
/// Candidate labels for a nest that ends with this operator: its first labels, or those of the first dimensions that it
/// reads.
[[nodiscard]] std::vector<SharedLabels> row_candidates(const ir::Compute& c);

}  // namespace tdsl::passes::fusion_plans

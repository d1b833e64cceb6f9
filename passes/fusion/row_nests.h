#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "ir/graph/computes.h"
#include "ir/graph/graph.h"

// What an operator has to be for a nest over rows (ir::Fused): the template Row of
// Boehm et al., On Optimizing Operator Fusion Plans for Large-Scale Machine Learning in SystemML (2018), in terms of
// index variables.

namespace tdsl::passes::fusion_plans {

/// Labels of an operator that a nest runs over, outermost first.
using SharedLabels = std::vector<std::int32_t>;

[[nodiscard]] std::int32_t label_count(const ir::Compute& c);
/// How many of the labels are out labels: all, of an aligned value, or none, of one that closes.
[[nodiscard]] std::size_t aligned_labels(const ir::Compute& c, const SharedLabels& shared);

/// Labels 0, 1, …
[[nodiscard]] SharedLabels leading_labels(std::size_t count);
/// Whether the read's first subscripts are the shared labels.
[[nodiscard]] bool is_by_rows(const ir::Read& r, const SharedLabels& shared);

/// The node's operator, if nests can hold it: of one value, without guard or store subscripts, of the language's own
/// monoids; it cannot stop the run. `groups`: the guard may be a group (ir/graph/group.h).
[[nodiscard]] const ir::Compute* nest_operator(const ir::Program& program, const ir::Node& node, bool groups = false);
/// Whether the operator can be in a nest over `shared`: rows of what it reads are where the nest is. `products`: also
/// operators with more points than an operand has elements.
[[nodiscard]] bool fits_rows(const ir::Program& program, const ir::Compute& c, const SharedLabels& shared,
                             bool products);
/// Whether all that rows share in a product, or what a product of rows makes, is known to stay in cache.
[[nodiscard]] bool is_small_product(const ir::Compute& c, const SharedLabels& shared);
/// Whether one of the nodes from `first` to `last` may replace a tensor of these: moved behind it, a read would keep
/// the old tensor alive.
[[nodiscard]] bool replaced_between(const std::set<ir::ValueId>& read, const ir::Region& region, std::size_t first,
                                    std::size_t last);
/// Whether no row is read more often than once.
[[nodiscard]] bool streams_rows(const ir::Compute& c, const SharedLabels& shared);
/// What a nest may run over, as its last operator has it: its first labels, or those of the first dimensions of what it
/// reads.
[[nodiscard]] std::vector<SharedLabels> row_candidates(const ir::Compute& c);

}  // namespace tdsl::passes::fusion_plans

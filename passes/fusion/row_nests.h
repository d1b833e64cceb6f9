#pragma once

#include <cstdint>
#include <map>
#include <optional>
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
/// The nodes between those of a nest that must run after it: those that depend on its results, and behind the first of
/// them with effects or that may stop the run, such as an output, all other such nodes. nullopt if no such order
/// exists. `nest`: by position in the region, the result that a node contributes, if any; `mentioned`: by position, all
/// values that a node mentions.
[[nodiscard]] std::optional<std::set<std::size_t>> nodes_behind(
    const ir::Program& program, const ir::Region& region, const std::vector<std::set<ir::ValueId>>& mentioned,
    const std::map<std::size_t, std::optional<ir::ValueId>>& nest);
/// The region with `made` in place of the nodes of the nest, and the nodes in `behind` after it.
template <class Nest>
void put_nest(ir::Region& region, const Nest& nest, const std::set<std::size_t>& behind, std::vector<ir::Node> made) {
  std::vector<ir::Node> nodes, later;
  const std::size_t last = nest.rbegin()->first;
  for (std::size_t k = 0; k < region.nodes.size(); ++k) {
    if (!nest.contains(k)) (behind.contains(k) ? later : nodes).push_back(std::move(region.nodes[k]));
    if (k != last) continue;
    for (auto* list : {&made, &later}) {
      for (ir::Node& node : *list) nodes.push_back(std::move(node));
    }
  }
  region.nodes = std::move(nodes);
}
/// True if every row is read at most once.
[[nodiscard]] bool streams_rows(const ir::Compute& c, const SharedLabels& shared);
/// Candidate labels for a nest that ends with this operator: its first labels, or those of the first dimensions that it
/// reads.
[[nodiscard]] std::vector<SharedLabels> row_candidates(const ir::Compute& c);

}  // namespace tdsl::passes::fusion_plans

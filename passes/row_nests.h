#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <vector>

#include "ir/graph.h"

// What operators must be to share a loop over rows: the index variables that are an operator's first labels, or that it reduces over and
// which are first in what it reads.

namespace tdsl::passes {

/// Which labels of an operator the nest runs over.
using Shared = std::vector<std::int32_t>;

[[nodiscard]] const ir::Label& label_of(const ir::Compute& c, std::int32_t label);
/// The first labels.
[[nodiscard]] Shared leading(std::size_t count);
/// Calls `f` for the reads of the body and of the guard.
void for_each_read(const ir::Compute& c, const std::function<void(const ir::Read&)>& f);
/// How many of them are out labels: all of an aligned value, none of one that closes.
[[nodiscard]] std::size_t aligned_labels(const ir::Compute& c, const Shared& shared);
/// Whether the first subscripts are the shared labels.
[[nodiscard]] bool is_by_rows(const ir::Read& r, const Shared& shared);
/// What a nest may run over, as this operator has it: its first labels, or those of the first dimensions of what it reads.
[[nodiscard]] std::vector<Shared> row_candidates(const ir::Compute& c);
/// Whether no row is read more often than once.
[[nodiscard]] bool streams(const ir::Compute& c, const Shared& shared);
/// Whether it is a product, of whatever kind, that runs well on blocks of rows: of rows with what all rows share (`sum[k](X[i, k] * V[k, j])`,
/// `min[k](X[i, k] + V[k, j])`), or of rows with rows, summed over them (`sum[i](X[i, j] * Y[i, k])`).
[[nodiscard]] bool multiplies(const ir::Compute& c, const Shared& shared);
/// Whether what all rows share in a product, or what a product of rows makes, is known to stay in cache.
[[nodiscard]] bool is_small_product(const ir::Compute& c, const Shared& shared);
/// Whether a node between the places may replace a tensor of these: a read that moves behind it would keep the old tensor alive.
[[nodiscard]] bool replaced_between(const std::set<ir::ValueId>& read, const ir::Region& region, std::size_t first, std::size_t last);

/// The node as an operator that can be in a nest whatever it runs over, else null. `groups`: it may have a guard that is a group (ir/group.h).
[[nodiscard]] const ir::Compute* plain_compute(const ir::Program& program, const ir::Node& node, bool groups = false);
/// Whether the operator can be in a nest over `shared`: rows of what it reads are where the nest is.
[[nodiscard]] bool fits(const ir::Program& program, const ir::Compute& c, const Shared& shared, bool may_multiply);

}  // namespace tdsl::passes

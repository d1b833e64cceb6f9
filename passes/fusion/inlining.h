#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

// Helpers for computing an element-wise operator in the loops of its reader.

namespace tdsl::passes::fusion_plans {

/// The subscripts of the reads of `v`; nullopt if two reads differ or there is none.
[[nodiscard]] std::optional<std::vector<ir::Expr>> only_subscripts(const ir::Compute& c, ir::ValueId v);

/// True if the subscripts are all labels of the consumer, each once, over exactly the producer's ranges.
[[nodiscard]] bool is_bijection(const std::vector<ir::Expr>& subscripts, const ir::Compute& consumer,
                                const ir::Compute& producer);

/// True if the consumer uses `v` other than through reads in its expressions.
[[nodiscard]] bool needs_whole(const ir::Program& program, const ir::Node& node, const ir::Compute& c, ir::ValueId v);

/// The value of one element as an expression, with a guard as a select; null if the node is not element-wise.
[[nodiscard]] ir::Expr element_of(const ir::Compute& c);

/// True if the node may replace one of these tensors: a read moved behind it would extend the old tensor's lifetime.
[[nodiscard]] bool replaces_what_is_read(const ir::Program& program, const ir::Node& node,
                                         const std::set<ir::ValueId>& read);

/// Replaces the consumer's reads of `v` by `body`.
void inline_reads(ir::Compute& consumer, ir::ValueId v, const ir::Expr& body);

}  // namespace tdsl::passes::fusion_plans

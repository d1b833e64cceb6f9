#pragma once

#include <optional>
#include <set>
#include <vector>

#include "ir/graph/graph.h"

// What it takes to compute an element-wise operator in the loops of an operator that reads it.

namespace tdsl::passes::fusion_plans {

/// The subscripts of the reads of `v`; nothing if two reads differ or there is none.
[[nodiscard]] std::optional<std::vector<ir::Expr>> only_subscripts(const ir::Compute& c, ir::ValueId v);

/// Whether the subscripts are all labels of the consumer, each once, over exactly the producer's ranges.
[[nodiscard]] bool is_bijection(const std::vector<ir::Expr>& subscripts, const ir::Compute& consumer,
                                const ir::Compute& producer);

/// Whether the consumer needs `v` other than through reads in its expressions.
[[nodiscard]] bool needs_whole(const ir::Program& program, const ir::Node& node, const ir::Compute& c, ir::ValueId v);

/// The value of one element as an expression; null if the node is not element-wise. A guard becomes a choice.
[[nodiscard]] ir::Expr element_of(const ir::Compute& c);

/// Whether the node may replace one of these tensors: moved behind it, a read would keep the old one alive.
[[nodiscard]] bool replaces_what_is_read(const ir::Program& program, const ir::Node& node,
                                         const std::set<ir::ValueId>& read);

/// Puts `body` where the consumer reads `v`.
void inline_reads(ir::Compute& consumer, ir::ValueId v, const ir::Expr& body);

}  // namespace tdsl::passes::fusion_plans

#pragma once

#include <vector>

#include "runtime/plan/search/network.h"

// Linearisation, as section 8.4 of EinDecomp publishes it for graphs in which a result has several readers. The graph
// is decomposed into paths from producers to consumers: first the longest, then the longest of what is left, and so on.
// The values along a path are chosen by dynamic programming. Of the other edges,
//
//   - those to variables of earlier paths count with the values decided there;
//   - those to other producers count at their least: they are taken to deliver what suits, and what this costs them is
//   ignored (the cost
//     of joining operands is the consumer's own in the paper and an edge's here, so that it must not be dropped as a
//     whole);
//   - those to other consumers are ignored.
//
//     A --> C --> D --> F      1st path A C D F: tables A-C, C-D, D-F; B-C and E-F at their least; C-E ignored
//     B ----^ |         ^      2nd path B:       B-C with C as decided
//             +-> E ----+      3rd path E:       C-E and E-F with C and F as decided

namespace tdsl::plan {

/// A producer and its consumer, variables of a network.
struct Arc {
  int from = 0;
  int to = 0;
};

/// The path first in the order of its variables' numbers, where several are longest; the first of equally cheap values.
/// Arcs that close a cycle (loops carry values back) are left out: those that lead back in a depth-first walk from the
/// variables in order. The cost is that of the whole network, and may be kForbidden, as edges have been ignored.
[[nodiscard]] Answer linearise(const Network& network, const std::vector<Arc>& arcs);

}  // namespace tdsl::plan

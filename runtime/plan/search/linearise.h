#pragma once

#include <vector>

#include "runtime/plan/search/network.h"

// Linearisation, as published in section 8.4 of EinDecomp for graphs in which a result has several readers. The graph
// is decomposed into paths from producers to consumers: first the longest, then the longest of the remainder, and so
// on. The values along a path are chosen by dynamic programming. Other edges are treated as follows:
//
//   - edges to variables of earlier paths count with the values decided there;
//   - edges to other producers count at their minimum: producers are assumed to deliver the best layout at no cost
//     (joining operands is the consumer's own cost in the paper but an edge cost here, so it must not be dropped);
//   - edges to other consumers are ignored.
//
//     A --> C --> D --> F      1st path A C D F: tables A-C, C-D, D-F; B-C and E-F at their minimum; C-E ignored
//     B ----^ |         ^      2nd path B:       B-C with C as decided
//             +-> E ----+      3rd path E:       C-E and E-F with C and F as decided

namespace tdsl::plan {

/// A producer and its consumer, variables of a network.
struct Arc {
  int from = 0;
  int to = 0;
};

/// Ties between longest paths are broken by the order of their variables' numbers, ties between values by the first.
/// Arcs that close a cycle (loops carry values back) are omitted: the back edges of a depth-first search from the
/// variables in order. The cost is that of the whole network and may be kForbidden, as edges have been ignored.
[[nodiscard]] Answer linearise(const Network& network, const std::vector<Arc>& arcs);

}  // namespace tdsl::plan

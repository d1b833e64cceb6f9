#pragma once

#include <optional>
#include <vector>

#include "ir/analysis/contraction.h"
#include "ir/graph/extent_facts.h"
#include "ir/graph/graph.h"

// Which elements of a tensor a Compute reads, and how many.

namespace tdsl::passes {

/// All reads of one tensor at the same subscripts, which are polynomials of index variables and sizes.
struct ElementRead {
  ir::Expr element;         ///< the read
  ir::LabelSet labels = 0;  ///< the index variables in its subscripts, without those of one value
  ir::Extent points;        ///< number of points of these, an upper bound on the elements that are read
  bool whole = false;       ///< every element, by an index variable per dimension
  bool each_once = false;  ///< these points read distinct elements, so that there are at most as many as the tensor has
  bool ascending = false;  ///< in no subscript an index variable is negative
  bool certain = false;    ///< read at every point of the Compute
};

/// The distinct reads of `v` in the expressions of the Compute. Nothing if its elements serve as subscripts, or if its
/// own subscripts depend on data or are periodic.
[[nodiscard]] std::optional<std::vector<ElementRead>> element_reads(const ir::Program& program,
                                                                    const ir::ExtentFacts& facts, const ir::Compute& c,
                                                                    ir::ValueId v);

/// The index variables of the Compute that have more than one value.
[[nodiscard]] ir::LabelSet running_labels(const ir::Compute& c);
/// The number of points of these index variables; nothing if it is too large a polynomial.
[[nodiscard]] std::optional<ir::Extent> points_of(const ir::Compute& c, ir::LabelSet labels);

/// Smallest and largest value of a subscript, provided that every index variable has a value; nothing unless it is
/// linear in them with constant coefficients.
struct SubscriptRange {
  ir::Extent least;
  ir::Extent most;  ///< inclusive
};
[[nodiscard]] std::optional<SubscriptRange> subscript_range(const ir::Compute& c, const ir::Expr& subscript);

}  // namespace tdsl::passes

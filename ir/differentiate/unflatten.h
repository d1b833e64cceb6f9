#pragma once

#include <optional>

#include "ir/differentiate/place.h"

namespace tdsl::ir {

/// The placement of a read by a reshape: subscripts that decompose the row-major position of the point,
///
///     A[(6 * i + j) / 4, (6 * i + j) % 4]   for i in 0..2, j in 0..6   of A: f64[3, 4]
///
/// so that each element is read at exactly one point: i = (4 * s + t) / 6, j = (4 * s + t) % 6. Nothing for other
/// subscripts.
[[nodiscard]] std::optional<Placement> unflattened(const ExtentFacts& facts, const std::vector<Expr>& subscripts,
                                                   const Type& tensor, const std::vector<Label>& labels);

}  // namespace tdsl::ir

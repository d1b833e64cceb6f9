#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

// Computes whose loops can go over the stored elements of one operand instead of over all points.

namespace tdsl::ir {

/// Loops over the rows of a compressed matrix, and in each over its stored elements.
struct StoredWalk {
  ValueId tensor;           ///< the compressed operand whose elements are visited
  std::int32_t row = 0;     ///< the index variable (out labels first, then reduce labels) that is its first subscript,
  std::int32_t column = 0;  ///< and its second; every read of the walked element has just these two
  /// The result's own labels are (row, column), and what is not visited is 0: it has the walked coordinates at most, in the same order.
  bool compressed_result = false;
};

/// Whether the Compute reads the matrix at (row, column) of the walk and nowhere else.
[[nodiscard]] bool reads_walked(const Compute& compute, const StoredWalk& walk, ValueId matrix);

/// The walk that visits every point which can change the compute's result: where the operand's element is absent, the support of guard and
/// body (ir/support.h) is false. Nothing if there is none, or the compute stores in a way that a walk cannot follow: left sides, bases,
/// values combined with what is there, fills other than 0, positions of optima, subscripts that depend on data.
/// Of several operands that would do, the first that is read.
[[nodiscard]] std::optional<StoredWalk> stored_walk(const Program& program, const Compute& compute);

}  // namespace tdsl::ir

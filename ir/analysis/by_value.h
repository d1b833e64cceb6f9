#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// How a loop over the stored elements of a matrix runs where columns are coded: its body is evaluated once per
/// distinct value of a column instead of once per element.
enum class ByValue : std::uint8_t {
  kNone,
  kTotals,   ///< a reduction of each row: the body does not depend on the row
  kCounts,   ///< a reduction over rows: the body does not depend on the row, and a sum adds it once for all its rows
  kWeights,  ///< a sum over rows of products with a weight of the row: the weights of a value's rows are added first
  kPasses    ///< several of these, one after the other: operators that share a walk
};
/// `totals`, `counts`, `weights`, `passes`.
[[nodiscard]] constexpr std::string_view name_of(ByValue by) {
  using enum ByValue;
  return by == kTotals    ? "totals"
         : by == kCounts  ? "counts"
         : by == kWeights ? "weights"
         : by == kPasses  ? "passes"
                          : "";
}

/// How the operation, alone, runs once per distinct value of each column, if its driver, a matrix, is coded: it visits
/// the matrix row by row, reads no other compressed tensor, and its body depends on the element and the column only, or
/// is a product of the element and of a value of the row. No other index variables, store subscripts or base.
///
///     y[i] = sum[j](X[i, j] * v[j])           totals
///     s = sum[i, j](X[i, j] * X[i, j])        counts
///     z[j] = sum[i](X[i, j] * w[i])           weights
[[nodiscard]] ByValue by_value(const Compute& compute, const std::function<const Type&(ValueId)>& type);

/// The factor of a product with an element of a compressed tensor; null for anything else.
[[nodiscard]] Expr weight_of(const Expr& product, const std::function<const Type&(ValueId)>& type);

}  // namespace tdsl::ir

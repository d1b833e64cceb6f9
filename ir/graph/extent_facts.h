#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::ir {

/// `sum of coefficient * label + offset`, all coefficients known numbers.
struct AffineExpr {
  std::map<std::int32_t, std::int64_t> coefficients;  ///< missing labels have coefficient 0
  Extent offset;
};

/// The extent of an integer scalar.
using ValueExtent = std::function<Extent(ValueId)>;
/// Nothing if the i64 expression is not affine in its labels.
[[nodiscard]] std::optional<AffineExpr> affine_in_labels(const Expr& e, const ValueExtent& value_extent);

/// Facts about a program's sizes: scalars that are polynomials of others, sizes checked to be equal, sizes that are
/// never negative.
class ExtentFacts {
 public:
  explicit ExtentFacts(const Program& program);

  /// An integer scalar in terms of extents: itself, or the extent it was computed from.
  [[nodiscard]] Extent of_value(ValueId v) const;
  [[nodiscard]] std::optional<AffineExpr> affine(const Expr& e) const {
    return affine_in_labels(e, [this](ValueId v) { return of_value(v); });
  }
  /// Equal as polynomials, or by a check in the program.
  [[nodiscard]] bool same(const Extent& a, const Extent& b) const;
  /// True if the size is provably at least 0.
  [[nodiscard]] bool never_negative(const Extent& e) const;

 private:
  void learn(const Region& region);
  void learn_sizes(const Region& body);

  std::map<ValueId, Extent> value_extents_;
  std::set<ValueId> sizes_;    ///< dimensions, and params that are sizes
  std::vector<Extent> zeros_;  ///< differences of sizes that are checked to be equal
};

}  // namespace tdsl::ir

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
  std::map<std::int32_t, std::int64_t> coefficients;  ///< none is 0
  Extent offset;
};

/// What an integer scalar is in terms of extents.
using ValueExtent = std::function<Extent(ValueId)>;
/// Nothing when the i64 expression is not affine in its labels.
[[nodiscard]] std::optional<AffineExpr> affine_in_labels(const Expr& e, const ValueExtent& value_extent);

/// What a program says about the sizes in it: which scalars are polynomials of others, which sizes it checks to be
/// equal, which are never negative.
class ExtentFacts {
 public:
  explicit ExtentFacts(const Program& program);

  /// What an integer scalar is in terms of extents: itself, or the extent it was computed from.
  [[nodiscard]] Extent of_value(ValueId v) const;
  [[nodiscard]] std::optional<AffineExpr> affine(const Expr& e) const {
    return affine_in_labels(e, [this](ValueId v) { return of_value(v); });
  }
  /// Equal as polynomials, or by a check that the program makes.
  [[nodiscard]] bool same(const Extent& a, const Extent& b) const;
  /// Whether it can be told that the size is at least 0.
  [[nodiscard]] bool never_negative(const Extent& e) const;

 private:
  void learn(const Region& region);

  std::map<ValueId, Extent> value_extents_;
  std::set<ValueId> dimensions_;
  std::vector<Extent> zeros_;  ///< differences of sizes that are checked to be equal
};

}  // namespace tdsl::ir

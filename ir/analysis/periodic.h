#pragma once

#include <optional>
#include <vector>

#include "ir/graph/affine.h"

namespace tdsl::ir {

/// `mod(i + c, n)` or `(i + c) % n` with i known to be in 0 .. n - 1: a periodic subscript that wraps around at most
/// once.
struct Periodic {
  std::int32_t label = 0;
  Extent constant;
  Extent extent;
  Expr sum;      ///< label + constant as written
  Expr divisor;  ///< the extent as written
};

/// Nothing for any other expression. `labels` by number.
[[nodiscard]] std::optional<Periodic> periodic_of(const Expr& e, const std::vector<Label>& labels, const Hoist& hoist);

/// `mod(x, n)` for an affine x that leaves 0 .. n - 1 at either end by a known distance, or by less than n.
struct Turns {
  Expr x;
  Expr n;
  Expr below;  ///< the subscript where x < 0; null if x never is
  Expr above;  ///< the subscript where x >= n; null if x never is
};
[[nodiscard]] std::optional<Turns> turns_of(const Expr& e, const Extent& extent, const std::vector<Label>& labels,
                                            const Hoist& hoist);

/// `label + constant` at another value of the label.
[[nodiscard]] Expr with_label(const Expr& e, std::int32_t label, const Expr& value);

}  // namespace tdsl::ir

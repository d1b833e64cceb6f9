#pragma once

#include <optional>
#include <vector>

#include "ir/graph/graph.h"

namespace tdsl::passes {

/// Simplifies and bounds the subscripts of a tensor from the ranges of index variables, assuming every range is
/// nonempty.
///
///     i in 0..r, j in 0..m     (i * m + j) / m is i     (i * m + j) % m is j     i * m + j is inside of a dimension of
///     r * m
///
/// Assumes that extents of the tensor are nonnegative, and positive where they bound an index variable.
class Subscripts {
 public:
  /// `labels` by number; must outlive this object.
  Subscripts(const ir::Type& tensor, const std::vector<const ir::Label*>& labels);

  /// The expression with quotients and remainders simplified where the ranges determine them, and without `mod` and
  /// `edge(…)` of positions that lie in the dimension.
  [[nodiscard]] ir::Expr settled(const ir::Expr& e) const;
  /// True if 0 <= e < extent is provable, without dividing by 0 in `e`.
  [[nodiscard]] bool inside(const ir::Expr& e, const ir::Extent& extent) const;
  /// The same where all `conditions` hold: comparisons of subscripts, such as `i - 1 >= 0`.
  [[nodiscard]] bool inside(const ir::Expr& e, const ir::Extent& extent, const std::vector<ir::Expr>& conditions) const;

 private:
  struct Hull {
    ir::Extent lowest;
    ir::Extent highest;  ///< inclusive
  };
  [[nodiscard]] std::optional<Hull> hull_of(const ir::Extent& polynomial) const;
  [[nodiscard]] bool is_positive(const ir::Extent::Atom& atom) const;
  [[nodiscard]] bool is_positive(const ir::Extent& product) const;
  [[nodiscard]] bool never_negative(const ir::Extent& e) const;
  [[nodiscard]] bool never_negative_as_written(const ir::Extent& e) const;
  [[nodiscard]] bool never_negative(const ir::Expr& e) const;
  [[nodiscard]] ir::Expr settled(const ir::Expr& whole, const ir::Binary& b) const;
  [[nodiscard]] const ir::Label* label_of(const ir::Extent::Atom& atom) const;

  const std::vector<const ir::Label*>& labels_;
  std::vector<ir::Extent> positive_;      ///< single atoms
  std::vector<ir::Extent> not_negative_;  ///< single atoms
};

/// `e` divided by a product of sizes and numbers; nullopt unless it divides every term.
[[nodiscard]] std::optional<ir::Extent> exact_quotient(const ir::Extent& e, const ir::Extent& divisor);

/// The expression with all subscripts simplified.
[[nodiscard]] ir::Expr with_settled_subscripts(const ir::Program& program, const ir::Expr& e,
                                               const std::vector<const ir::Label*>& labels);

/// The labels of a Compute by number.
[[nodiscard]] std::vector<const ir::Label*> labels_of(const ir::Compute& c);

/// True if a quotient or remainder contains an index variable.
[[nodiscard]] bool divides_labels(const ir::Expr& e);

}  // namespace tdsl::passes

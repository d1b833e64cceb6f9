#pragma once

#include <functional>
#include <optional>

#include "codegen/families.h"

namespace tdsl::codegen {

/// Turns a label-free i64 expression that is not a polynomial into a host value computed before the operation; nothing
/// if that is not possible (it reads data, or could fail where the program never evaluates it).
using Hoist = std::function<std::optional<ValueId>(const Expr&)>;

/// The subscript as an affine form over the labels with host coefficients, or nothing.
[[nodiscard]] std::optional<AffineForm> affine_of(const Expr& e, const Hoist& hoist);

/// `(i * m + j) / m`: an affine form with labels divided by a label-free expression.
struct QuotientForm {
  AffineForm numerator;
  Extent divisor;
};
[[nodiscard]] std::optional<QuotientForm> quotient_of(const Expr& e, const Hoist& hoist);
/// Whether 0 <= numerator / divisor < extent for all values of the labels follows at compile time.
[[nodiscard]] bool provably_inside(const QuotientForm& form, const std::vector<LabelTemplate>& labels, const Extent& extent);
/// Whether dimension `d` of the read is subscripted by data: neither affine, nor a quotient, nor the remainder that goes
/// with a quotient in an earlier dimension (a reshape).
[[nodiscard]] bool is_data_subscript(const ir::Read& read, std::size_t d, const Hoist& hoist);

/// Whether the expression mentions an index variable.
[[nodiscard]] bool mentions_label(const Expr& e);
/// Whether evaluating the expression can stop the run (integer division, narrowing casts, negative powers).
[[nodiscard]] bool may_fail(const Expr& e);

/// Smallest and largest value of an affine form where every label has at least one value.
struct Hull {
  Extent low;
  Extent high;  ///< inclusive
};
/// Nothing if the sign of a coefficient is not known at compile time.
[[nodiscard]] std::optional<Hull> hull_of(const AffineForm& form, const std::vector<LabelTemplate>& labels);

/// Whether 0 <= form < extent for all values of the labels follows at compile time.
[[nodiscard]] bool provably_inside(const AffineForm& form, const std::vector<LabelTemplate>& labels, const Extent& extent);

}  // namespace tdsl::codegen

#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace tdsl::ir {

/// The polynomial a label-free i64 expression computes: constants, rank-0 reads, + - * and negation. Nothing otherwise.
[[nodiscard]] std::optional<Extent> extent_of(const Expr& e);

/// As extent_of, with index variables: label k stands in the polynomial as the pseudo value label_value(k).
[[nodiscard]] std::optional<Extent> polynomial_of(const Expr& e);
[[nodiscard]] constexpr ValueId label_value(std::int32_t label) {
  return {-2 - label};
}
/// As polynomial_of; quotients and remainders of sizes count as sizes.
[[nodiscard]] std::optional<Extent> subscript_polynomial(const Expr& e);
/// Whether no term is a product of atoms.
[[nodiscard]] bool is_linear(const Extent& e);

/// An i64 expression with the value of `e`; its atoms become rank-0 reads, pseudo values index variables. The constant
/// comes last.
[[nodiscard]] Expr expr_of_polynomial(const Extent& e);

/// `coefficient * v + rest`, where `rest` does not mention v.
struct LinearForm {
  std::int64_t coefficient = 0;
  Extent rest;
};
/// Splits `e` in this way; nothing if v occurs in a product with another atom, a quotient or a remainder.
[[nodiscard]] std::optional<LinearForm> linear_in(const Extent& e, ValueId v);

[[nodiscard]] bool mentions(const Extent& e, ValueId v);

/// Whether the subscripts are sums of index variables, each times a positive number or sizes, and of sizes, and no index variable occurs twice.
[[nodiscard]] bool reads_each_label_once(const Read& r);

}  // namespace tdsl::ir

#pragma once

#include <cstdint>
#include <optional>

#include "ir/graph.h"

namespace tdsl::passes {

/// The polynomial a label-free i64 expression computes: constants, rank-0 reads, + - * and negation. Nothing otherwise.
[[nodiscard]] std::optional<ir::Extent> extent_of(const ir::Expr& e);

/// As extent_of, with index variables: label k stands in the polynomial as the pseudo value label_value(k).
[[nodiscard]] std::optional<ir::Extent> polynomial_of(const ir::Expr& e);
[[nodiscard]] constexpr ir::ValueId label_value(std::int32_t label) {
  return {-2 - label};
}
/// As polynomial_of; quotients and remainders of sizes count as sizes.
[[nodiscard]] std::optional<ir::Extent> subscript_polynomial(const ir::Expr& e);
/// Whether no term is a product of atoms.
[[nodiscard]] bool is_linear(const ir::Extent& e);

/// An i64 expression with the value of `e`; its atoms become rank-0 reads, pseudo values index variables. The constant
/// comes last.
[[nodiscard]] ir::Expr expr_of_polynomial(const ir::Extent& e);

/// `coefficient * v + rest`, where `rest` does not mention v.
struct LinearForm {
  std::int64_t coefficient = 0;
  ir::Extent rest;
};
/// Splits `e` in this way; nothing if v occurs in a product with another atom, a quotient or a remainder.
[[nodiscard]] std::optional<LinearForm> linear_in(const ir::Extent& e, ir::ValueId v);

[[nodiscard]] bool mentions(const ir::Extent& e, ir::ValueId v);

/// Whether the subscripts are sums of index variables, each times a positive number or sizes, and of sizes, and no index variable occurs twice.
[[nodiscard]] bool reads_each_label_once(const ir::Read& r);

}  // namespace tdsl::passes

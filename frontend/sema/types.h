#pragma once

#include <optional>
#include <string>

#include "frontend/sema/tensor.h"
#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// The element type of the IR, or nothing for c64 and c128.
[[nodiscard]] std::optional<ir::Scalar> scalar_of(ast::ScalarType type);

/// Whether values of `from` go to `to` without a cast (NumPy's safe casting).
[[nodiscard]] bool widens(ir::Scalar from, ir::Scalar to);

/// The common element type of two operands, and how open it still is.
struct Common {
  ir::Scalar type = ir::Scalar::kF64;
  Weak weak = Weak::kNo;
};
/// Promotion of mixed arithmetic with literals taking the type they meet. Two bools give bool.
[[nodiscard]] Common common_type(ir::Scalar a, Weak a_weak, ir::Scalar b, Weak b_weak);

/// `e` as type `to`: a cast pushed into branches, so that literals become literals of the type.
[[nodiscard]] ir::Expr converted(const ir::Expr& e, ir::Scalar to);

/// Whether an expression of this type and openness goes to `to` without a cast in the source.
[[nodiscard]] bool converts(const Tensor& t, ir::Scalar to);

/// `f64[n, m]` for messages; `extent` prints one extent.
[[nodiscard]] std::string type_text(ir::Scalar scalar, const std::vector<std::string>& extents);

}  // namespace tdsl::frontend

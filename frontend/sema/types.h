#pragma once

#include <string>

#include "frontend/sema/tensor.h"

namespace tdsl::frontend {

/// True if values of `from` convert to `to` without a cast (NumPy's safe casting).
[[nodiscard]] bool widens(ir::Scalar from, ir::Scalar to);

/// False for u64 with a signed type: no integer type holds the values of both.
[[nodiscard]] bool have_common_type(ir::Scalar a, ir::Scalar b);

/// The common element type of two operands, and its openness.
struct Common {
  ir::Scalar type = ir::Scalar::kF64;
  Weak weak = Weak::kNo;
};
/// Promotion of mixed arithmetic, where literals adapt to the other operand's type. Two bools give bool.
[[nodiscard]] Common common_type(ir::Scalar a, Weak a_weak, ir::Scalar b, Weak b_weak);

/// The type of sums and products of elements of this type: i64 for bools and integers, but u64 for u64; of floats the
/// type itself, but f32 for those of two bytes.
[[nodiscard]] ir::Scalar summed_type(ir::Scalar s);

/// The tensor as operators, functions and reductions read it: floats of two bytes as f32.
[[nodiscard]] Tensor as_operand(Tensor t);

/// `e` converted to `to`: pushes the cast into branches, so that literals become literals of the type.
[[nodiscard]] ir::Expr converted(const ir::Expr& e, ir::Scalar to);

/// True if an expression of this type and openness converts to `to` without an explicit cast.
[[nodiscard]] bool converts(const Tensor& t, ir::Scalar to);

/// `f64[n, m]` for messages; `extent` prints one extent.
[[nodiscard]] std::string type_text(ir::Scalar scalar, const std::vector<std::string>& extents);

}  // namespace tdsl::frontend

#pragma once

#include <cstddef>
#include <optional>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// A member that is a matrix product: rows of x times an operand shared by all rows, or rows of x and of y, summed over
/// the rows.
///
///     u[i, j] = sum[k](x[i, k] * y[k, j])         y may be transposed, or have leading shared labels
///     c[a, b] = sum[i](x[i, a] * y[i, b])         `of_rows`
struct MatrixProduct {
  const ir::ExprNode* x = nullptr;
  const ir::ExprNode* y = nullptr;
  bool of_rows = false;
  bool transposed = false;  ///< y is y[j, k]
  std::size_t shared = 0;   ///< leading shared labels of y
};
[[nodiscard]] std::optional<MatrixProduct> matrix_product(const FusedKernel::Member& m);

}  // namespace tdsl::codegen

#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/operations/program.h"

// Conditions for compilers to vectorise the loop around an expression (runtime/kernels/vector_math.h).

namespace tdsl::codegen {

/// Number of library calls in the expression.
[[nodiscard]] int library_calls(const Expr& e);

/// True if computing this node can itself stop the run.
[[nodiscard]] bool may_fail(const ir::ExprNode& node);

/// True if all values of a label are valid subscripts of a dimension of that extent.
using LabelCovers = std::function<bool(std::int32_t label, const Extent& extent)>;

/// True if both branches may be computed at every point and one of them selected afterwards: neither can stop the run
/// nor reads out of bounds, and one of them calls a library function, without which this does not pay off.
[[nodiscard]] bool computes_both(const ir::Select& select, const OperationProgram& program, const LabelCovers& covers);
/// The dimensions of the tensor a Read accesses; null for scalars, which can be read anywhere.
using ReadShape = std::function<const std::vector<Extent>*(ValueId)>;
[[nodiscard]] bool computes_both(const ir::Select& select, const ReadShape& shape, const LabelCovers& covers);

}  // namespace tdsl::codegen

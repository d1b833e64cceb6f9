#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "codegen/families/families.h"

// What decides whether compilers make vectors of the loop around an expression (runtime/kernels/vector_math.h).

namespace tdsl::codegen {

/// Whether the function is one of the C++ library, which has a vector form.
[[nodiscard]] bool is_library_function(ir::UnaryOp op);
/// How many calls of library functions the expression holds.
[[nodiscard]] int library_calls(const Expr& e);

/// Whether computing this node, by itself, can stop the run.
[[nodiscard]] bool may_fail(const ir::ExprNode& node);

/// Whether a label takes only subscripts of a dimension of that extent.
using LabelCovers = std::function<bool(std::int32_t label, const Extent& extent)>;

/// Whether both branches may be computed at every point, and one of them taken afterwards: neither can stop the run nor
/// reads outside a tensor, and one of them calls a library function, for which alone this pays.
[[nodiscard]] bool computes_both(const ir::Select& select, const FamilyProgram& program, const LabelCovers& covers);
/// The dimensions of what a Read reads; null for scalars, which can be read anywhere.
using ReadShape = std::function<const std::vector<Extent>*(ValueId)>;
[[nodiscard]] bool computes_both(const ir::Select& select, const ReadShape& shape, const LabelCovers& covers);

}  // namespace tdsl::codegen

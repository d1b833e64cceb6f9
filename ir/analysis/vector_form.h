#pragma once

#include "ir/graph/expr.h"

namespace tdsl::ir {

/// `x ** 2` of a float, which is x * x to compilers.
[[nodiscard]] bool is_square(const Binary& b);

/// Whether compilers turn the operator into vector instructions on every processor.
[[nodiscard]] bool has_vector_form(const ExprNode& node);

}  // namespace tdsl::ir

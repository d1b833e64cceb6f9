#pragma once

#include "ir/graph/expr.h"

namespace tdsl::ir {

/// `x ** 2` of a float, which compilers turn into x * x.
[[nodiscard]] bool is_square(const Binary& b);

/// True if compilers vectorise the operator on every processor.
[[nodiscard]] bool has_vector_form(const ExprNode& node);

}  // namespace tdsl::ir

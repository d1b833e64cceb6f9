#pragma once

#include <string>

#include "codegen/families/families.h"
#include "codegen/print/emit_expr.h"

namespace tdsl::codegen {

/// `if (0 < n) session.check_subscript(7, Interval{0, n}, m, "i of x");`. `line`: of the source.
[[nodiscard]] std::string subscript_check(const SubscriptStep& step, const std::string& line, ExprEmitter& expr);

}  // namespace tdsl::codegen

#pragma once

#include <functional>
#include <string>

#include "codegen/emit_expr.h"
#include "codegen/families.h"

namespace tdsl::codegen {

/// `OpClass::kReduce`
[[nodiscard]] std::string op_class_text(plan::OpClass c);
/// The calls that complete an OpBuilder: `.out("i", n).read(A.id(), {at(0), at(2)}, "A[i, l]")`.
[[nodiscard]] std::string builder_calls(const OpTemplate& op, ExprEmitter& expr, const std::function<std::string(ValueId)>& tensor_name);

}  // namespace tdsl::codegen

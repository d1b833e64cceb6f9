#pragma once

#include <functional>
#include <optional>
#include <string>

#include "codegen/operations/program.h"
#include "codegen/print/emit_expr.h"

namespace tdsl::codegen {

/// `OpClass::kReduce`
[[nodiscard]] std::string op_class_text(plan::OpClass c);
/// The calls that complete an OpBuilder: `.out("i", n).read(A.id(), {at(0), at(2)})`.
[[nodiscard]] std::string builder_calls(const OperationStep& step, ExprEmitter& expr,
                                        const std::function<std::string(ValueId)>& tensor_name);

/// The arguments of the Session method that records the operation (`method_of`), without the first and the kernel:
/// `{{"i", n}}, {{x, {at(0)}}}, 2`. nullopt for operations that need an OpBuilder. `operand`: the text of read number
/// k.
[[nodiscard]] std::optional<std::string> short_arguments(const OperationStep& step, ExprEmitter& expr,
                                                         const std::function<std::string(std::size_t)>& operand);
/// `map`, `reduce`, `sparse`, `rows`, `piece`, `contraction` or `sum_of_products`
[[nodiscard]] std::string_view method_of(const OperationStep& step);

/// `if (0 < n) session.check_subscript(7, Interval{0, n}, m, "i of x");`. `line`: of the source.
[[nodiscard]] std::string subscript_check(const SubscriptStep& step, const std::string& line, ExprEmitter& expr);

}  // namespace tdsl::codegen

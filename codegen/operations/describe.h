#pragma once

#include <string>
#include <vector>

#include "codegen/operations/program.h"

namespace tdsl::codegen {

/// The expression in source notation: `A[i, l] * B[l, j]`. For messages only.
[[nodiscard]] std::string describe(const OperationProgram& program, const Expr& e,
                                   const std::vector<std::string>& labels);
/// `sum[l](A[i, l] * B[l, j])`.
[[nodiscard]] std::string describe(const OperationProgram& program, const ir::Compute& compute);
/// The source name of a value, or a substitute.
[[nodiscard]] std::string name_of(const OperationProgram& program, ValueId v);
/// The same for identifiers of emitted code: an unnamed value is named after the step that defines it.
[[nodiscard]] std::string title_of(const OperationProgram& program, ValueId v);
/// `2*n + 1` with source names.
[[nodiscard]] std::string describe(const OperationProgram& program, const Extent& e);

/// An operator's spelling in the language: infix if `infix` is true, else a function.
struct OperatorText {
  std::string_view text;
  bool infix = true;
  int precedence = 0;  ///< larger binds tighter; the same for C++ and the language where both have the operator
};
[[nodiscard]] OperatorText spelling(ir::BinaryOp op);
[[nodiscard]] std::string_view spelling(ir::UnaryOp op);

}  // namespace tdsl::codegen

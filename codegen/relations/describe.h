#pragma once

#include <string>
#include <vector>

#include "codegen/families/families.h"

namespace tdsl::codegen {

/// The expression as a user would write it: `A[i, l] * B[l, j]`. For people only.
[[nodiscard]] std::string describe(const FamilyProgram& program, const Expr& e, const std::vector<std::string>& labels);
/// `sum[l](A[i, l] * B[l, j])`.
[[nodiscard]] std::string describe(const FamilyProgram& program, const ir::Compute& compute);
/// The source's name of a value, or a substitute.
[[nodiscard]] std::string name_of(const FamilyProgram& program, ValueId v);
/// `2*n + 1` with the source's names.
[[nodiscard]] std::string describe(const FamilyProgram& program, const Extent& e);

/// An operator's spelling in the language: infix where `infix` is true, else a function.
struct OperatorText {
  std::string_view text;
  bool infix = true;
  int precedence = 0;  ///< larger binds tighter; of C++ and of the language alike for what both have
};
[[nodiscard]] OperatorText spelling(ir::BinaryOp op);
[[nodiscard]] std::string_view spelling(ir::UnaryOp op);

}  // namespace tdsl::codegen

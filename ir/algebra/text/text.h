#pragma once

#include <map>
#include <span>
#include <string>

#include "ir/algebra/expr.h"

namespace tdsl::ir::algebra {

/// The text form: one operator per line, then the results; the relation's type follows a `;`. Operators on sites are
/// called local.
///   %0 = input "A" keys [2, 2] block [4, 4] part [0] ; 64 floats
///   %1 = input "B" keys [2, 2] block [4, 4] part [0] ; 64 floats
///   %2 = bcast %1 ; keys [2, 2] block [4, 4] all
///   %3 = local join %0, %2 on [1], [0] by matmul ; keys [2, 2, 2] block [4, 4] part [0]
///   %4 = local aggregate %3 keep [0, 2] by add ; keys [2, 2] block [4, 4] part [0]
///   result "C" %4
[[nodiscard]] std::string print(const Program& program);
/// The expression as a program with a single unnamed result.
[[nodiscard]] std::string print(const Expr& e);

/// The name of an operator and its parameters, printed before and after the operands.
struct OpText {
  std::string word;
  std::string parameters;
};
[[nodiscard]] OpText op_text(const Op& op, std::span<const Expr> operands);
/// `keys [4, 4] (4 of them) block [2, 2] part [0]`.
[[nodiscard]] std::string type_text(const RelationType& type);
/// The numbers assigned by print to a program's nodes, by id.
[[nodiscard]] std::map<int, int> numbers_of(std::span<const Expr> nodes);
/// The line of an expression without its number and type: `local join %0, %2 on [1], [0] by matmul`.
[[nodiscard]] std::string line_text(const Expr& e, const std::map<int, int>& numbers);

}  // namespace tdsl::ir::algebra

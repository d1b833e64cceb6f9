#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "codegen/loops/blocking.h"
#include "codegen/print/emit_expr.h"
#include "codegen/print/statements.h"

namespace tdsl::codegen {

/// `target = combine(target, body)`. `argument`: the name of a user monoid's second operand.
[[nodiscard]] Statements accumulation(ExprEmitter& expr, const ir::Monoid& monoid, const Expr& body, ir::Scalar type,
                                      const std::string& target, const std::string& argument = "next");

/// Where a blocked reduction takes place, as emitted.
struct BlockedPlace {
  std::string rows, columns;        ///< intervals
  std::vector<std::string> reduce;  ///< intervals
  std::string element;              ///< of the result, at the labels of row and column
};

/// The call of rt::blocked_reduction and the functions it takes. `expr` names the labels; `guard`: the remaining
/// guard of the Compute; `claim` makes names distinct.
[[nodiscard]] Statements blocked_statements(ExprEmitter& expr, const ir::Compute& compute, const Expr& guard,
                                            ir::Scalar type, const Blocking& blocks, const BlockedPlace& place,
                                            const std::function<std::string(std::string_view)>& claim);

}  // namespace tdsl::codegen

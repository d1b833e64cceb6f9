#pragma once

#include "frontend/lower/lowerer.h"

namespace tdsl::frontend {

/// `let Z[i, k]: T op= e where c for i in a..b;` or the assignment of that form while it is lowered.
struct Lowerer::IndexStatement {
  SymbolRef target;              ///< of an assignment; null in a declaration
  std::optional<ir::Type> type;  ///< declared, or the variable's
  ast::AssignOp op;
  std::vector<std::int32_t> labels;  ///< all index variables: in order on the left, then of the `for`
  std::vector<std::int32_t> lone;    ///< per left dimension: the label standing there alone, or -1
  std::vector<std::int32_t>
      collected;  ///< of names that stand for what labels give: only the dimensions where these stand bare
  std::vector<ir::Expr> left;
  ir::Expr guard;
  Tensor value;
  ir::Type result;
};

}  // namespace tdsl::frontend

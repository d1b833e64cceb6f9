#pragma once

#include "frontend/lower/lowerer.h"

// `break` and `continue`, which become conditions and flags before lowering.
//
//     while c {                            var left = false;
//       if d { A; break; }                 while !left && c {
//       B;                      becomes      if d { A; left = true; } else { B; }
//     }                                    }

namespace tdsl::frontend {

/// True if the statement is a loop whose body contains `break` or `continue` of that loop.
[[nodiscard]] bool is_left(const ast::Stmt& s);
/// Lowers such a loop. One with `break` runs one point after the other.
void lower_left_loop(Lowerer& lowerer, const ast::Stmt& s);

}  // namespace tdsl::frontend

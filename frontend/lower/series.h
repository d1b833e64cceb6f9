#pragma once

#include "frontend/lower/lowerer.h"

// Outputs in blocks of the program, each of which appends records to a series. The number of executions is a variable
// of the program, so that loops carry it and checkpoints hold it.
//
//     for t in 0..n {                    var count = 0;
//       U = step(U);                     for t in 0..n {
//       output s = U every 100;            U = step(U);
//     }                         becomes    if count % 100 == 0 { output s = U;  as record count / 100 }
//                                          count = count + 1;
//                                        }

namespace tdsl::frontend {

/// True if a block of the statement holds an output whose records have no numbers yet.
[[nodiscard]] bool holds_series(const ast::Stmt& s);
/// The first output in the block or the blocks inside it, or null.
[[nodiscard]] const ast::Stmt* first_output(const ast::Block& block);
/// Lowers a statement of the program's top level that holds outputs in its blocks.
void lower_series(Lowerer& lowerer, const ast::Stmt& s);
/// Appends `value` to the series of an output whose record has a number.
void lower_record(Lowerer& lowerer, const ast::Output& o, ir::ValueId value, const ir::SourceRange& range);

}  // namespace tdsl::frontend

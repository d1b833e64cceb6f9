#pragma once

#include "frontend/lower/index.h"
#include "frontend/lower/lowerer.h"

// Statements, and regions of loops and branches.
namespace tdsl::frontend {

void lower_block(Lowerer& lowerer, const ast::Block& block);
void lower_statement(Lowerer& lowerer, const ast::Stmt& s);
void dispatch(Lowerer& lowerer, const ast::Stmt& s);
void require_no_suffixes(Reports& reports, const ast::Suffixes& s);
/// The number of iterations of a loop with a computed step.
ir::ValueId iterations_of(Shapes& shapes, Values& values, const LoopRange& loop, const ir::SourceRange& range);
/// Lowers the loop over range `level` and the nested ones. `bounds`: of the ranges lowered so far.
void lower_for(Lowerer& lowerer, const ast::For& f, std::vector<LoopRange>& bounds, std::size_t level,
               const ir::SourceRange& range);
void lower_while(Lowerer& lowerer, const ast::While& w, const ir::SourceRange& range);
void lower_if(Lowerer& lowerer, const ast::If& i, std::size_t arm, const ir::SourceRange& range);
/// Lowers the values of an imported file at its first import. Its random numbers are independent of the importing file.
void lower_import(Lowerer& lowerer, const ast::Import& import);

}  // namespace tdsl::frontend

#pragma once

#include "frontend/lower/index.h"
#include "frontend/lower/lowerer.h"

// Statements, and the regions of loops and branches.
namespace tdsl::frontend {

void lower_block(Lowerer& lowerer, const ast::Block& block);
void lower_statement(Lowerer& lowerer, const ast::Stmt& s);
void dispatch(Lowerer& lowerer, const ast::Stmt& s);
void require_no_suffixes(Reports& reports, const ast::Suffixes& s);
/// How often a loop with a computed step runs.
ir::ValueId iterations_of(Shapes& shapes, Values& values, const LoopRange& loop, const ir::SourceRange& range);
/// Lowers the loop over range `level` and, inside it, those over the further ones. `bounds`: of the ranges so far.
void lower_for(Lowerer& lowerer, const ast::For& f, std::vector<LoopRange>& bounds, std::size_t level,
               const ir::SourceRange& range);
void lower_while(Lowerer& lowerer, const ast::While& w, const ir::SourceRange& range);
void lower_if(Lowerer& lowerer, const ast::If& i, std::size_t arm, const ir::SourceRange& range);
/// The values that an imported file declares, where it is imported first. Its random numbers are its own.
void lower_import(Lowerer& lowerer, const ast::Import& import);

}  // namespace tdsl::frontend

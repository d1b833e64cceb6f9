#pragma once

#include "frontend/lower/lowerer.h"

// Index statements and assignments to slices.
namespace tdsl::frontend {

/// `let Z[i, k]: T op= e where c for i in a..b;`, or such an assignment, during lowering.
struct IndexStatement {
  SymbolRef target;              ///< of an assignment; null in a declaration
  std::optional<ir::Type> type;  ///< declared, or that of the variable
  ast::AssignOp op;
  std::vector<std::int32_t> labels;     ///< all index variables: in order on the left, then of the `for`
  std::vector<std::int32_t> lone;       ///< per left dimension: its bare label, or -1
  std::vector<std::int32_t> collected;  ///< of names that denote functions of labels: hold only the dimensions in which
                                        ///< these are bare subscripts
  std::vector<ir::Expr> left;
  ir::Expr guard;
  Tensor value;
  ir::Type result;
};

ir::ValueId lower_index_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                                    const ast::Definition& definition);
void lower_index_assignment(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol);
void begin_index_statement(Lowerer& lowerer, IndexStatement& s, const ast::Target& target,
                           const ast::Definition& definition);
void lower_right_side(Lowerer& lowerer, IndexStatement& s, const ast::Definition& definition);
ir::ValueId emit_index_statement(Lowerer& lowerer, IndexStatement& s, const std::string& name,
                                 const ir::SourceRange& range);
std::optional<ir::Monoid> combine_monoid(Lowerer& lowerer, const ast::AssignOp& op, ir::Scalar type);
void lower_slice_assignment(Lowerer& lowerer, const ast::Assign& a, const SymbolRef& symbol);

}  // namespace tdsl::frontend

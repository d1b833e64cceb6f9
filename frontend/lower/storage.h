#pragma once

#include "frontend/lower/lowerer.h"

// User-defined storage: `storage` declarations and tensors declared with one.
namespace tdsl::frontend {

void declare_storage(Reports& reports, Declarations& declared, const ast::Storage& s);
/// The storage with its arguments, for a tensor of this shape.
StorageRef lower_storage(Lowerer& lowerer, const ast::StorageAnnotation& written, std::vector<ir::Extent> shape);
/// The element `e` of a tensor with a storage, absent if computed subscripts are out of bounds: the stored tensor may
/// have an element there.
ir::Expr inside_of_storage(GraphBuilder& graph, const ir::Expr& e, const ast::Subscript& s,
                           const std::vector<ir::Expr>& subscripts, const Tensor& base);
Stored lower_stored_declaration(Lowerer& lowerer, const ast::Target& target, const ast::Annotations& annotations,
                                const ast::Definition& definition);
/// `B[i, j] op= e` for a tensor of this type; `symbol`: that of an assignment, else null.
Stored lower_stored_elements(Lowerer& lowerer, const ast::Target& target, const ir::Type& type,
                             const StorageRef& storage, const ast::Definition& definition, const SymbolRef& symbol);

}  // namespace tdsl::frontend

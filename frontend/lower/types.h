#pragma once

#include "frontend/lower/lowerer.h"

// Written types and dimensions.
namespace tdsl::frontend {

/// Returns the size of a dimension with an unknown name; nullopt if the name must be known.
using BindDimension = std::function<std::optional<ir::Extent>(const ast::Identifier&, std::size_t dimension)>;

/// Requires the dimensions of a written type to be legal sizes.
void require_sizes(Reports& reports, Shapes& shapes, const ast::TypeExpr& written, const ir::Type& type);
ir::Type lower_type(Lowerer& lowerer, const ast::TypeExpr& type, const BindDimension& bind = {});
ir::Extent dimension_extent(Lowerer& lowerer, const ast::Expr& e);
ir::Extent new_dimension(Lowerer& lowerer, const ast::Identifier& name);

}  // namespace tdsl::frontend

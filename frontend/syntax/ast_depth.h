#pragma once

#include <cstdint>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Depth of a node made from these children: one more than the deepest; 1 without children.
[[nodiscard]] std::uint32_t depth_of(const ast::ExprNode& node);
/// The same for a statement: expressions, types and blocks inside it count.
[[nodiscard]] std::uint32_t depth_of(const ast::StmtNode& node);

}  // namespace tdsl::frontend

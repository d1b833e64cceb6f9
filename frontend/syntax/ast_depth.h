#pragma once

#include <cstdint>

#include "frontend/syntax/ast.h"

namespace tdsl::frontend {

/// Depth of a node: one more than its deepest child; 1 without children.
[[nodiscard]] std::uint32_t depth_of(const ast::ExprNode& node);
/// The same for a statement, including its expressions, types and blocks.
[[nodiscard]] std::uint32_t depth_of(const ast::StmtNode& node);

}  // namespace tdsl::frontend

#pragma once

#include <clang/AST/Decl.h>

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/foreign_header.h"

namespace tdsl::codegen {

/// What a kernel does with its operands: which it reads and writes, which outputs it writes whole before it reads them,
/// and which outputs are copies of an operand's elements. An output that is never written, or read where no write can
/// have come before, is refused.
///
/// "Whole" is known of loops that count from 0 to extents with the operand's own dimension names, without jumps, around
/// an assignment that is under no condition. Pointers to elements and references may do anything.
[[nodiscard]] std::vector<ir::ForeignFunction::Operand> find_operand_uses(
    clang::ASTContext& context, const clang::FunctionDecl& kernel, const ir::ForeignDeclaration& declaration,
    const std::function<void(clang::SourceRange, const std::string&)>& refuse);

/// Whether the type is tdsl::Tile<element, rank>, and of which.
struct TileType {
  clang::QualType element;
  int rank = 0;
};
[[nodiscard]] bool is_tile(clang::QualType type, TileType& tile);

}  // namespace tdsl::codegen

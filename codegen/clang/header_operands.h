#pragma once

#include <clang/AST/Decl.h>

#include <functional>
#include <string>
#include <vector>

#include "ir/graph/foreign_header.h"

namespace tdsl::codegen {

/// Uses of the operands by a kernel: which it reads and writes, which outputs it writes completely before it reads
/// them, and which outputs are copies of an operand's elements. An output that is never written, or that is read where
/// no write can have preceded, is refused.
///
/// A complete write is recognised in loops that count from 0 to extents with the operand's own dimension names, without
/// jumps, around an unconditional assignment. Pointers and references to elements are assumed to read and write.
[[nodiscard]] std::vector<ir::ForeignFunction::Operand> find_operand_uses(
    clang::ASTContext& context, const clang::FunctionDecl& kernel, const ir::ForeignDeclaration& declaration,
    const std::function<void(clang::SourceRange, const std::string&)>& refuse);

/// Element type and rank of a type tdsl::Tile<element, rank>. is_tile returns false for other types.
struct TileType {
  clang::QualType element;
  int rank = 0;
};
[[nodiscard]] bool is_tile(clang::QualType type, TileType& tile);

}  // namespace tdsl::codegen

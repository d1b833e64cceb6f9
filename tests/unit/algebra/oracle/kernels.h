#pragma once

#include <vector>

#include "ir/algebra/block.h"

namespace tdsl::ir::algebra {

[[nodiscard]] Array array_of(Bounds bounds, std::vector<double> elements);

/// The kernel's result. The operands must have admissible types; throws AlgebraError for a call missing in `calls`.
[[nodiscard]] Block apply(const Kernel& kernel, const Block& operands, const Calls& calls);
[[nodiscard]] Block apply(const Kernels& kernels, Block operands, const Calls& calls);

/// Piece number `piece` of `size` elements along dimension `dim`.
[[nodiscard]] Array piece_of(const Array& array, int dim, Index size, Index piece);
/// Copies `piece` into `whole` from position `start` along dimension `dim`.
void put_piece(Array& whole, const Array& piece, int dim, Index start);

}  // namespace tdsl::ir::algebra

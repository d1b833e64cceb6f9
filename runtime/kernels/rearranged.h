#pragma once

#include <array>
#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/types.h"

// Compressed matrices whose elements are those of others in other places: slices, strides, flips, rotations,
// transposes, and several side by side.

namespace tdsl::rt {

/// A subscript of an operand as a function of one subscript of the result.
struct RearrangedSubscript {
  int dimension = 0;  ///< of the result
  Index factor = 1;   ///< not 0
  Index offset = 0;
  Index modulus =
      0;  ///< not 0: factor * subscript + offset wraps around in 0 .. modulus - 1, and the factor is 1 or -1
};

/// The elements of a box of the result, which are those of operand number `operand` at
///
///     (row.factor * at[row.dimension] + row.offset, column.factor * at[column.dimension] + column.offset)
///
/// Both dimensions are different ones, so that every element has one place at most.
struct RearrangedPart {
  int operand = 0;
  RearrangedSubscript row;
  RearrangedSubscript column;
  std::array<Interval, 2> box;  ///< of the result, where it comes from this part
};

/// Computes tiles of the compressed result from parts whose boxes do not overlap; elsewhere nothing is stored.
template <Element T>
[[nodiscard]] Kernel rearranged_kernel(std::vector<RearrangedPart> parts);

}  // namespace tdsl::rt

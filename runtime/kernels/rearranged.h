#pragma once

#include <array>
#include <vector>

#include "runtime/check.h"
#include "runtime/kernels/task.h"
#include "runtime/types.h"

// Compressed matrices with the elements of others at different positions: slices, strides, flips, rotations,
// transposes, selections by index vectors, and concatenations.

namespace tdsl::rt {

/// A vector of i64 subscripts: operand number `operand`, over one dimension of the result. An element outside the
/// indexed dimension of `extent` stops the run.
struct RearrangedIndex {
  int operand = -1;  ///< none
  Index extent = 0;
  SourceLine place{};
  const char* text = "";  ///< the subscript in the source, for stop_subscript

  [[nodiscard]] bool exists() const { return operand >= 0; }
};

/// A subscript of an operand as a function of one subscript of the result.
struct RearrangedSubscript {
  int dimension = 0;  ///< dimension of the result
  Index factor = 1;   ///< not 0
  Index offset = 0;
  Index modulus = 0;  ///< not 0: factor * subscript + offset is periodic in 0 .. modulus - 1, and the factor is 1 or -1
  RearrangedIndex index{};  ///< if it exists: its elements are the subscripts, in place of the function above
};

/// The elements of a box of the result, which are those of operand number `operand` at
///
///     (row.factor * at[row.dimension] + row.offset, column.factor * at[column.dimension] + column.offset)
///
/// The two dimensions are distinct, so without index vectors every element has at most one position.
struct RearrangedPart {
  int operand = 0;
  RearrangedSubscript row;
  RearrangedSubscript column;
  std::array<Interval, 2> box;  ///< of the result, covered by this part
};

/// Computes tiles of the compressed result from parts whose boxes do not overlap; elsewhere nothing is stored.
template <Element T>
[[nodiscard]] Kernel rearranged_kernel(std::vector<RearrangedPart> parts);

}  // namespace tdsl::rt

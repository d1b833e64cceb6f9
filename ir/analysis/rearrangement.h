#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/graph.h"

// Computes whose results have the elements of matrices in other places: slices, strides, flips, rotations, transposes,
// and several side by side.

namespace tdsl::ir {

/// The part of a result that comes from one matrix.
struct Rearranged {
  /// `factor * label + offset`, where the label is a dimension of the result.
  struct Subscript {
    std::int32_t label = 0;
    std::int64_t factor = 1;  ///< not 0
    Extent offset;
    bool around =
        false;  ///< wraps around the operand's dimension; the factor is 1, and the result's dimension is as long
  };
  /// Whole of the result, but for limits: the largest of `from`, the smallest of `to`.
  struct Range {
    std::vector<Extent> from;
    std::vector<Extent> to;
  };

  ValueId tensor;
  SourceRange place;            ///< of the read
  std::array<Subscript, 2> at;  ///< of different labels
  std::array<Range, 2> range;   ///< per dimension of the result
  bool guarded = false;         ///< its subscripts are inside where the range says, and perhaps nowhere else
};

/// The parts of a Compute that reads matrices with sparse dimensions and computes nothing: elsewhere its result is 0.
/// Nothing for any other Compute, and if no element is read.
[[nodiscard]] std::optional<std::vector<Rearranged>> rearrangement(const Compute& compute,
                                                                   const std::function<const Type&(ValueId)>& type,
                                                                   const Hoist& hoist);
/// Of a Compute of a program, where subscripts are known to be inside the operands wherever a condition decides on
/// reading them.
[[nodiscard]] std::optional<std::vector<Rearranged>> rearrangement(const Program& program, const Compute& compute);

}  // namespace tdsl::ir

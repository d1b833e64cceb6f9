#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "ir/graph/affine.h"
#include "ir/graph/graph.h"

// Computes whose results contain the elements of matrices at other positions: slices, strides, flips, rotations,
// transposes, selections by index vectors, and concatenations of these.

namespace tdsl::ir {

/// The part of a result that is copied from one matrix.
struct Rearranged {
  /// `factor * label + offset`, with a label that is a dimension of the result; or `index[label]`.
  struct Subscript {
    std::int32_t label = 0;
    std::int64_t factor = 1;  ///< not 0
    Extent offset;
    bool around = false;  ///< periodic in the operand's dimension; the factor is 1, and the result's dimension has the
                          ///< same length
    std::optional<ValueId> index{};  ///< an i64 vector over the result's dimension, whose elements may repeat
    Extent extent{};                 ///< with an index: of the operand's dimension
  };
  /// The whole result, restricted by limits: the largest of `from`, the smallest of `to`.
  struct Range {
    std::vector<Extent> from;
    std::vector<Extent> to;
  };

  ValueId tensor;
  SourceRange place;            ///< of the read
  std::array<Subscript, 2> at;  ///< of different labels
  std::array<Range, 2> range;   ///< per dimension of the result
  bool guarded = false;         ///< its subscripts are in bounds within the range, and possibly nowhere else
};

/// The vector if the subscript is `index[label]`, with an index variable alone and a dense vector of i64.
[[nodiscard]] std::optional<ValueId> index_vector(const Expr& subscript,
                                                  const std::function<const Type&(ValueId)>& type);
/// The parts of a Compute that copies matrices with sparse dimensions without arithmetic; its result is 0 elsewhere.
/// Nothing for any other Compute, or if no element is read.
[[nodiscard]] std::optional<std::vector<Rearranged>> rearrangement(const Compute& compute,
                                                                   const std::function<const Type&(ValueId)>& type,
                                                                   const Hoist& hoist);
/// The same within a program, in which affine subscripts are known to be in bounds wherever a condition guards the
/// read, and index vectors are as long as the result's dimensions.
[[nodiscard]] std::optional<std::vector<Rearranged>> rearrangement(const Program& program, const Compute& compute);

}  // namespace tdsl::ir

#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "ir/graph/value.h"

namespace tdsl::ir {

/// Reads of a compressed tensor with the same subscripts: plain index variables, each over its whole dimension (out
/// labels are numbered first, then reduce labels). They are the labels of the tensor's levels, outermost first.
struct StoredOperand {
  ValueId tensor;
  std::vector<std::int32_t> labels;
  friend bool operator==(const StoredOperand&, const StoredOperand&) = default;
};

/// How a loop merges the coordinates that several operands store, ascending.
enum class Merge : std::uint8_t {
  kUnion,
  kIntersection,
  kFirst  ///< the first operand's coordinates; the others are located there
};
/// `or`, `and`, `with`.
[[nodiscard]] constexpr std::string_view name_of(Merge merge) {
  return merge == Merge::kUnion ? "or" : merge == Merge::kIntersection ? "and" : "with";
}

/// A loop over the stored coordinates of one level of its operands. Enclosing loops iterate over, or locate, the levels
/// above.
struct StoredLoop {
  std::int32_t label = 0;
  std::vector<int> over;  ///< operand numbers
  Merge merge = Merge::kUnion;
  friend bool operator==(const StoredLoop&, const StoredLoop&) = default;
};

/// How an operation uses the compressed tensors that it reads and makes: which stored elements its loops visit, in
/// which order. At every other point the Compute has no effect. Operands without a loop over their last level are
/// looked up.
///
///     compute [i in 0..%0, j in 0..%2] sum[k in 0..%1] (mutual_mul(%3[i, k], %4[k, j])) where ne(%5[i, j], 0.0)
///       stored [i over %3[i, k], k over %3[i, k], j over %4[k, j]] lookup [mask %5[i, j]] result accumulated
struct SparseIteration {
  /// The storage of the result. Elements that are not visited are absent from a compressed one.
  enum class Result : std::uint8_t {
    kDense,
    kOrdered,      ///< compressed: its labels are those of the outermost loops, so its elements are produced in order
    kAccumulated,  ///< compressed: rows are produced in order, elements of a row are accumulated
    kMoved,        ///< compressed: elements of compressed operands at other positions (ir/analysis/rearrangement.h)
    kPoints,       ///< compressed: all points are computed from dense operands, and zeros are dropped
    kAssembled,    ///< compressed: points store at computed positions, and values of an element combine in their order
  };
  std::vector<StoredOperand> operands;  ///< the first is the driver, all of whose levels are iterated: its rows are cut
  std::vector<StoredLoop> loops;        ///< outermost first; other labels are dense loops inside them
  std::vector<int> masks;  ///< operands that are looked up and without whose elements a point has no effect
  Result result = Result::kDense;

  [[nodiscard]] const StoredOperand& driver() const { return operands.front(); }
  [[nodiscard]] std::int32_t row() const { return driver().labels.front(); }
  [[nodiscard]] bool has_loop(std::int32_t label) const {
    return std::ranges::any_of(loops, [&](const StoredLoop& loop) { return loop.label == label; });
  }
  /// True if more than the driver's elements are visited.
  [[nodiscard]] bool is_union() const {
    return std::ranges::any_of(loops,
                               [](const StoredLoop& l) { return l.over.size() > 1 && l.merge == Merge::kUnion; });
  }
  friend bool operator==(const SparseIteration&, const SparseIteration&) = default;
};
/// `dense`, `ordered`, `accumulated`, `moved`, `points`, `assembled`.
[[nodiscard]] constexpr std::string_view name_of(SparseIteration::Result result) {
  using enum SparseIteration::Result;
  return result == kDense         ? "dense"
         : result == kOrdered     ? "ordered"
         : result == kAccumulated ? "accumulated"
         : result == kMoved       ? "moved"
         : result == kPoints      ? "points"
                                  : "assembled";
}

}  // namespace tdsl::ir

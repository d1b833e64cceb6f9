#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

// Sparse iteration: Computes whose loops can visit the stored elements of compressed operands instead of all points.

namespace tdsl::ir {

/// Reads of a compressed tensor with the same subscripts, each a plain index variable (out labels first, then reduce
/// labels).
struct StoredOperand {
  ValueId tensor;
  std::vector<std::int32_t> labels;
  friend bool operator==(const StoredOperand&, const StoredOperand&) = default;
};

/// A loop over one index variable that visits stored elements. The operands' outer dimensions are iterated by enclosing
/// loops: these locate the operand, and this loop iterates over its next level.
struct StoredLoop {
  /// How the stored elements of several operands are merged, ascending.
  enum class Meet : std::uint8_t {
    kAny,   ///< union
    kAll,   ///< intersection
    kFirst  ///< coordinates of the first one; the others are located there
  };
  std::int32_t label = 0;
  std::vector<int> over;  ///< operand numbers
  Meet meet = Meet::kAny;
};

/// Loops over stored elements. An operand whose labels are all iterated, but whose last level no loop iterates over, is
/// looked up.
struct StoredWalk {
  enum class Result : std::uint8_t {
    kDense,
    /// Compressed, with unvisited elements 0: its labels are those of the outermost loops, so each of its elements is
    /// produced once, in order.
    kInOrder,
    /// Compressed, with unvisited elements 0: rows are produced in order, and elements within a row are accumulated.
    kAccumulated,
  };
  std::vector<StoredOperand> operands;  ///< the first is the driver, all of whose levels are iterated: its rows are cut
  std::vector<StoredLoop> loops;        ///< outermost first; other labels are dense inner loops
  std::vector<int>
      masks;  ///< numbers of operands that are looked up and without whose elements a point contributes nothing
  Result result = Result::kDense;

  [[nodiscard]] const StoredOperand& driver() const { return operands.front(); }
  [[nodiscard]] std::int32_t row() const { return driver().labels.front(); }
  [[nodiscard]] bool has_loop(std::int32_t label) const;
  /// True if more than the driver's elements are visited.
  [[nodiscard]] bool is_union() const;
};

/// True if the Compute reads the tensor, and only at coordinates covered by loops: those of the walk's operands or of
/// the driver.
[[nodiscard]] bool reads_walked(const Compute& compute, const StoredWalk& walk, ValueId tensor);

/// The sparse iteration that visits every point which can change the Compute's result: where the elements iterated over
/// are absent, the support of guard and body (ir/analysis/support.h) is false. Nothing if there is none, or if the
/// Compute stores in an unsupported way: store subscripts, bases, combination with old values, fills other than 0,
/// positions of optima, data-dependent subscripts. Among several possible drivers, the one whose iteration covers the
/// most other operands; if there is none, the smallest sufficient set of operands with the same subscripts is
/// co-iterated.
[[nodiscard]] std::optional<StoredWalk> stored_walk(const Program& program, const Compute& compute);

}  // namespace tdsl::ir

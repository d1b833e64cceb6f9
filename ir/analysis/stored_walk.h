#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "ir/graph/graph.h"

// Computes whose loops can go over stored elements of compressed operands instead of over all points.

namespace tdsl::ir {

/// Reads of a compressed tensor with one list of subscripts, each a bare index variable (out labels first, then reduce
/// labels).
struct StoredOperand {
  ValueId tensor;
  std::vector<std::int32_t> labels;
  friend bool operator==(const StoredOperand&, const StoredOperand&) = default;
};

/// A loop over one index variable that visits what is stored. Outer dimensions of the operands named run in loops
/// around it: an operand is located there, and its next level is walked.
struct StoredLoop {
  /// What is visited of several operands, ascending.
  enum class Meet : std::uint8_t {
    kAny,   ///< where one of them has something
    kAll,   ///< where all of them have
    kFirst  ///< where the first one has; the others are there with what lies beside it
  };
  std::int32_t label = 0;
  std::vector<int> over;  ///< numbers of operands
  Meet meet = Meet::kAny;
};

/// Loops over stored elements. An operand whose labels all run, and of which no loop walks the last level, is looked
/// up.
struct StoredWalk {
  enum class Result : std::uint8_t {
    kDense,
    /// Compressed, and what is not visited is 0: its labels are those of the outermost loops, so that each of its
    /// elements comes once, in order.
    kInOrder,
    /// Compressed, and what is not visited is 0: its rows come in order, and what comes in a row is combined.
    kAccumulated,
  };
  std::vector<StoredOperand> operands;  ///< the first is the driver, of which all levels are walked: its rows are cut
  std::vector<StoredLoop> loops;        ///< outermost first; other labels run over their whole range, inside
  std::vector<int> masks;  ///< numbers of operands that are looked up, and without whose elements nothing counts
  Result result = Result::kDense;

  [[nodiscard]] const StoredOperand& driver() const { return operands.front(); }
  [[nodiscard]] std::int32_t row() const { return driver().labels.front(); }
  [[nodiscard]] bool has_loop(std::int32_t label) const;
  /// Whether more is visited than the driver's elements.
  [[nodiscard]] bool is_union() const;
};

/// Whether the Compute reads the tensor, and only where loops get: as the walk's operands say, or at the coordinates of
/// the driver.
[[nodiscard]] bool reads_walked(const Compute& compute, const StoredWalk& walk, ValueId tensor);

/// The walk that visits every point which can change the compute's result: where what a loop walks is absent, the
/// support of guard and body (ir/analysis/support.h) is false. Nothing if there is none, or the compute stores in a way
/// that a walk cannot follow: left sides, bases, values combined with what is there, fills other than 0, positions of
/// optima, subscripts that depend on data. Of several operands that would do as the driver, the one whose walk gets to
/// most others; if none would do, as few as possible with the same subscripts do together.
[[nodiscard]] std::optional<StoredWalk> stored_walk(const Program& program, const Compute& compute);

}  // namespace tdsl::ir

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph/graph.h"

// A loop nest as variables that statements overwrite in order: the form in which dependences are computed and
// statements are moved. Statements are Computes, of single elements or of slices; the labels of a Compute are part of
// one instance.

namespace tdsl::passes {

/// A loop of a nest. Bounds are expressions over indices of outer loops and values from outside the nest.
struct ScopLoop {
  ir::ValueId index;
  ir::SourceRange range;
  ir::Expr begin;
  ir::Expr end;
  std::int64_t step = 1;
  /// The smallest value of the index, and the number of values up to the largest, in sizes; nothing if data determines
  /// them. The number is negative if there are none.
  std::optional<ir::Extent> lowest = {};
  std::optional<ir::Extent> values = {};
};

/// The range of an index variable, over indices and values from outside the nest.
struct ScopSpan {
  ir::Extent begin;
  ir::Extent end;
};

/// A variable: all versions of a tensor or scalar that the nest carries or computes.
struct ScopArray {
  ir::ValueId key;                         ///< stands for the current version in the expressions of statements
  ir::Type type;                           ///< of the key; `widen_arrays` makes its extents those of all iterations
  std::vector<ScopSpan> spans = {};        ///< by dimension, of the only statement that defines it, if extents change
  std::optional<ir::ValueId> init = {};    ///< the value before the nest
  std::optional<ir::ValueId> result = {};  ///< the nest's result
  bool live = false;                       ///< the result may be used
  std::vector<std::size_t> expanded = {};  ///< loops whose iterations have their own copies, outermost first
};

/// A Compute that stores into `array`. `left` is explicit unless the array is a scalar; `base`, if present, is the
/// array's key.
struct ScopStatement {
  ir::SourceRange range;
  ir::Compute compute;
  std::size_t array = 0;
  std::vector<std::size_t> loops;  ///< outermost first
  /// The same as `element combine= value`, if instances may be combined in any order.
  std::optional<ir::Compute> accumulation = {};
};

struct Scop {
  std::vector<ir::Node> hoisted;  ///< checks of sizes
  std::vector<ScopLoop> loops;
  std::vector<ScopArray> arrays;
  std::vector<ScopStatement> statements;  ///< in program order

  /// The array of this key, or nothing.
  [[nodiscard]] std::optional<std::size_t> array_of(ir::ValueId key) const;
};

/// Elements of an array that an instance of a statement reads or writes.
struct ScopAccess {
  std::size_t array = 0;
  std::vector<ir::Expr> at;  ///< over labels and loop indices
  bool write = false;
  bool combined = false;  ///< the write of an accumulation, which also reads the element
  bool guarded = true;    ///< only where the guard holds
  bool reduced = true;    ///< at points of reduce labels; a write is not, since an empty reduction has a value
};

/// The reason why a nest stays as it is, and its position.
struct NoScop {
  ir::SourceRange range;
  std::string reason;
  bool limit = false;  ///< it is too large
};

// Limits are counts, so that builds do not depend on the machine.
inline constexpr std::size_t kMostScopStatements = 16;
inline constexpr std::size_t kMostScopLoops = 8;

/// The nest of a For node, whose inner loops may have become Computes. Loops, branches and Computes of one result
/// become statements; a nest with other nodes, or one that reads an older version of a variable, is refused. `used` is
/// true for values that are used after the nest.
[[nodiscard]] std::optional<Scop> extract(const ir::Program& program, const ir::Node& nest,
                                          const std::function<bool(ir::ValueId)>& used, NoScop& why);

/// The write and the reads of a statement, those of its guard and subscripts included.
[[nodiscard]] std::vector<ScopAccess> accesses_of(const Scop& scop, const ScopStatement& s);
/// `e - by`; `e` itself if that is 0.
[[nodiscard]] ir::Expr difference(const ir::Expr& e, const ir::Extent& by);
/// The smallest or largest value of an extent over the loops' ranges, in sizes. `measure` (ranges.h) comes first.
[[nodiscard]] std::optional<ir::Extent> extreme(const Scop& scop, ir::Extent e, bool largest);
/// True if an index of a loop determines the extent.
[[nodiscard]] bool varies(const Scop& scop, const ir::Extent& e);
/// The number of loops that contain both statements.
[[nodiscard]] std::size_t common_loops(const ScopStatement& a, const ScopStatement& b);

}  // namespace tdsl::passes

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/space/index.h"

// Block storage formats. Without levels a block is its box, row-major, of volume x element bytes. With levels it is
// *sized*: a self-describing buffer of variable size (runtime/sparse), known once its task has made it; an absent block
// has no buffer. Planning only has estimates of such blocks.

namespace tdsl::plan {

/// Storage of one dimension of a sized block: all coordinates, or only those that occur.
enum class Level : std::uint8_t { kDense, kCompressed };

struct Storage {
  std::vector<Level> levels;  ///< outermost first; empty: the dense block
  std::vector<int> order;     ///< the dimension of every level; empty: as declared
  bool values = true;         ///< false: only the positions of stored elements matter (pattern)
  bool entries = false;  ///< blocks are lists of coordinates and values, which may repeat coordinates: partial results
                         ///< of an assembly

  [[nodiscard]] bool sized() const { return !levels.empty(); }
  friend bool operator==(const Storage&, const Storage&) = default;
};

/// A matrix by rows: compressed sparse rows. `values`: false for bool.
[[nodiscard]] Storage compressed_rows(bool values = true);

/// Lists of entries of a tensor of this rank.
[[nodiscard]] Storage entry_lists(std::size_t rank);
/// Bytes of an entry: coordinates, padded to 8 bytes, and 8 bytes for the value.
[[nodiscard]] double entry_bytes(std::size_t rank);

/// A data-dependent figure: bounds and an expected value.
struct Estimate {
  double lo = 0;
  double expected = 0;
  double hi = 0;

  [[nodiscard]] static Estimate exactly(double x) { return {x, x, x}; }
  /// Upper limit in bytes: more than any machine has, yet sums do not overflow.
  static constexpr Index kMostBytes = Index{1} << 50;
  [[nodiscard]] static Index whole(double x) {
    return x >= static_cast<double>(kMostBytes) ? kMostBytes : static_cast<Index>(x);
  }
  [[nodiscard]] Index expected_bytes() const { return whole(expected); }
  [[nodiscard]] Index most_bytes() const { return whole(hi); }
  Estimate& operator+=(const Estimate& o) {
    lo += o.lo;
    expected += o.expected;
    hi += o.hi;
    return *this;
  }
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

/// Default assumption for a tensor of unknown density: one element in a hundred is stored.
[[nodiscard]] Estimate guessed_stored(const std::vector<Index>& shape);
/// Estimate if each element is stored independently with this probability.
[[nodiscard]] Estimate drawn_stored(const std::vector<Index>& shape, double density);

/// Row distribution of a matrix's stored elements, in bins of near-equal numbers of rows.
struct RowCounts {
  static constexpr Index kMostBins = 1 << 16;

  Index rows = 0;
  std::vector<Index> before;  ///< elements before bin b; the extra last entry is the total
  Index fullest_column = 0;   ///< no column has more elements; 0: unknown

  [[nodiscard]] static Index bins_of(Index rows) { return std::min(rows, kMostBins); }
  [[nodiscard]] Index bins() const { return static_cast<Index>(before.size()) - 1; }
  /// Cuts the rows into `tiles` parts of about equal work; a row costs as much as 1.5 elements.
  [[nodiscard]] Tiling cut(Index tiles) const;
  [[nodiscard]] std::uint64_t hash() const;
};

/// Bytes of sized blocks as a function of their number and their stored elements.
class BlockFormula {
 public:
  /// Blocks with at most these extents.
  BlockFormula(const Storage& storage, Index element_bytes, const std::vector<Index>& extents);

  /// Bytes of this many blocks with this many stored elements in total. A block without elements may be absent;
  /// `any_dense`: some may be so full that they are stored densely.
  [[nodiscard]] Estimate bytes(const Estimate& blocks, const Estimate& stored, bool any_dense = true) const;
  /// Bytes of one block with exactly these extents.
  [[nodiscard]] Estimate one(const Estimate& stored) const;

 private:
  [[nodiscard]] double pointers_of(double rows, double stored) const;
  [[nodiscard]] double most_inside(double blocks, double stored, bool any_dense) const;
  [[nodiscard]] double expected_pointers(double stored) const;

  double fixed_ = 0;     ///< constant bytes per block: head, and alignment between and after arrays
  double rows_ = 0;      ///< entries of a dense outermost level in front of a compressed one, either all enumerated by
                         ///< pointers or listed
  double pointers_ = 0;  ///< bytes of pointers per such entry
  double each_ = 0;      ///< bytes per stored element
  double dense_each_ = 0;  ///< bytes per element of a block stored densely because it is full enough
  double least_each_ = 0;
  double volume_ = 1;
};

}  // namespace tdsl::plan

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/plan/space/index.h"

// How the blocks of a tensor are stored. Without levels a block is its box, row-major, and has volume x element bytes.
// With levels it is *sized*: a buffer of any size that describes itself (runtime/sparse), known when its task has made
// it; an absent block has none. Of such blocks planning knows estimates.

namespace tdsl::plan {

/// How one dimension of a sized block is stored: all its coordinates, or those that occur.
enum class Level : std::uint8_t { kDense, kCompressed };

struct Storage {
  std::vector<Level> levels;  ///< outermost first; empty: the dense block
  std::vector<int> order;     ///< the dimension of every level; empty: as declared
  bool values = true;         ///< false: that an element is stored is all there is to know

  [[nodiscard]] bool sized() const { return !levels.empty(); }
  friend bool operator==(const Storage&, const Storage&) = default;
};

/// A matrix by rows: compressed sparse rows. `values`: false of bool.
[[nodiscard]] Storage compressed_rows(bool values = true);

/// A figure that data decides: bounds, and what is expected.
struct Estimate {
  double lo = 0;
  double expected = 0;
  double hi = 0;

  [[nodiscard]] static Estimate exactly(double x) { return {x, x, x}; }
  /// As a number of bytes, or more than any machine has, of which some may be added up.
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

/// What is assumed of a tensor of which nobody says how many of its elements are stored: one of a hundred.
[[nodiscard]] Estimate guessed_stored(const std::vector<Index>& shape);
/// Where each element is stored with this probability, by chance.
[[nodiscard]] Estimate drawn_stored(const std::vector<Index>& shape, double density);

/// Where along the rows of a matrix its elements are stored, in bins of near-equal numbers of rows.
struct RowCounts {
  static constexpr Index kMostBins = 1 << 16;

  Index rows = 0;
  std::vector<Index> before;  ///< elements in the bins before bin b; one more at the end: all

  [[nodiscard]] static Index bins_of(Index rows) { return std::min(rows, kMostBins); }
  [[nodiscard]] Index bins() const { return static_cast<Index>(before.size()) - 1; }
  /// Into `tiles` parts, about equal in work: every element counts, and every row as much as 1.5 of them.
  [[nodiscard]] Tiling cut(Index tiles) const;
  [[nodiscard]] std::uint64_t hash() const;
};

/// Bytes of sized blocks as a function of how many they are and how much is stored in them.
class BlockFormula {
 public:
  /// Blocks of at most these extents, dimension by dimension.
  BlockFormula(const Storage& storage, Index element_bytes, const std::vector<Index>& extents);

  /// Of this many blocks with this many elements stored. A block without elements may be absent.
  [[nodiscard]] Estimate bytes(const Estimate& blocks, const Estimate& stored) const;
  /// Of one block that has these very extents.
  [[nodiscard]] Estimate one(const Estimate& stored) const;

 private:
  [[nodiscard]] double pointers_of(double rows, double stored) const;
  [[nodiscard]] double most_inside(double blocks, double stored) const;
  [[nodiscard]] double expected_pointers(double stored) const;

  double fixed_ = 0;  ///< head, gaps between arrays, ends of arrays: of any block
  double rows_ = 0;   ///< of a dense outermost level in front of a compressed one: entries, which pointers enumerate or
                      ///< a list names
  double pointers_ = 0;    ///< bytes of pointers behind each of them
  double each_ = 0;        ///< of every stored element
  double dense_each_ = 0;  ///< of every element of a block that is stored densely because it is full enough
  double least_each_ = 0;
  double volume_ = 1;
};

}  // namespace tdsl::plan

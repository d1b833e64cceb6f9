#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "runtime/check.h"
#include "runtime/plan/space/index.h"
#include "runtime/sparse/block.h"
#include "runtime/sparse/coded.h"

// The blocks and pieces of a sparse operand, as far as they do not depend on its rank, and the blocks of rows that a
// loop over a matrix visits. Compiled in the library: kernels would have a copy for every vector width.

namespace tdsl::rt::sparse {

using plan::Box;
using plan::Interval;

/// A block, or a range of its outermost level, and its position in the tensor.
struct Part {
  const BlockHead* head = nullptr;  ///< null: no elements stored
  Box box;                          ///< of the whole block; coordinates are relative to its corner
  Interval outer;                   ///< the available range of the outermost dimension
};

/// The parts of an operand by their position.
template <class T>
class PartList {
 public:
  struct Entry {
    BlockView<T> view;
    std::array<Index, 8> corner;  ///< per level
    Interval outer;
  };
  /// Adjacent parts: column panels of the same rows.
  struct Band {
    Interval outer;
    std::size_t first = 0;
    std::size_t last = 0;  ///< if equal to `first`: coded()[first], which has its rows to itself
  };

  /// `order`: the dimension of each level; empty: in order.
  PartList(std::span<const Part> parts, int rank, std::span<const int> order);

  [[nodiscard]] std::span<const Entry> entries() const { return entries_; }
  [[nodiscard]] std::span<const Band> bands() const { return bands_; }
  [[nodiscard]] std::span<const Part> coded() const { return coded_; }
  /// True if columns of a part are coded.
  [[nodiscard]] bool has_codes() const { return !coded_.empty(); }
  /// Columns are coded only where rows are visited one after the other.
  void require_plain() const { TDSL_CHECK(coded_.empty(), "coded columns are read row by row"); }

 protected:
  std::vector<Entry> entries_;
  std::vector<Part> coded_;
  std::vector<Band> bands_;
};

/// Rows of one block of a matrix.
template <class T>
struct BlockRows {
  Interval nodes;                             ///< their numbers in the block
  Index row = 0;                              ///< subscript of node 0, or of coordinate 0
  Index column = 0;                           ///< the block's corner
  const std::uint32_t* listed = nullptr;      ///< coordinates of rows; null: all rows
  const Index* position = nullptr;            ///< null: columns are dense
  const std::uint32_t* coordinate = nullptr;  ///< of columns
  const T* values = nullptr;
  Index extent = 0;  ///< number of columns, if they are dense
  Index stored = 0;  ///< number of elements of the block
  bool no_zeros = true;

  [[nodiscard]] Index index_of(Index node) const {
    return row + (listed == nullptr ? node : static_cast<Index>(listed[node]));
  }
};

/// The blocks of rows of a matrix in an interval, ascending.
template <class T>
class RowBlocks {
 public:
  /// `decodes`: rows with coded columns are decoded, a few at a time, into blocks of dense rows.
  RowBlocks(const PartList<T>& parts, Interval wanted, bool decodes)
      : parts_(parts), wanted_(wanted), decodes_(decodes) {}
  RowBlocks(const RowBlocks&) = delete;
  RowBlocks& operator=(const RowBlocks&) = delete;
  /// Advances to the first or next block; false at the end.
  [[nodiscard]] bool next();

  /// The current block, unless there is one of these two.
  [[nodiscard]] const BlockRows<T>& rows() const { return rows_; }
  /// Parts that share the rows of `range()`.
  [[nodiscard]] const typename PartList<T>::Band* merged() const { return merged_; }
  [[nodiscard]] Interval range() const { return range_; }
  /// Rows with coded columns that are not decoded.
  [[nodiscard]] const CodedRows<T>* coded() const { return coded_ ? &*coded_ : nullptr; }

 private:
  void enter(const typename PartList<T>::Entry& entry);
  void decode();

  const PartList<T>& parts_;
  Interval wanted_;
  bool decodes_;
  std::size_t band_ = 0;  ///< the next one
  Interval range_;
  const typename PartList<T>::Band* merged_ = nullptr;
  BlockRows<T> rows_;
  std::optional<CodedRows<T>> coded_;
  std::optional<CodedRows<T>> left_;  ///< coded rows that are not decoded yet
  std::unique_ptr<T[]> buffer_;       ///< decoded rows
};

}  // namespace tdsl::rt::sparse

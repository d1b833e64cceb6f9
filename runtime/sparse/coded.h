#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/plan/space/index.h"
#include "runtime/sparse/build.h"
#include "runtime/sparse/coded_visits.h"

// Matrices with coded columns: each column has a dictionary of its distinct values, and each row the code of its value,
// or no code where it is 0. A coded block is
//
//     BlockHead
//     CodedColumn   column[columns]
//     CodedChunk    chunk[segments * columns]    codes of one column in a segment of kSegmentRows rows
//     T, Index      of every column: values[n], and the number of rows that have each of them
//     codes         chunk by chunk
//
// Columns that repeat few values are a byte per row; those with few nonzero rows list them.

namespace tdsl::rt::sparse {

/// Rows whose codes of one column are contiguous: few enough for a result per row to stay in the L1 cache.
inline constexpr Index kSegmentRows = 2048;
/// Columns with more distinct values are not coded.
inline constexpr Index kMostCodes = 65536;

struct CodedColumn {
  enum class Form : std::uint8_t {
    kEmpty,       ///< all 0
    kConstant,    ///< value 0 of the dictionary in every row
    kBytes,       ///< a code of 8 bits per row
    kWords,       ///< a code of 16 bits per row
    kListed,      ///< 16 bits per row that is not 0, ascending within the segment, and then as many codes of 8 bits
    kListedWords  ///< the same with codes of 16 bits
  } form = Form::kEmpty;
  std::uint32_t values = 0;  ///< size of the dictionary
  Index dictionary = 0;      ///< offset of the values, in bytes from the head
  Index counts = 0;          ///< offset of the counts
};
struct CodedChunk {
  std::uint32_t at = 0;     ///< offset from BlockHead::codes, in units of 8 bytes
  std::uint32_t count = 0;  ///< of listed rows
};

/// Codes the elements of a tile.
template <class T>
class Coder {
 public:
  /// `most`: limit on the size of the block in bytes.
  Coder(const RowEntries<T>& entries, Index most);
  /// True if the visits are predicted to take no more time with codes (Note [Codes by time]).
  [[nodiscard]] bool pays(const CodedVisits& visits) const {
    return nanoseconds_with_codes(visits) <= nanoseconds_without(visits);
  }
  /// 0 bytes: the block would be larger than the limit, or a column has too many distinct values.
  [[nodiscard]] const BlockHead& head() const { return head_; }
  /// Writes the block to `head().bytes` bytes at `to`, which must be aligned to 64 bytes.
  void write(std::byte* to) const;

 private:
  using Form = CodedColumn::Form;

  class Dictionary;
  [[nodiscard]] double nanoseconds_with_codes(const CodedVisits& visits) const;
  [[nodiscard]] double nanoseconds_without(const CodedVisits& visits) const;
  [[nodiscard]] bool assign_codes(Index most);
  void choose(std::size_t column, const Dictionary& values);
  void place(const std::vector<Dictionary>& dictionaries);
  void write_codes(std::byte* codes) const;
  [[nodiscard]] Index rows_in(Index segment) const { return std::min(kSegmentRows, rows_ - segment * kSegmentRows); }

  RowEntries<T> entries_;
  Index rows_;
  Index segments_;
  std::vector<std::uint16_t> code_;  ///< per element
  std::vector<CodedColumn> columns_;
  std::vector<std::uint8_t> shift_;  ///< per column: 1 if code 0 is that of rows without an element
  std::vector<CodedChunk> chunks_;
  std::vector<T> values_;  ///< of all dictionaries
  std::vector<Index> counts_;
  BlockHead head_;
};

/// A read-only view of a coded block. Rows and columns are relative to the block's corner.
template <class T>
class CodedView {
 public:
  explicit CodedView(const BlockHead& head)
      : base_(reinterpret_cast<const std::byte*>(&head)),
        rows_(head.count[0]),
        columns_(head.count[0] == 0 ? 0 : head.count[1] / head.count[0]),
        codes_(base_ + head.codes),
        column_(reinterpret_cast<const CodedColumn*>(base_ + sizeof(BlockHead))),
        chunk_(reinterpret_cast<const CodedChunk*>(base_ + head.chunks)) {}

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index columns() const { return columns_; }
  [[nodiscard]] const CodedColumn& column(Index c) const { return column_[c]; }
  [[nodiscard]] const T* dictionary(Index c) const { return reinterpret_cast<const T*>(base_ + column_[c].dictionary); }
  /// How many of the block's rows have each value.
  [[nodiscard]] const Index* counts(Index c) const { return reinterpret_cast<const Index*>(base_ + column_[c].counts); }
  [[nodiscard]] const std::byte* codes(Index segment, Index c) const {
    return codes_ + static_cast<Index>(chunk_[segment * columns_ + c].at) * 8;
  }

  /// Calls `f(row, code)` for the column's rows of a segment, numbered from its begin, in the interval, ascending.
  /// Rows of listed columns without an element are omitted.
  template <class F>
  [[gnu::always_inline]] void each_code(Index segment, Index c, plan::Interval rows, const F& f) const {
    using Form = CodedColumn::Form;
    const std::byte* const codes = this->codes(segment, c);
    const auto bytes = [&](const std::byte* from) { return reinterpret_cast<const std::uint8_t*>(from); };
    const auto words = [&](const std::byte* from) { return reinterpret_cast<const std::uint16_t*>(from); };
    switch (column_[c].form) {
      case Form::kEmpty: return;
      case Form::kConstant:
        for (Index r = rows.lo; r < rows.hi; ++r) f(r, 0);
        return;
      case Form::kBytes:
        for (Index r = rows.lo; r < rows.hi; ++r) f(r, bytes(codes)[r]);
        return;
      case Form::kWords:
        for (Index r = rows.lo; r < rows.hi; ++r) f(r, words(codes)[r]);
        return;
      case Form::kListed:
      case Form::kListedWords: {
        const std::uint16_t* const listed = words(codes);
        const Index count = chunk_[segment * columns_ + c].count;
        const Index first = rows.lo == 0 ? 0 : std::lower_bound(listed, listed + count, rows.lo) - listed;
        const Index last = rows.hi == kSegmentRows ? count : std::lower_bound(listed, listed + count, rows.hi) - listed;
        const std::byte* const of_rows = codes + 2 * count;
        if (column_[c].form == Form::kListed) {
          for (Index k = first; k < last; ++k) f(listed[k], bytes(of_rows)[k]);
        } else {
          for (Index k = first; k < last; ++k) f(listed[k], words(of_rows)[k]);
        }
        return;
      }
    }
  }

  /// Calls `f(segment, rows)` for the segments that have rows in the interval; rows are numbered from the segment's
  /// begin.
  template <class F>
  static void each_segment(plan::Interval rows, const F& f) {
    for (Index first = rows.lo; first < rows.hi;) {
      const Index segment = first / kSegmentRows, begin = segment * kSegmentRows;
      const Index end = std::min(rows.hi, begin + kSegmentRows);
      f(segment, plan::Interval{first - begin, end - begin});
      first = end;
    }
  }

  /// Decodes rows into a row-major matrix.
  void decode(plan::Interval rows, T* to) const {
    std::fill(to, to + rows.size() * columns_, T(0));
    each_segment(rows, [&](Index segment, plan::Interval part) {
      T* const first = to + (segment * kSegmentRows - rows.lo) * columns_;
      for (Index c = 0; c < columns_; ++c) {
        const T* const values = dictionary(c);
        each_code(segment, c, part, [&](Index r, Index code) { first[r * columns_ + c] = values[code]; });
      }
    });
  }

 private:
  const std::byte* base_;
  Index rows_;
  Index columns_;
  const std::byte* codes_;
  const CodedColumn* column_;
  const CodedChunk* chunk_;
};

/// Rows of a coded block that is part of an operand.
template <class T>
struct CodedRows {
  CodedView<T> view;
  Index row = 0;        ///< subscript of the block's first row
  Index column = 0;     ///< and of its first column
  plan::Interval rows;  ///< relative to the block
};

/// The dense block of a range of rows of a coded one.
template <class T>
[[nodiscard]] BlockMemory decoded(const BlockHead& coded, plan::Interval rows);

}  // namespace tdsl::rt::sparse

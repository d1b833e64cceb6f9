#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/engine/store/store.h"
#include "runtime/kernels/task.h"

namespace tdsl::rt {

/// Values of a tensor's first subscript: the rows of a box that are fetched by a list (plan/lists.h).
struct RowList {
  std::vector<Interval> runs;  ///< ascending, with gaps between them
  Index rows = 0;

  /// Appends rows at or after the last one.
  void add(Interval run);
};
using RowListRef = std::shared_ptr<const RowList>;

/// The rows inside the interval.
[[nodiscard]] RowList rows_inside(const RowList& list, Interval range);
[[nodiscard]] RowList united(const std::vector<RowListRef>& lists);

/// Rows of a box, packed one after the other in C order.
struct PackedRows {
  RowListRef rows;
  Box box;
  std::byte* data = nullptr;
};
/// Bytes of a row of the box, which is not empty.
[[nodiscard]] Index row_bytes(const Box& box, Index element_bytes);

/// Copies the wanted rows of `from` to `to`, both boxes of the same tensor; `to` covers them.
void copy_rows(const RowList& wanted, const Operand& from, const Operand& to, Index element_bytes);
void copy_rows(const RowList& wanted, const PackedRows& from, const Operand& to, Index element_bytes);

/// The packing of requested rows from a block, before they are sent.
struct Packing {
  PackedRows to;
  Operand from;      ///< the block
  BufferRef source;  ///< of `from`
  Index element_bytes = 1;

  void run() const;
};

}  // namespace tdsl::rt

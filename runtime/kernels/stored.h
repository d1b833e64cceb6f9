#pragma once

#include <array>
#include <deque>
#include <vector>

#include "runtime/kernels/task.h"
#include "runtime/sparse/joint.h"
#include "runtime/sparse/output.h"
#include "runtime/sparse/parts.h"

// What kernels over stored elements are written with:
//
//     const auto A = rt::stored_in<double, 2>(t, 0);
//     A.rows(range_i, [&](const auto& row) {
//       double total = 0.0;
//       row.each([&](Index j, double a) { total += a * x(j); });
//       y(row.index()) = total;
//     });
//
// Rows without elements may be visited or not, and so may elements that are 0.

namespace tdsl::rt {

/// The blocks of operand number `k` that hold something.
[[nodiscard]] inline std::vector<sparse::Part> stored_parts(const TaskArgs& t, int k) {
  std::vector<sparse::Part> parts;
  for (const BlockPart& block : t.inputs[static_cast<std::size_t>(k)].parts) {
    if (block.data != nullptr) parts.push_back({reinterpret_cast<const sparse::BlockHead*>(block.data), block.box, block.box[0]});
  }
  return parts;
}

/// Operand number `k`, whose blocks hold stored elements.
template <class T, int R>
[[nodiscard]] sparse::Parts<T, R> stored_in(const TaskArgs& t, int k) {
  return sparse::Parts<T, R>(stored_parts(t, k));
}

using sparse::along;
using sparse::both;
using sparse::either;

/// Brings what holds the element towards the processor: it will be needed soon.
template <class T>
void fetch_ahead(const T& element) {
  __builtin_prefetch(&element);
}

/// Gives the sink the block of a tile; none if it has no elements. Whether its rows are listed follows from what they hold.
template <class T>
void put_block(BlockSink& sink, const sparse::RowEntries<T>& elements) {
  static constexpr auto kListed = [] {
    std::array<sparse::Level, plan::kMaxRank> levels{};
    levels.fill(sparse::Level::kCompressed);
    return levels;
  }();
  const sparse::BlockHead head = sparse::head_of(elements, std::span(kListed).first(elements.extents.size()));
  if (head.bytes == 0) return;
  sink.holds(elements.count());
  sparse::write_block(head, elements, sink.begin(head.bytes));
}

/// Makes the block of an output tile from its elements in the order of their subscripts. What is 0 is left out. Memory for the elements is kept
/// by the thread for its next tile.
template <class T>
class StoredTile {
 public:
  explicit StoredTile(const TaskArgs& t, int k = 0) : sink_(t.sink(k)), elements_(of_thread(static_cast<std::size_t>(k))) {
    elements_.begin(t.outputs[static_cast<std::size_t>(k)].box);
  }
  /// What is put next has the subscript along a dimension that is not the last.
  void at(std::size_t dimension, Index x) { elements_.at(dimension, x); }
  /// What is put next is in row i.
  void row(Index i) { elements_.row(i); }
  /// The element at j of the last dimension.
  void put(Index j, T value) { elements_.put(j, value); }
  /// The block is complete. Once.
  void finish() { put_block(sink_, elements_.entries()); }

 private:
  [[nodiscard]] static sparse::Output<T>& of_thread(std::size_t k) {
    thread_local std::deque<sparse::Output<T>> outputs;
    while (outputs.size() <= k) outputs.emplace_back();
    return outputs[k];
  }

  BlockSink& sink_;
  sparse::Output<T>& elements_;
};

}  // namespace tdsl::rt

#pragma once

#include <cstdint>
#include <initializer_list>
#include <type_traits>

#include "runtime/kernels/stop.h"
#include "runtime/kernels/stored.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/op.h"
#include "runtime/sparse/assembly.h"

// Kernels that assemble compressed tiles from points with computed positions:
//
//     rt::AssembledTile<double> K(t);
//     for (…) {
//       if (…the position is in the tile…) K.put({row, column}, value);
//     }
//     K.finish(Combine::kSum);
//
// A task sees a part of the points: a panel, or the points of a partial result. All but the last panel, and partial
// results, leave their entries uncombined; the last panel, or the combination of the partial results, combines the
// entries of all points in order.

namespace tdsl::rt {

/// Builds the block of an output tile from entries in the order of their points.
template <class T>
class AssembledTile {
 public:
  /// Begins with the entries of earlier panels.
  explicit AssembledTile(const TaskArgs& t)
      : t_(t), box_(t.outputs[0].box), form_(sparse::block_entry_form<T>(box_.rank)), entries_(of_thread()) {
    entries_.clear();
    if (!t.first) append(t.sink().before());
  }
  /// Adds an entry at a position inside the tile.
  void put(std::initializer_list<Index> at, T value) {
    std::byte* const entry = entries_.append(form_.bytes());
    int d = 0;
    for (const Index x : at) {
      form_.set_coordinate(entry, d, x - box_[d].lo);
      ++d;
    }
    form_.set_value(entry, static_cast<Stored>(value));
  }
  /// Adds the entries of a block that are inside the tile. The trailing dimensions of its box are those of the tile.
  void append(const BlockPart& block);

  /// Completes the block: an element is its values combined with 0, in order. Call once.
  void finish(plan::Combine combine);
  /// The same for elements with one entry each, whose values are unchanged.
  void finish_moved();
  /// The same for an element with one entry. If it has several, the run stops with the message.
  void finish_once(SourceLine place, const char* message);

 private:
  using Stored = std::conditional_t<std::is_same_v<T, bool>, std::int32_t, T>;

  template <plan::Combine kCombine>
  void finish_combined();
  template <class ValueOf>
  void finish_by(const ValueOf& value_of);
  void keep_entries();
  [[nodiscard]] static sparse::EntryList& of_thread();

  const TaskArgs& t_;
  Box box_;
  EntryForm form_;
  sparse::EntryList& entries_;
};

/// The kernel that combines partial results of an assembly: reads[0] is P[part, …], in blocks of entries.
[[nodiscard]] Kernel assembled_kernel(plan::Combine combine, ElementType type);
/// The same for a transposition: every element has one entry.
[[nodiscard]] Kernel moved_kernel(ElementType type);

}  // namespace tdsl::rt

#pragma once

#include <array>
#include <span>
#include <vector>

#include "runtime/sparse/parts.h"

namespace tdsl::rt::sparse {

/// The stored elements of an operand of any rank, with their subscripts: for files and printing. Kernels know the rank
/// and use Parts.
template <class T>
class Elements {
 public:
  explicit Elements(std::span<const Part> parts) {
    for (const Part& part : parts) {
      if (part.head == nullptr || part.head->bytes == 0) continue;
      const BlockHead* head = part.head;
      if (head->is_coded()) {
        const Index corner = part.box[0].lo;
        decoded_.push_back(decoded<T>(*head, {part.outer.lo - corner, part.outer.hi - corner}));
        head = head_in(decoded_.back());
      }
      Entry& entry = entries_.emplace_back(BlockView<T>(*head), std::array<Index, 8>{}, part.outer);
      for (int d = 0; d < part.box.rank; ++d) entry.corner[static_cast<std::size_t>(d)] = part.box[d].lo;
    }
    std::ranges::sort(entries_, {}, [](const Entry& e) { return e.corner; });
  }

  /// Calls `f(subscripts, value)` for elements with the first subscript in the interval: part by part, in subscript
  /// order within each.
  template <class F>
  void each(Interval wanted, F&& f) const {
    std::array<Index, 8> at{};
    for (const Entry& e : entries_) {
      if (!plan::intersect(e.outer, wanted).empty())
        descend(e, Children<T>::roots(e.view, e.corner.data(), e.outer, wanted), 0, at, f);
    }
  }
  /// The value at the subscripts; 0 if it is not stored.
  [[nodiscard]] T locate(std::span<const Index> at) const {
    for (const Entry& e : entries_) {
      Index node = Children<T>::roots(e.view, e.corner.data(), e.outer, e.outer).find(at[0]);
      for (std::size_t l = 1; l < at.size() && node >= 0; ++l)
        node = Children<T>::below(e.view, e.corner.data(), static_cast<int>(l), node).find(at[l]);
      if (node >= 0) return e.view.value(node);
    }
    return T(0);
  }

 private:
  struct Entry {
    BlockView<T> view;
    std::array<Index, 8> corner;
    Interval outer;
  };

  template <class F>
  static void descend(const Entry& e, const Children<T>& nodes, std::size_t level, std::array<Index, 8>& at, F& f) {
    const std::size_t levels = e.view.head().levels;
    for (Index node = nodes.first(); node < nodes.first() + nodes.size(); ++node) {
      at[level] = nodes.index_of(node);
      if (level + 1 == levels) {
        f(std::span<const Index>(at.data(), levels), e.view.value(node));
      } else {
        descend(e, Children<T>::below(e.view, e.corner.data(), static_cast<int>(level) + 1, node), level + 1, at, f);
      }
    }
  }

  std::vector<BlockMemory> decoded_;
  std::vector<Entry> entries_;
};

}  // namespace tdsl::rt::sparse

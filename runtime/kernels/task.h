#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <type_traits>

#include "runtime/plan/space/index.h"

namespace tdsl::rt {

using plan::Box;
using plan::Index;
using plan::Interval;

/// Elements of a tensor in memory, addressed by the tensor's own (global) subscripts. Every block and received box is
/// row-major, so the last dimension has stride 1.
template <class T, int R>
struct View {
  T* data = nullptr;
  Index shift = 0;  ///< minus the offset of the box's first element
  std::array<Index, R == 0 ? 1 : R> stride{};

  template <class... Subscripts>
  T& operator()(Subscripts... x) const {
    static_assert(sizeof...(Subscripts) == R);
    return data[offset(std::make_index_sequence<R>{}, static_cast<Index>(x)...)];
  }
  /// The same elements, read-only.
  operator View<const T, R>() const requires(!std::is_const_v<T>) { return {data, shift, stride}; }

 private:
  template <std::size_t... D, class... Subscripts>
  Index offset(std::index_sequence<D...>, Subscripts... x) const {
    Index sum = shift;
    ((sum += (D + 1 == R) ? x : x * stride[D]), ...);
    return sum;
  }
};

/// A block of a sized operand (plan/storage.h): self-describing bytes, 64-byte aligned.
struct BlockPart {
  Box box;                          ///< the whole block, whichever part of it is accessed
  const std::byte* data = nullptr;  ///< null: absent
  Index bytes = 0;
};

/// Receives a task's block of a sized output from a kernel. Without a call, the block is absent.
class BlockSink {
 public:
  BlockSink() = default;
  BlockSink(const BlockSink&) = delete;
  BlockSink& operator=(const BlockSink&) = delete;
  virtual ~BlockSink() = default;

  /// The current block: the base's, or the result of earlier panels.
  [[nodiscard]] virtual BlockPart before() const = 0;
  /// Allocates the block once its size is known. Once per call of the kernel. 0 bytes: absent.
  [[nodiscard]] virtual std::byte* begin(Index bytes) = 0;
  /// Reports the number of stored elements, for statistics.
  virtual void holds(Index elements) = 0;
  /// Keeps the current block unchanged.
  virtual void keep() = 0;
  /// Keeps the block for modification by the kernel: in place if it has no other users, else in a copy. Null: absent.
  [[nodiscard]] virtual std::byte* change() = 0;
};

/// A box of a tensor in memory: a task's view of an operand or of its output block.
struct Operand {
  std::byte* data = nullptr;                   ///< the box's first element; null for a sized tensor
  Box box;                                     ///< the elements of the tensor covered
  std::array<Index, plan::kMaxRank> stride{};  ///< in elements; the last is 1
  std::span<const BlockPart> parts{};  ///< for a sized tensor, or one read by blocks (Op::by_blocks): the blocks that
                                       ///< overlap the box, in order of their numbers

  template <class T, int R>
  [[nodiscard]] View<T, R> view() const {
    View<T, R> v;
    v.data = reinterpret_cast<T*>(data);
    for (int d = 0; d < R; ++d) {
      const auto i = static_cast<std::size_t>(d);
      v.stride[i] = stride[i];
      v.shift -= box[d].lo * stride[i];
    }
    return v;
  }
  /// True if the elements are contiguous in row-major order.
  [[nodiscard]] bool is_row_major() const {
    Index row = 1;
    for (int d = box.rank - 1; d >= 0; --d) {
      if (box[d].size() > 1 && stride[plan::idx(d)] != row) return false;
      row *= box[d].size();
    }
    return true;
  }
};

/// Sets every element of the output box to `value`.
template <class T>
void fill(const Operand& out, T value);

/// The arguments of a kernel: the label intervals of its task and its operands. A kernel computes every point of the
/// label box; on the first panel it initialises output elements that are not yet initialised (see `fresh`), on later
/// ones it accumulates.
struct TaskArgs {
  std::span<const Interval> labels;
  std::span<const Operand> inputs;   ///< in the order of Op::reads
  std::span<const Operand> outputs;  ///< in the order of Op::outputs
  Box out_box;                       ///< the output tile
  bool first = true;                 ///< first panel of the output block
  bool last = true;
  bool hit = true;       ///< false: the operation writes no element of the tile (and all label intervals are empty)
  bool fresh = true;     ///< the output block is uninitialised (no base); true only on the first panel
  bool partial = false;  ///< the output is a partial result, which another operation combines
  std::span<BlockSink* const> sinks{};  ///< parallel to outputs, if any is sized; null for dense ones

  [[nodiscard]] BlockSink& sink(int k = 0) const { return *sinks[static_cast<std::size_t>(k)]; }
  [[nodiscard]] Index lo(int label) const { return labels[static_cast<std::size_t>(label)].lo; }
  [[nodiscard]] Index hi(int label) const { return labels[static_cast<std::size_t>(label)].hi; }
  template <class T, int R>
  [[nodiscard]] View<const T, R> in(int k) const {
    return inputs[static_cast<std::size_t>(k)].view<const T, R>();
  }
  template <class T, int R>
  [[nodiscard]] View<T, R> out(int k = 0) const {
    return outputs[static_cast<std::size_t>(k)].view<T, R>();
  }
  /// The first output, with all elements set to `value` if it is uninitialised.
  template <class T, int R>
  [[nodiscard]] View<T, R> out_from(T value) const {
    if (fresh) fill<T>(outputs[0], value);
    return out<T, R>();
  }
};

/// Kernels may throw RunError; the run then stops with its message.
using Kernel = std::function<void(const TaskArgs&)>;

}  // namespace tdsl::rt

template <class T>
void tdsl::rt::fill(const Operand& out, T value) {
  const int rank = out.box.rank;
  const Index row = rank == 0 ? 1 : out.box[rank - 1].size();
  if (out.box.volume() == 0) return;
  std::array<Index, plan::kMaxRank> at{};
  T* const data = reinterpret_cast<T*>(out.data);
  while (true) {
    Index offset = 0;
    for (int d = 0; d + 1 < rank; ++d)
      offset += at[static_cast<std::size_t>(d)] * out.stride[static_cast<std::size_t>(d)];
    std::fill_n(data + offset, row, value);
    int d = rank - 2;
    for (; d >= 0; --d) {
      if (++at[static_cast<std::size_t>(d)] < out.box[d].size()) break;
      at[static_cast<std::size_t>(d)] = 0;
    }
    if (d < 0) return;
  }
}

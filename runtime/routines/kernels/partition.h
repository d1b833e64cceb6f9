#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/base/shared_loop.h"
#include "runtime/complex.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/task.h"

// Kernels of topk of a vector of bools, and of filter (Note [Places of a mask]). The vector is divided into blocks of
// `height` elements; operands are read in the tiles in which they are stored.

namespace tdsl::rt::routines::kernels {

using plan::idx;

/// The stored parts of an operand that is read by blocks.
inline std::vector<Operand> stored_parts(const Operand& operand) {
  if (operand.parts.empty()) return {operand};
  std::vector<Operand> list;
  for (const BlockPart& p : operand.parts) list.push_back(row_major(const_cast<std::byte*>(p.data), p.box));
  return list;
}

/// Number of true elements.
inline Index trues(const bool* mask, Index count) {
  constexpr std::uint64_t kOnes = 0x0101010101010101;
  Index sum = 0, i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, mask + i, 8);
    sum += static_cast<Index>(eight * kOnes >> 56U);  // the sum of its bytes
  }
  for (; i < count; ++i) sum += mask[i] ? 1 : 0;
  return sum;
}

/// Calls f(mask of the first element, i, count) for runs of elements in one part, from `begin` to `end`.
template <class F>
void for_each_run(const std::vector<Operand>& mask, Index begin, Index end, const F& f) {
  for (Index i = begin; i < end;) {
    const auto has = [i](const Operand& part) { return part.box[0].lo <= i && i < part.box[0].hi; };
    const Operand& part = *std::ranges::find_if(mask, has);
    const Index count = std::min(end, part.box[0].hi) - i;
    f(reinterpret_cast<const bool*>(part.data) + (i - part.box[0].lo), i, count);
    i += count;
  }
}

/// out(g) is the number of true elements of block g.
inline Kernel block_counts(Index height) {
  return [height](const TaskArgs& t) {
    const std::vector<Operand> mask = stored_parts(t.inputs[0]);
    const auto out = t.out<std::int64_t, 1>();
    for (Index g = t.lo(0); g < t.hi(0); ++g) {
      const Index end = std::min((g + 1) * height, t.inputs[0].box[0].hi);
      Index sum = 0;
      for_each_run(mask, g * height, end, [&](const bool* m, Index, Index count) { sum += trues(m, count); });
      out(g) = sum;
    }
  };
}

/// out(g) is the sum of the elements before g.
inline Kernel counts_before() {
  return [](const TaskArgs& t) {
    const auto counts = t.in<std::int64_t, 1>(0);
    const auto out = t.out<std::int64_t, 1>();
    std::int64_t total = 0;
    for (Index g = t.lo(0); g < t.hi(0); ++g) {
      out(g) = total;
      if (g + 1 < t.hi(0)) total += counts(g);
    }
  };
}

/// True up to the number of true elements, the operand's only one.
inline Kernel trues_first() {
  return [](const TaskArgs& t) {
    const Index trues = t.in<std::int64_t, 1>(0)(t.inputs[0].box[0].lo);
    const auto out = t.out<bool, 1>();
    for (Index k = t.lo(0); k < t.hi(0); ++k) out(k) = k < trues;
  };
}

/// A run of `count` elements of the mask from number i on, of which `wanted` are true (or false): those belong to the
/// result from its element k on.
struct MaskRun {
  const bool* mask = nullptr;
  Index i = 0;
  Index count = 0;
  Index k = 0;
  Index wanted = 0;

  /// The same without elements that precede the tile; `wanted` also without those behind it.
  template <bool kWanted>
  [[nodiscard]] MaskRun in(Interval tile) const {
    MaskRun part = *this;
    for (; part.k < tile.lo; ++part.mask, ++part.i, --part.count) part.k += *part.mask == kWanted ? 1 : 0;
    part.wanted = std::min(k + wanted, tile.hi) - part.k;
    return part;
  }
};

/// Elements [first, end) of the result are those of mask elements from `begin` to `stop` that are `kWanted`: calls
/// f(run) for the runs that have some in `tile`.
template <bool kWanted, class F>
void find(const std::vector<Operand>& mask, Index first, Index end, Interval tile, Index begin, Index stop,
          const F& f) {
  if (std::min(end, tile.hi) <= std::max(first, tile.lo)) return;
  Index k = first;
  for_each_run(mask, begin, stop, [&](const bool* m, Index i, Index count) {
    const Index sum = trues(m, count);
    const MaskRun run{m, i, count, k, kWanted ? sum : count - sum};
    k += run.wanted;
    if (std::min(k, tile.hi) > std::max(run.k, tile.lo)) f(run.in<kWanted>(tile));
  });
}

/// Elements of blocks that are worth the help of other threads.
constexpr Index kLeastShared = Index{1} << 17;

/// Calls on_true(run) and on_false(run) for the runs of elements of the task's tile, in label `along` of the result;
/// its panel is an interval of blocks, label `panel`. Operand 0 has the number of true elements before each block,
/// operand 1 is the mask. Blocks are independent: threads without a task help with many.
template <class OnTrue, class OnFalse>
void find_in_panel(const TaskArgs& t, int along, int panel, Index height, const OnTrue& on_true,
                   const OnFalse& on_false) {
  const auto before = t.in<std::int64_t, 1>(0);
  const std::vector<Operand> mask = stored_parts(t.inputs[1]);
  const Index all = before(t.inputs[0].box[0].hi - 1);  // true elements
  const Interval tile = t.labels[static_cast<std::size_t>(along)];
  Interval blocks = t.labels[static_cast<std::size_t>(panel)];
  if (tile.hi <= all) {  // the blocks that have true elements of the tile
    while (!blocks.empty() && before(blocks.lo + 1) <= tile.lo) ++blocks.lo;
    while (!blocks.empty() && before(blocks.hi - 1) >= tile.hi) --blocks.hi;
  }
  const auto visit = [&](Index number) {
    const Index g = blocks.lo + number, begin = g * height;
    const Index end = std::min(begin + height, t.inputs[1].box[0].hi);
    find<true>(mask, before(g), before(g + 1), tile, begin, end, on_true);
    find<false>(mask, all + begin - before(g), all + end - before(g + 1), tile, begin, end, on_false);
  };
  if (blocks.size() * height >= kLeastShared) return shared_loop::run(blocks.size(), visit);
  for (Index number = 0; number < blocks.size(); ++number) visit(number);
}

/// Places of wanted elements of a run.
template <bool kWanted, class Out>
void write_places(const MaskRun& run, const Out& out) {
  Index k = run.k;
  for (Index j = 0; k < run.k + run.wanted; ++j) {
    out(k) = run.i + j;
    k += run.mask[j] == kWanted ? 1 : 0;
  }
}

/// The places of true elements, then those of false ones, from the blocks in the task's interval of label 1.
inline Kernel places(Index height) {
  return [height](const TaskArgs& t) {
    if (t.fresh && t.partial) fill<std::int64_t>(t.outputs[0], std::numeric_limits<std::int64_t>::min());
    if (t.labels[1].empty() || t.labels[0].empty()) return;
    const auto out = t.out<std::int64_t, 1>();
    find_in_panel(
        t, 0, 1, height, [&](const MaskRun& run) { write_places<true>(run, out); },
        [&](const MaskRun& run) { write_places<false>(run, out); });
  };
}

/// The wanted elements of x, contiguous, to `to`. Eight at a time, without branches that depend on single elements.
template <bool kWanted, class T>
void keep(const MaskRun& run, const T* x, T* to) {
  constexpr std::uint64_t kNone = kWanted ? 0 : 0x0101010101010101;
  const bool* const mask = run.mask;
  const Index count = run.count, wanted = run.wanted;
  Index kept = 0;
  for (Index j = 0; kept < wanted;) {
    if (j + 8 <= count) {
      std::uint64_t eight = 0;
      std::memcpy(&eight, mask + j, 8);
      if (eight == kNone) {
        j += 8;
        continue;
      }
      if (kept + 8 <= wanted) {
        for (const Index end = j + 8; j < end; ++j) {
          to[kept] = x[j];
          kept += mask[j] == kWanted ? 1 : 0;
        }
        continue;
      }
    }
    to[kept] = x[j];
    kept += mask[j] == kWanted ? 1 : 0;
    ++j;
  }
}

/// Calls f(read, written) with the offsets in both operands of the points of `box` in dimensions [d, end).
template <class F>
void for_each_place(const Operand& in, const Operand& out, const Box& box, int d, int end, Index read, Index written,
                    const F& f) {
  if (d == end) return f(read, written);
  for (Index x = box[d].lo; x < box[d].hi; ++x)
    for_each_place(in, out, box, d + 1, end, read + (x - in.box[d].lo) * in.stride[idx(d)],
                   written + (x - out.box[d].lo) * out.stride[idx(d)], f);
}

/// The wanted slices along `axis` of one stored part of the tensor that has all places of the run.
template <bool kWanted, class T>
void keep_slices(const MaskRun& run, int axis, const Operand& in, const Operand& out) {
  const int rank = in.box.rank;
  Box box = in.box;
  for (int d = 0; d < rank; ++d) {
    if (d == axis) continue;
    box[d] = intersect(in.box[d], out.box[d]);
    if (box[d].empty()) return;
  }
  const T* const from = reinterpret_cast<const T*>(in.data) + (run.i - in.box[axis].lo) * in.stride[idx(axis)];
  T* const to = reinterpret_cast<T*>(out.data) + (run.k - out.box[axis].lo) * out.stride[idx(axis)];
  for_each_place(in, out, box, 0, axis, 0, 0, [&](Index read, Index written) {
    if (axis + 1 == rank) return keep<kWanted>(run, from + read, to + written);
    const Interval row = box[rank - 1];
    Index k = 0;
    for (Index j = 0; k < run.wanted; ++j) {
      if (run.mask[j] != kWanted) continue;
      for_each_place(in, out, box, axis + 1, rank - 1, read + j * in.stride[idx(axis)],
                     written + k * out.stride[idx(axis)], [&](Index source, Index target) {
                       std::copy_n(from + source + (row.lo - in.box[rank - 1].lo), row.size(),
                                   to + target + (row.lo - out.box[rank - 1].lo));
                     });
      ++k;
    }
  });
}

/// Divides a run at the ends of stored parts of the tensor: calls f(run, part) for every part.
template <bool kWanted, class F>
void in_parts(MaskRun run, int axis, const std::vector<Operand>& parts, const F& f) {
  while (run.wanted > 0) {
    Index end = run.i + run.count;
    for (const Operand& part : parts) {
      const Interval here = part.box[axis];
      if (here.lo > run.i) end = std::min(end, here.lo);
      if (here.lo <= run.i && run.i < here.hi) end = std::min(end, here.hi);
    }
    MaskRun piece = run;
    piece.count = end - run.i;
    const Index sum = trues(run.mask, piece.count);
    piece.wanted = std::min(run.wanted, kWanted ? sum : piece.count - sum);
    for (const Operand& part : parts) {
      if (piece.wanted > 0 && part.box[axis].lo <= run.i && run.i < part.box[axis].hi) f(piece, part);
    }
    run = {run.mask + piece.count, end, run.count - piece.count, run.k + piece.wanted, run.wanted - piece.wanted};
  }
}

/// The slices of operand 2 along `axis` at the places of true elements, then those at false ones, from the blocks in
/// the task's interval of the label behind those of the result.
template <class T>
Kernel filter(int axis, Index height) {
  return [axis, height](const TaskArgs& t) {
    if (t.fresh && t.partial) {
      if constexpr (kIsComplex<T>) {
        fill<T>(t.outputs[0], T{0});
      } else {
        fill<T>(t.outputs[0], scalar::max_identity<T>());
      }
    }
    if (std::ranges::any_of(t.labels, [](const Interval& label) { return label.empty(); })) return;
    const std::vector<Operand> parts = stored_parts(t.inputs[2]);
    const Operand& out = t.outputs[0];
    const auto slices = [&]<bool kWanted>(const MaskRun& run) {
      in_parts<kWanted>(run, axis, parts, [&](const MaskRun& piece, const Operand& part) {
        keep_slices<kWanted, T>(piece, axis, part, out);
      });
    };
    find_in_panel(
        t, axis, parts.front().box.rank, height, [&](const MaskRun& run) { slices.template operator()<true>(run); },
        [&](const MaskRun& run) { slices.template operator()<false>(run); });
  };
}

}  // namespace tdsl::rt::routines::kernels

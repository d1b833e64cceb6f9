#pragma once

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/task.h"

// Kernels of routines along lines. The operation never cuts dimension `axis` of its output and reads its operand whole
// along it, so a task has complete lines. T is the operand's element type.

namespace tdsl::rt::routines::kernels {

using plan::idx;

/// A line in memory: element k is data[k * stride].
template <class T>
struct Line {
  T* data = nullptr;
  Index stride = 1;
  Index length = 0;

  T& operator[](Index k) const { return data[k * stride]; }
};

/// Calls f(input line, output line) for every line of the task.
template <class From, class To, class F>
void for_each_line(const TaskArgs& t, int axis, const F& f) {
  const Operand& in = t.inputs[0];
  const Operand& out = t.outputs[0];
  const int rank = out.box.rank;
  if (out.box.empty()) return;
  std::array<Index, plan::kMaxRank> place{};  // relative to the boxes
  while (true) {
    const From* from = reinterpret_cast<const From*>(in.data);
    To* to = reinterpret_cast<To*>(out.data);
    for (int d = 0; d < rank; ++d) {
      if (d == axis) continue;
      // The operand's box begins at the output's corner.
      from += (place[idx(d)] + out.box[d].lo - in.box[d].lo) * in.stride[idx(d)];
      to += place[idx(d)] * out.stride[idx(d)];
    }
    f(Line<const From>{from, in.stride[idx(axis)], in.box[axis].size()},
      Line<To>{to, out.stride[idx(axis)], out.box[axis].size()});
    int d = rank - 1;
    for (; d >= 0; --d) {
      if (d == axis) continue;
      if (++place[idx(d)] < out.box[d].size()) break;
      place[idx(d)] = 0;
    }
    if (d < 0) return;
  }
}

/// Strict order of x before y; nan is last.
template <class T, bool kDescending>
bool before(T x, T y) {
  if constexpr (std::is_floating_point_v<T>) {
    if (x != x || y != y) return x == x && y != y;
  }
  return kDescending ? x > y : x < y;
}

/// Positions of the first `count` elements in sorted order; equal elements are ordered by position, so the order is
/// total.
template <class T, bool kDescending>
void find_order(const Line<const T>& line, Index count, std::vector<Index>& positions) {
  positions.resize(static_cast<std::size_t>(line.length));
  std::iota(positions.begin(), positions.end(), Index{0});
  const auto less = [&](Index x, Index y) {
    if (before<T, kDescending>(line[x], line[y])) return true;
    if (before<T, kDescending>(line[y], line[x])) return false;
    return x < y;
  };
  if (count < line.length) {
    std::partial_sort(positions.begin(), positions.begin() + count, positions.end(), less);
  } else {
    std::sort(positions.begin(), positions.end(), less);
  }
}

template <class T, bool kDescending, bool kValues>
Kernel ordered(int axis) {
  return [axis](const TaskArgs& t) {
    using To = std::conditional_t<kValues, T, std::int64_t>;
    std::vector<Index> positions;
    for_each_line<T, To>(t, axis, [&](const Line<const T>& from, const Line<To>& to) {
      find_order<T, kDescending>(from, to.length, positions);
      for (Index k = 0; k < to.length; ++k) {
        const Index position = positions[static_cast<std::size_t>(k)];
        if constexpr (kValues) {
          to[k] = from[position];
        } else {
          to[k] = position;
        }
      }
    });
  };
}

/// Running results of `combine` along each line, such as sums; the first is the first element as it is.
template <class T, class F>
Kernel scan(int axis, const F& combine) {
  return [axis, combine](const TaskArgs& t) {
    for_each_line<T, T>(t, axis, [&](const Line<const T>& from, const Line<T>& to) {
      T total{};
      for (Index k = 0; k < to.length; ++k) {
        total = k == 0 ? from[k] : combine(total, from[k]);
        to[k] = total;
      }
    });
  };
}

/// The same for lines divided into blocks of `height` elements, in three operations: totals of blocks (the output's
/// axis numbers the blocks), totals of the blocks before each, and running results of the task's blocks starting from
/// these (operand 1, whole along the axis). The result depends on `height` only, not on the number of ranks.
template <class T, class F>
Kernel block_totals(int axis, Index height, const F& combine) {
  return [axis, height, combine](const TaskArgs& t) {
    const Interval given = t.inputs[0].box[axis];
    const Index first = t.outputs[0].box[axis].lo;
    for_each_line<T, T>(t, axis, [&](const Line<const T>& from, const Line<T>& to) {
      for (Index g = 0; g < to.length; ++g) {
        const Interval block = plan::intersect(given, {(first + g) * height, (first + g + 1) * height});
        T total{};
        for (Index k = block.lo; k < block.hi; ++k)
          total = k == block.lo ? from[k - given.lo] : combine(total, from[k - given.lo]);
        to[g] = total;
      }
    });
  };
}

template <class T, class F>
Kernel totals_before(int axis, const F& combine) {
  return [axis, combine](const TaskArgs& t) {
    for_each_line<T, T>(t, axis, [&](const Line<const T>& from, const Line<T>& to) {
      T total{};
      for (Index k = 0; k < to.length; ++k) {
        to[k] = total;
        total = k == 0 ? from[k] : combine(total, from[k]);
      }
    });
  };
}

template <class T, class F>
Kernel block_scan(int axis, Index height, const F& combine) {
  return [axis, height, combine](const TaskArgs& t) {
    const Interval here = t.outputs[0].box[axis];
    const Operand& before = t.inputs[1];
    for_each_line<T, T>(t, axis, [&](const Line<const T>& from, const Line<T>& to) {
      // The line has the same position in operand 1 as in the output, except along the axis.
      Index offset = to.data - reinterpret_cast<T*>(t.outputs[0].data);
      const T* start = reinterpret_cast<const T*>(before.data);
      for (int d = 0; d < t.outputs[0].box.rank; ++d) {
        const Index place = d == axis ? 0 : offset / t.outputs[0].stride[idx(d)];
        if (d != axis) offset -= place * t.outputs[0].stride[idx(d)];
        if (d != axis) start += (place + t.outputs[0].box[d].lo - before.box[d].lo) * before.stride[idx(d)];
      }
      T total{};
      for (Index k = here.lo; k < here.hi; ++k) {
        const T own = from[k - t.inputs[0].box[axis].lo];
        const Index g = k / height;
        if (k % height != 0) {
          total = combine(total, own);
        } else {
          total = g == 0 ? own : combine(start[(g - before.box[axis].lo) * before.stride[idx(axis)]], own);
        }
        to[k - here.lo] = total;
      }
    });
  };
}

/// Ascending, nan last; stable for equal elements (0.0 and -0.0).
template <class T>
Kernel sort(int axis) {
  return [axis](const TaskArgs& t) {
    // Not std::vector<bool>, whose elements are not objects.
    std::vector<std::conditional_t<std::is_same_v<T, bool>, unsigned char, T>> line;
    for_each_line<T, T>(t, axis, [&](const Line<const T>& from, const Line<T>& to) {
      line.resize(static_cast<std::size_t>(from.length));
      for (Index k = 0; k < from.length; ++k) line[static_cast<std::size_t>(k)] = from[k];
      std::stable_sort(line.begin(), line.end(), [](T x, T y) { return before<T, false>(x, y); });
      for (Index k = 0; k < to.length; ++k) to[k] = static_cast<T>(line[static_cast<std::size_t>(k)]);
    });
  };
}

/// The positions (i64) in that order.
template <class T>
Kernel argsort(int axis) {
  return ordered<T, false, false>(axis);
}
/// The largest elements in descending order, nan last, as many as the output has; among equal elements the first.
template <class T>
Kernel topk_values(int axis) {
  return ordered<T, true, true>(axis);
}
/// Their positions (i64).
template <class T>
Kernel topk_positions(int axis) {
  return ordered<T, true, false>(axis);
}

// Elementwise kernels of routines along lines. Arguments are in the order of KernelCall::numbers; T is the operands'
// element type.

/// A value that compares below every element.
template <class T>
constexpr T padding() {
  if constexpr (std::is_floating_point_v<T>) return std::numeric_limits<T>::quiet_NaN();
  return std::numeric_limits<T>::lowest();
}

/// out(g, j) is element g * height + j of n; padded with a value that compares below every element.
template <class T>
Kernel padded_blocks(Index height, Index n) {
  return [height, n](const TaskArgs& t) {
    const auto in = t.in<T, 1>(0);
    const auto out = t.out<T, 2>();
    for (Index g = t.lo(0); g < t.hi(0); ++g) {
      for (Index j = t.lo(1); j < t.hi(1); ++j) out(g, j) = g * height + j < n ? in(g * height + j) : padding<T>();
    }
  };
}

/// Concatenates the rows of a matrix with `each` columns.
template <class T>
Kernel in_one_row(Index each) {
  return [each](const TaskArgs& t) {
    const auto in = t.in<T, 2>(0);
    const auto out = t.out<T, 1>();
    for (Index c = t.lo(0); c < t.hi(0); ++c) out(c) = in(c / each, c % each);
  };
}

/// The same for positions within blocks of `height` elements, converted to positions in the line.
inline Kernel origins(Index each, Index height) {
  return [each, height](const TaskArgs& t) {
    const auto in = t.in<std::int64_t, 2>(0);
    const auto out = t.out<std::int64_t, 1>();
    for (Index c = t.lo(0); c < t.hi(0); ++c) out(c) = in(c / each, c % each) + c / each * height;
  };
}

/// out(j) = operand 1(operand 0(j)), for the elements in the task's panel; partial results are combined by max.
inline Kernel pick() {
  return [](const TaskArgs& t) {
    const auto places = t.in<std::int64_t, 1>(0);
    const auto from = t.in<std::int64_t, 1>(1);
    const auto out = t.out<std::int64_t, 1>();
    if (t.fresh) fill<std::int64_t>(t.outputs[0], std::numeric_limits<std::int64_t>::min());
    if (t.labels[1].empty()) return;  // no elements were fetched
    for (Index j = t.lo(0); j < t.hi(0); ++j) {
      if (t.lo(1) <= places(j) && places(j) < t.hi(1)) out(j) = from(places(j));
    }
  };
}

}  // namespace tdsl::rt::routines::kernels

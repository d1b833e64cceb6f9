#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>

#include "runtime/kernels/rows.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/stop.h"
#include "runtime/kernels/task.h"

// Building blocks of loops that run as one task.

namespace tdsl::rt {

/// A whole tensor in memory, with its extents for subscript checks.
template <class T, int R>
struct Elements : View<T, R> {
  std::array<Index, R> extent{};
};

template <class T, int R>
[[nodiscard]] Elements<T, R> elements_of(const Operand& operand) {
  Elements<T, R> elements{operand.view<T, R>(), {}};
  for (int d = 0; d < R; ++d) elements.extent[static_cast<std::size_t>(d)] = operand.box[d].size();
  return elements;
}
/// Operand number `k`, read only.
template <class T, int R>
[[nodiscard]] Elements<const T, R> elements_in(const TaskArgs& t, int k) {
  return elements_of<const T, R>(t.inputs[static_cast<std::size_t>(k)]);
}
/// Result number `k`.
template <class T, int R>
[[nodiscard]] Elements<T, R> elements_out(const TaskArgs& t, int k) {
  return elements_of<T, R>(t.outputs[static_cast<std::size_t>(k)]);
}

namespace detail {

/// Sets the shape of row-major elements; returns their number.
template <class T, int R>
Index set_shape(Elements<T, R>& elements, const std::array<Index, R>& sizes) {
  elements.extent = sizes;
  Index count = 1;
  for (int d = R - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    elements.stride[i] = count;
    count *= std::max<Index>(sizes[i], 0);
  }
  return count;
}

}  // namespace detail

/// A tensor that lives as long as the task. Elements are initially zero.
template <class T, int R>
struct Local : Elements<T, R> {
  explicit Local(const std::array<Index, R>& sizes)
      : memory(std::make_unique<T[]>(static_cast<std::size_t>(detail::set_shape<T, R>(*this, sizes)))) {
    this->data = memory.get();
  }
  std::unique_ptr<T[]> memory;
};

/// A tensor with variable extents; its elements are unspecified after resize().
template <class T, int R>
struct Resized : Elements<T, R> {
  void resize(const std::array<Index, R>& sizes) {
    const Index count = detail::set_shape<T, R>(*this, sizes);
    if (count <= capacity) return;
    capacity = count;
    memory = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(count));
    this->data = memory.get();
  }
  Index capacity = 0;
  std::unique_ptr<T[]> memory;
};

/// The sum of x(k) * y(k) over two contiguous lines; by the rules of rows.h.
template <class T, class X, class Y>
[[nodiscard]] T dot(Interval line, const X& x, const Y& y) {
  T sum{};
  if (!line.empty()) rows::detail::dot(&sum, &x(line.lo), 0, &y(line.lo), line.size(), 1);
  return sum + T{0};  // never -0.0
}

/// to(j) += scale(i) * x(i, j) for all rows i, one after the other; rows are contiguous and equally spaced. By the
/// rules of rows.h.
template <class T, class To, class Scale, class X>
void add_products(Interval rows, Interval line, const To& to, const Scale& scale, const X& x) {
  if (rows.empty() || line.empty()) return;
  constexpr Index kAtOnce = 64;
  std::array<T, kAtOnce> scales;
  const Index stride = rows.size() > 1 ? &x(rows.lo + 1, line.lo) - &x(rows.lo, line.lo) : 0;
  for (Index first = rows.lo; first < rows.hi; first += kAtOnce) {
    const Index count = std::min(kAtOnce, rows.hi - first);
    for (Index i = 0; i < count; ++i) scales[static_cast<std::size_t>(i)] = scale(first + i);
    rows::detail::add_scaled(&to(line.lo), &x(first, line.lo), stride, scales.data(), line.size(), count);
  }
}

/// Ends the run at the first of the subscripts `first`, `first + step`, … (`count` of them) that is outside the
/// dimension.
inline void check_line(Index first, Index step, Index count, Index extent, SourceLine (*place)(int), int line,
                       const char* text) {
  const auto outside = [extent](Index x) { return x < 0 || x >= extent; };
  const Index last = first + (count - 1) * step;
  if (!outside(first) && !outside(last)) [[likely]]
    return;
  if (!outside(first)) first += (step > 0 ? (extent - first + step - 1) / step : first / -step + 1) * step;
  stop_subscript(place(line), first, extent, text);
}

namespace detail {
template <class To, class From>
void copy_rows(To* to, const Index* to_stride, From* from, const Index* from_stride, const Index* extent, int rank) {
  if (rank == 1) {
    for (Index i = 0; i < extent[0]; ++i) to[i] = from[i];
    return;
  }
  for (Index i = 0; i < extent[0]; ++i)
    copy_rows(to + i * to_stride[0], to_stride + 1, from + i * from_stride[0], from_stride + 1, extent + 1, rank - 1);
}
}  // namespace detail

/// `to = from`, whole tensors of one shape in separate memory; both begin at element 0 of every dimension.
template <class T, class From, int R>
void copy(const Elements<T, R>& to, const Elements<From, R>& from) {
  detail::copy_rows(to.data, to.stride.data(), from.data, from.stride.data(), to.extent.data(), R);
}
template <class T, int R>
[[nodiscard]] Local<std::remove_const_t<T>, R> copied(const Elements<T, R>& from) {
  Local<std::remove_const_t<T>, R> to(from.extent);
  copy(to, from);
  return to;
}
/// Sets every element of the tensor to the value.
template <class T, int R>
void fill(const Elements<T, R>& to, T value) {
  const auto rows = [&](const auto& self, T* data, std::size_t d) -> void {
    for (Index i = 0; i < to.extent[d]; ++i) {
      if (d + 1 == R) {
        data[i] = value;
      } else {
        self(self, data + i * to.stride[d], d + 1);
      }
    }
  };
  rows(rows, to.data, 0);
}

/// A sink for faults that ends the run at the first one, with its line.
struct StopAt {
  SourceLine (*place)(int);
  int line;

  void set_if(bool failed, scalar::Faults::Bit fault) const {
    if (failed) [[unlikely]]
      stop(place(line), scalar::Faults{fault}.message());
  }
};

/// The position of the smallest or largest of the values added so far: the first among equals, the first nan if there
/// is one; -1 if there are none.
template <class T>
struct Best {
  bool largest = false;
  Index position = -1;
  T best{};

  void add(T value, Index at) {
    const bool nan_holds = position >= 0 && best != best;
    if (nan_holds || (position >= 0 && !(value != value) && !(largest ? value > best : value < best))) return;
    best = value;
    position = at;
  }
};

}  // namespace tdsl::rt

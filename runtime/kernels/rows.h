#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <tuple>
#include <utility>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/progress.h"
#include "runtime/kernels/simd_level.h"
#include "runtime/kernels/task.h"

// What fused operators are made of: several operators take turns on blocks of rows, which stay in cache between them.
//
// Sums along a line have 64 bytes of partial sums (f64: element number k of the line goes to sum k mod 8), which meet in a binary tree; lines of
// up to 16 elements are summed one after the other. Sums over rows take them in order. Products are added with one rounding (fma). So the bits
// depend neither on the processor's vectors nor on where a line lies.

namespace tdsl::rt::rows {

/// A value that exists for one block of rows at a time: a line of `extents` elements for each. Subscripted by the rows' own numbers.
template <class T, int R>
class Local {
 public:
  explicit Local(std::array<Index, static_cast<std::size_t>(R) - 1> extents = {}) {
    for (int d = R - 1; d >= 0; --d) {
      view_.stride[static_cast<std::size_t>(d)] = line_;
      if (d > 0) line_ *= std::max<Index>(extents[static_cast<std::size_t>(d) - 1], 0);
    }
  }
  void reserve(Index rows) {
    memory_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(rows * line_));
    view_.data = memory_.get();
  }
  void move_to(Index row) { view_.shift = -row * view_.stride[0]; }

  template <class... Subscripts>
  [[gnu::always_inline]] T& operator()(Subscripts... x) const {
    return view_(x...);
  }
  operator View<T, R>() const { return view_; }
  operator View<const T, R>() const { return view_; }

 private:
  Index line_ = 1;
  std::unique_ptr<T[]> memory_;
  View<T, R> view_;
};

/// The rows of a task in blocks that stay in cache: 32 KiB of what one row reads and writes, but 8 to 256 rows; of long rows fewer, 1 MiB or one.
/// The locals move with them.
template <class... Locals>
class Blocks {
 public:
  Blocks(Interval rows, Index bytes_per_row, Locals&... locals)
      : rows_(rows), size_(rows_at_once(std::max<Index>(bytes_per_row, 1))), locals_(locals...) {
    (locals.reserve(std::clamp<Index>(rows.size(), 0, size_)), ...);
  }

  class Iterator {
   public:
    Iterator(const Blocks& blocks, Index at) : blocks_(blocks), at_(at) {}
    Interval operator*() const {
      std::apply([this](auto&... local) { (local.move_to(at_), ...); }, blocks_.locals_);
      return {at_, std::min(blocks_.rows_.hi, at_ + blocks_.size_)};
    }
    Iterator& operator++() {
      at_ = std::min(blocks_.rows_.hi, at_ + blocks_.size_);
      progress::pause();
      return *this;
    }
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const Blocks& blocks_;
    Index at_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, std::min(rows_.lo, rows_.hi)}; }
  [[nodiscard]] Iterator end() const { return {*this, rows_.hi}; }

 private:
  static constexpr Index kBytes = 32 << 10, kMostBytes = 1 << 20;
  static Index rows_at_once(Index bytes) { return std::clamp<Index>(kBytes / bytes, std::clamp<Index>(kMostBytes / bytes, 1, 8), 256); }
  Interval rows_;
  Index size_;
  std::tuple<Locals&...> locals_;
};
template <class... Locals>
Blocks(Interval, Index, Locals&...) -> Blocks<Locals...>;

/// f(i) for all rows i, in any order.
template <class F>
[[gnu::always_inline]] inline void each(Interval rows, const F& f) {
#pragma omp simd
  for (Index i = rows.lo; i < rows.hi; ++i) f(i);
}

namespace detail {

/// u[r] = sum over k < n of x[r * stride + k] * v[k].
void dot(double* u, const double* x, Index stride, const double* v, Index n, Index rows, SimdLevel level = simd_level());
void dot(float* u, const float* x, Index stride, const float* v, Index n, Index rows, SimdLevel level = simd_level());
/// y[k] += x[r * stride + k] * u[r], rows in order.
void add_scaled(double* y, const double* x, Index stride, const double* u, Index n, Index rows, SimdLevel level = simd_level());
void add_scaled(float* y, const float* x, Index stride, const float* u, Index n, Index rows, SimdLevel level = simd_level());

/// Partial sums of a line.
template <class T>
inline constexpr Index kLanes = std::max<Index>(1, 64 / static_cast<Index>(sizeof(T)));
inline constexpr Index kShortLine = lanes::kShortLine;

}  // namespace detail

/// u(i) = sum over j of x(i, j) * v(j) for the rows i.
template <class T>
void dot(const View<T, 1>& u, const View<const T, 2>& x, Interval rows, const View<const T, 1>& v, Interval j) {
  if (rows.empty()) return;
  if (j.empty()) return std::fill(&u(rows.lo), &u(rows.lo) + rows.size(), T{});
  detail::dot(&u(rows.lo), &x(rows.lo, j.lo), x.stride[0], &v(j.lo), j.size(), rows.size());
}
/// y(j) += sum over the rows i of x(i, j) * u(i).
template <class T>
void add_scaled(const View<T, 1>& y, const View<const T, 2>& x, Interval rows, const View<const T, 1>& u, Interval j) {
  if (rows.empty() || j.empty()) return;
  detail::add_scaled(&y(j.lo), &x(rows.lo, j.lo), x.stride[0], &u(rows.lo), j.size(), rows.size());
}

/// `combine` over f(j) for all j of the line; `combine` is associative and commutative, `identity` its identity.
template <class T, class Combine, class F>
[[gnu::always_inline]] inline T reduce(Interval line, T identity, const Combine& combine, const F& f) {
  return lanes::reduce<64>(line, identity, combine, f);
}

}  // namespace tdsl::rt::rows

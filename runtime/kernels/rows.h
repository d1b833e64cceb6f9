#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/progress.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/simd_level.h"
#include "runtime/kernels/task.h"

// Building blocks of fused operators: several operators process a block of rows in turn, while it stays in cache.
//
// Sums along a line use 64 bytes of partial sums (f64: element number k of the line goes to sum k mod 8), combined in a
// binary tree; lines of up to 16 elements are summed sequentially. Sums over rows add them in order. Products are added
// with one rounding (fma). So the bits depend neither on the processor's vector width nor on a line's alignment.

namespace tdsl::rt::rows {

/// A value that exists for one block of rows at a time: a line of `extents` elements per row. Subscripted by global row
/// numbers.
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

/// Whether the work on a block includes matrix products or loops that run once per distinct value, which benefit from
/// more rows.
enum class Work : std::uint8_t { kLines, kProducts, kCodes };

/// Splits the rows of a task into blocks that stay in cache: 32 KiB of data read and written per block, but at least 8
/// rows (128 for products) and at most 256; for codes 1 MiB and at most 65,536 rows. Blocks of long rows have fewer: at
/// most 1 MiB (4 MiB for products), or a single row. The iterator moves the locals to the current block.
template <class... Locals>
class Blocks {
 public:
  Blocks(Interval rows, Work work, Index bytes_per_row, Locals&... locals)
      : rows_(rows), size_(rows_at_once(work, std::max<Index>(bytes_per_row, 1))), locals_(locals...) {
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
  static constexpr Index kBytes = 32 << 10, kMostBytes = 1 << 20, kMostBytesOfProducts = 4 << 20;
  static Index rows_at_once(Work work, Index bytes) {
    if (work == Work::kCodes) return std::clamp<Index>(kMostBytes / bytes, 1, 1 << 16);
    const Index least = work == Work::kProducts ? std::clamp<Index>(kMostBytesOfProducts / bytes, 1, 128)
                                                : std::clamp<Index>(kMostBytes / bytes, 1, 8);
    return std::clamp<Index>(kBytes / bytes, least, 256);
  }
  Interval rows_;
  Index size_;
  std::tuple<Locals&...> locals_;
};
template <class... Locals>
Blocks(Interval, Work, Index, Locals&...) -> Blocks<Locals...>;

/// f(i) for all rows i, in any order.
template <class F>
[[gnu::always_inline]] inline void each(Interval rows, const F& f) {
#pragma omp simd
  for (Index i = rows.lo; i < rows.hi; ++i) f(i);
}

namespace detail {

/// u[r] = sum over k < n of x[r * stride + k] * v[k].
template <class T>
void dot(T* u, const T* x, Index stride, const T* v, Index n, Index rows, SimdLevel level = simd_level());
/// y[k] += x[r * stride + k] * u[r], rows in order.
template <class T>
void add_scaled(T* y, const T* x, Index stride, const T* u, Index n, Index rows, SimdLevel level = simd_level());

/// c (m x n) = a (m x k) b, or c += a b, through BLAS; strides in elements.
template <class T>
void multiply(Index m, Index n, Index k, const T* a, Index a_row, Index a_column, const T* b, Index b_row,
              Index b_column, bool add, T* c, Index c_row);

/// Rows of the result computed at once by a product of which only the upper part is needed: narrow products are slower
/// per operation where BLAS packs its operands (Note [Small products]).
[[nodiscard]] inline Index upper_block(Index length) {
  constexpr Index kSmall = 64, kLarge = 256;
  if (length <= kSmall) return kSmall / 2;
  if (length < kLarge) return length;
  return std::max(kLarge / 2, (length / 4 + kSmall - 1) / kSmall * kSmall);
}

/// Number of partial sums of a line.
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

/// The part of a view for one value of its first subscript.
template <class T, int R>
[[gnu::always_inline]] inline View<T, R - 1> at(const View<T, R>& x, Index i) {
  View<T, R - 1> part{x.data, x.shift + i * x.stride[0], {}};
  for (std::size_t d = 1; d < static_cast<std::size_t>(R); ++d) part.stride[d - 1] = x.stride[d];
  return part;
}
/// The elements of a packed output, from number `first` on, that represent a row-major tensor of these extents. All are
/// set to `value` if the output is uninitialised.
template <class T, int R>
[[nodiscard]] View<T, R> piece_from(const TaskArgs& t, Index first,
                                    const std::array<Index, static_cast<std::size_t>(R)>& extents, T value) {
  const View<T, 1> packed = t.out<T, 1>();
  View<T, R> part{packed.data, packed.shift + first, {}};
  Index count = 1;
  for (std::size_t d = extents.size(); d-- > 0; count *= extents[d]) part.stride[d] = count;
  if (t.fresh && count > 0) std::fill(&packed(first), &packed(first) + count, value);
  return part;
}
/// Transposed rows.
template <class T>
[[gnu::always_inline]] inline View<T, 2> transposed(const View<T, 2>& x) {
  return {x.data, x.shift, {x.stride[1], x.stride[0]}};
}

/// u(i, j) = sum over k of x(i, k) * y(k, j) for the rows i.
template <class T>
void product(const View<T, 2>& u, const View<const T, 2>& x, Interval rows, const View<const T, 2>& y, Interval j,
             Interval k) {
  if (rows.empty() || j.empty()) return;
  if (k.empty()) {
    for (Index i = rows.lo; i < rows.hi; ++i) std::fill(&u(i, j.lo), &u(i, j.lo) + j.size(), T{});
    return;
  }
  detail::multiply(rows.size(), j.size(), k.size(), &x(rows.lo, k.lo), x.stride[0], x.stride[1], &y(k.lo, j.lo),
                   y.stride[0], y.stride[1], false, &u(rows.lo, j.lo), u.stride[0]);
}
/// c(a, b) += sum over the rows i of x(i, a) * y(i, b).
template <class T>
void add_product(const View<T, 2>& c, const View<const T, 2>& x, Interval rows, const View<const T, 2>& y, Interval a,
                 Interval b) {
  if (rows.empty() || a.empty() || b.empty()) return;
  detail::multiply(a.size(), b.size(), rows.size(), &x(rows.lo, a.lo), x.stride[1], x.stride[0], &y(rows.lo, b.lo),
                   y.stride[0], y.stride[1], true, &c(a.lo, b.lo), c.stride[0]);
}

/// The same on and above the diagonal; elements below it are unspecified until `mirror` sets them. A symmetric result
/// takes half of the operations, or three quarters: blocks of rows end with the matrix.
template <class T>
void add_upper_product(const View<T, 2>& c, const View<const T, 2>& x, Interval rows, const View<const T, 2>& y,
                       Interval a, Interval b) {
  const Index block = detail::upper_block(a.size());
  for (Index first = a.lo; first < a.hi; first += block)
    add_product(c, x, rows, y, Interval{first, std::min(a.hi, first + block)}, Interval{first, b.hi});
}
/// c(a, b) = c(b, a) for a > b.
template <class T>
void mirror(const View<T, 2>& c, Interval a) {
  constexpr Index kBlock = 16;  // so that columns are read by the cache line
  for (Index i0 = a.lo; i0 < a.hi; i0 += kBlock) {
    const Index i1 = std::min(a.hi, i0 + kBlock);
    for (Index j0 = a.lo; j0 < i1; j0 += kBlock) {
      for (Index i = i0; i < i1; ++i) {
        for (Index j = j0; j < std::min(i, j0 + kBlock); ++j) c(i, j) = c(j, i);
      }
    }
  }
}

/// Sets all elements of the rows to `value`; `lines`: the ranges of the other dimensions.
template <class T, int R>
void fill(const View<T, R>& x, Interval rows, const std::array<Interval, static_cast<std::size_t>(R) - 1>& lines,
          T value) {
  for (Index i = rows.lo; i < rows.hi; ++i) {
    if constexpr (R == 1) {
      x(i) = value;
    } else {
      std::array<Interval, static_cast<std::size_t>(R) - 2> inner{};
      for (std::size_t d = 0; d < inner.size(); ++d) inner[d] = lines[d + 1];
      fill<T, R - 1>(at(x, i), lines[0], inner, value);
    }
  }
}

namespace detail {

/// The first position at which f has the given value, which must occur.
template <class T, class F>
[[gnu::always_inline]] inline Index first_of(Interval line, T value, const F& f) {
  Index j = line.lo;
  for (; j + kLanes<T> <= line.hi; j += kLanes<T>) {
    T here[kLanes<T>];
    T any{};
#pragma omp simd
    for (Index l = 0; l < kLanes<T>; ++l) here[l] = f(j + l) == value ? T{1} : T{0};
    for (Index l = 0; l < kLanes<T>; ++l) any = here[l] != T{0} ? T{1} : any;
    if (any != T{0}) break;
  }
  while (!(f(j) == value)) ++j;
  return j;
}

}  // namespace detail

/// Position of the best value of f: the first among equals, the first nan if there are any; -1 for an empty line.
/// `before(a, b)`: true if a is better than b.
template <class T, class Before, class F>
[[gnu::always_inline]] inline Index best(Interval line, const Before& before, const F& f) {
  if (line.empty()) return -1;
  constexpr Index kLanes = detail::kLanes<T>;
  const auto is_nan = [](T x) { return x != x; };
  if (line.size() >= 2 * kLanes) {
    // First the best value, then its position.
    T values[kLanes], nans[kLanes];
    for (Index l = 0; l < kLanes; ++l) {
      values[l] = f(line.lo + l);
      nans[l] = is_nan(values[l]) ? T{1} : T{0};
    }
    Index j = line.lo + kLanes;
    for (; j + kLanes <= line.hi; j += kLanes) {
#pragma omp simd
      for (Index l = 0; l < kLanes; ++l) {
        const T next = f(j + l);
        values[l] = before(next, values[l]) ? next : values[l];
        nans[l] = is_nan(next) ? T{1} : nans[l];
      }
    }
    T value = values[0];
    bool nan = false;
    for (Index l = 0; l < kLanes; ++l) {
      value = before(values[l], value) ? values[l] : value;
      nan = nan || nans[l] != T{0};
    }
    for (; j < line.hi; ++j) {
      const T next = f(j);
      value = before(next, value) ? next : value;
      nan = nan || is_nan(next);
    }
    if (!nan) return detail::first_of(line, value, f);
  }
  Index at = line.lo;
  T value = f(line.lo);
  for (Index j = line.lo + 1; j < line.hi && !is_nan(value); ++j) {
    const T next = f(j);
    if (before(next, value) || is_nan(next)) {
      at = j;
      value = next;
    }
  }
  return at;
}
template <class T, class F>
[[gnu::always_inline]] inline Index arg_min(Interval line, const F& f) {
  return best<T>(
      line, [](T a, T b) { return a < b; }, f);
}
template <class T, class F>
[[gnu::always_inline]] inline Index arg_max(Interval line, const F& f) {
  return best<T>(
      line, [](T a, T b) { return a > b; }, f);
}

/// `combine` over f(j) for all j of the line; `combine` is associative and commutative, `identity` its identity.
template <class T, class Combine, class F>
[[gnu::always_inline]] inline T reduce(Interval line, T identity, const Combine& combine, const F& f) {
  return lanes::reduce<64>(line, identity, combine, f);
}
/// Sum, product, minimum and maximum of f(j) for all j of the line; integer sums and products wrap around.
template <class T, class F>
[[gnu::always_inline]] inline T sum(Interval line, const F& f) {
  return reduce(
      line, T{0}, [](T a, T b) __attribute__((always_inline)) { return scalar::add(a, b); }, f);
}
template <class T, class F>
[[gnu::always_inline]] inline T prod(Interval line, const F& f) {
  return reduce(
      line, T{1}, [](T a, T b) __attribute__((always_inline)) { return scalar::multiply(a, b); }, f);
}
template <class T, class F>
[[gnu::always_inline]] inline T least(Interval line, const F& f) {
  return reduce(
      line, scalar::min_identity<T>(), [](T a, T b) __attribute__((always_inline)) { return scalar::least(a, b); }, f);
}
template <class T, class F>
[[gnu::always_inline]] inline T greatest(Interval line, const F& f) {
  return reduce(
      line, scalar::max_identity<T>(), [](T a, T b) __attribute__((always_inline)) { return scalar::greatest(a, b); },
      f);
}

}  // namespace tdsl::rt::rows

#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/kernels/progress.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/simd_level.h"
#include "runtime/plan/space/index.h"

// Reductions with two free labels, C(i, j) = combine over k of f(x(i, k), y(j, k)), for any scalar function: (min, +),
// distances, integer products, any(a && b), … Sums of float products use BLIS instead.
//
// Values that depend on (i, k) or on (j, k) alone are computed once for cache-sized blocks and packed in the order in
// which the innermost loop reads them; that loop keeps a tile of C in registers. Every element accumulates its k in
// index order, one after the other, independent of blocks and processor: results are bitwise equal to those of plain
// loops. Blocks without nan and inf may use a simpler function with the same results: a minimum that checks for nan
// takes three instructions, otherwise one.

namespace tdsl::rt {

using plan::Index;
using plan::Interval;

namespace blocked {

inline constexpr Index kRows = 8;            ///< rows of a register tile
inline constexpr Index kColumnBytes = 128;   ///< its columns: two of the widest vectors
inline constexpr Index kSteps = 256;         ///< points of k per visit of a tile
inline constexpr Index kRowBlock = 64;       ///< rows whose x values are packed at once
inline constexpr Index kColumnBlock = 4096;  ///< bytes of a row of y packed at once

template <class V>
[[nodiscard]] bool is_number([[maybe_unused]] V value) {
  if constexpr (std::is_floating_point_v<V>) return std::abs(value) <= std::numeric_limits<V>::max();
  return true;
}

/// The points of a rectangle that count.
enum class Part : std::uint8_t { kNone, kSome, kAll };

/// The elements of `target` at the points (i, j) for which all conditions hold; a reduction leaves the others as they
/// are, and skips tiles without such points. A condition is linear in i and j, so that it holds in a rectangle if it
/// does at the corners.
///
///     rt::blocked_reduction<double>(rows, columns, std::array{ks}, A, B, joins::sum_of_products<double>,
///                                   blocked::Where(C, [](Index i, Index j) { return j <= i; }));
template <class Target, class... Conditions>
class Where {
 public:
  explicit Where(const Target& target, Conditions... conditions) : target_(target), conditions_(conditions...) {}

  decltype(auto) operator()(Index i, Index j) const { return target_(i, j); }
  [[nodiscard]] bool counts(Index i, Index j) const {
    return std::apply([&](const auto&... holds) { return (... && holds(i, j)); }, conditions_);
  }
  /// Of nonempty intervals.
  [[nodiscard]] Part part(Interval is, Interval js) const {
    Part result = Part::kAll;
    const auto restrict_to = [&](const auto& holds) {
      const int corners = (holds(is.lo, js.lo) ? 1 : 0) + (holds(is.lo, js.hi - 1) ? 1 : 0) +
                          (holds(is.hi - 1, js.lo) ? 1 : 0) + (holds(is.hi - 1, js.hi - 1) ? 1 : 0);
      if (corners == 0) result = Part::kNone;
      if (corners < 4 && result == Part::kAll) result = Part::kSome;
    };
    std::apply([&](const auto&... holds) { (restrict_to(holds), ...); }, conditions_);
    return result;
  }

 private:
  const Target& target_;
  std::tuple<Conditions...> conditions_;
};

// A target without conditions has all points.
template <class Target>
[[nodiscard]] Part part_of([[maybe_unused]] const Target& target, [[maybe_unused]] Interval is,
                           [[maybe_unused]] Interval js) {
  if constexpr (requires { target.part(is, js); }) {
    return target.part(is, js);
  } else {
    return Part::kAll;
  }
}
template <class Target>
[[nodiscard]] bool counts([[maybe_unused]] const Target& target, [[maybe_unused]] Index i, [[maybe_unused]] Index j) {
  if constexpr (requires { target.counts(i, j); }) {
    return target.counts(i, j);
  } else {
    return true;
  }
}

/// One value or several of a point.
template <class V>
[[nodiscard]] std::tuple<V> values_of(const V& value) {
  return {value};
}
template <class... V>
[[nodiscard]] std::tuple<V...> values_of(const std::tuple<V...>& values) {
  return values;
}

/// The packed values of one block of at most `depth` steps: per value an array [tile][step][lane].
template <Index Lanes, class... V>
class Pack {
 public:
  Pack(Index tiles, Index depth)
      : depth_(depth), arrays_(std::make_unique<V[]>(static_cast<std::size_t>(tiles * depth * Lanes))...) {}

  /// Packs f(lane's label, k…) for `lanes` labels from `first` and the points of k from number `step`. Excess lanes are
  /// left unchanged: they take part in computations but are never stored.
  template <std::size_t K, class F>
  void fill(Index tile, Index first, Index lanes, const std::array<Interval, K>& ks, Index step, Index steps,
            const F& f) {
    std::array<Index, K> at = point(ks, step);
    for (Index s = 0; s < steps; ++s) {
      const Index to = (tile * depth_ + s) * Lanes;
      for (Index l = 0; l < lanes; ++l) {
        store(to + l, std::apply([&](auto... k) { return values_of(f(first + l, k...)); }, at),
              std::index_sequence_for<V...>{});
      }
      advance(ks, at);
    }
  }

  [[nodiscard]] std::tuple<const V*...> of_tile(Index tile) const {
    return std::apply(
        [&](const auto&... array) { return std::tuple<const V*...>(array.get() + tile * depth_ * Lanes...); }, arrays_);
  }

  /// True if the first `steps` steps of a tile contain neither nan nor inf.
  [[nodiscard]] bool holds_numbers(Index tile, Index steps) const {
    return std::apply([&](const auto*... values) { return (... && are_numbers(values, steps * Lanes)); },
                      of_tile(tile));
  }

 private:
  template <std::size_t K>
  static std::array<Index, K> point(const std::array<Interval, K>& ks, Index number) {
    std::array<Index, K> at{};
    for (std::size_t d = K; d-- > 0;) {
      at[d] = ks[d].lo + number % ks[d].size();
      number /= ks[d].size();
    }
    return at;
  }
  template <std::size_t K>
  static void advance(const std::array<Interval, K>& ks, std::array<Index, K>& at) {
    for (std::size_t d = K; d-- > 0;) {
      if (++at[d] < ks[d].hi) return;
      at[d] = ks[d].lo;
    }
  }
  template <std::size_t... N>
  void store(Index at, const std::tuple<V...>& values, std::index_sequence<N...>) {
    ((std::get<N>(arrays_)[static_cast<std::size_t>(at)] = std::get<N>(values)), ...);
  }

  template <class T>
  static bool are_numbers(const T* values, Index count) {
    int others = 0;
    for (Index i = 0; i < count; ++i) others |= is_number(values[i]) ? 0 : 1;
    return others == 0;
  }

  Index depth_;
  std::tuple<std::unique_ptr<V[]>...> arrays_;
};

/// Accumulates `steps` points of k into Height x Width elements of a tile of C, in registers. `lines`: its rows in
/// memory.
template <Index Height, Index Width, Index Columns, class T, class Combine, class... X, class... Y>
[[gnu::always_inline]] inline void steps_of(Index steps, T* const* lines, Index column,
                                            const std::tuple<const X*...>& xs, const std::tuple<const Y*...>& ys,
                                            const Combine& combine) {
  T sum[Height][Width];
  for (Index i = 0; i < Height; ++i) {
    for (Index j = 0; j < Width; ++j) sum[i][j] = lines[i][column + j];
  }
  for (Index s = 0; s < steps; ++s) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 8
#endif
    for (Index i = 0; i < Height; ++i) {
#pragma omp simd
      for (Index j = 0; j < Width; ++j) {
        sum[i][j] = std::apply(
            [&](const auto*... x) {
              return std::apply(
                  [&](const auto*... y) { return combine(sum[i][j], x[s * kRows + i]..., y[s * Columns + j]...); }, ys);
            },
            xs);
      }
    }
  }
  for (Index i = 0; i < Height; ++i) {
    for (Index j = 0; j < Width; ++j) lines[i][column + j] = sum[i][j];
  }
}

/// A whole tile, in parts that fit in registers.
template <Index Height, Index Width, Index Columns, class T, class Combine, class... X, class... Y>
[[gnu::always_inline]] inline void parts_of(Index steps, T* const* lines, const std::tuple<const X*...>& xs,
                                            const std::tuple<const Y*...>& ys, const Combine& combine) {
  for (Index i = 0; i < kRows; i += Height) {
    for (Index j = 0; j < Columns; j += Width) {
      steps_of<Height, Width, Columns>(steps, lines + i, j,
                                       std::apply([&](auto... x) { return std::tuple(x + i...); }, xs),
                                       std::apply([&](auto... y) { return std::tuple(y + j...); }, ys), combine);
    }
  }
}

// One function per SIMD level, with everything inlined into it: the scalar function is compiled for that level.
template <Index Columns, class T, class Combine, class Xs, class Ys>
[[gnu::flatten, gnu::noinline]] void tile_baseline(Index steps, T* const* lines, const Xs& xs, const Ys& ys,
                                                   const Combine& combine) {
  parts_of<4, std::max<Index>(Columns / 4, 1), Columns>(steps, lines, xs, ys, combine);
}
#ifdef TDSL_HAS_SIMD_LEVELS
template <Index Columns, class T, class Combine, class Xs, class Ys>
[[gnu::target("avx2,fma,prefer-vector-width=256"), gnu::flatten, gnu::noinline, gnu::noclone]] void tile_avx2(
    Index steps, T* const* lines, const Xs& xs, const Ys& ys, const Combine& combine) {
  parts_of<4, std::max<Index>(Columns / 2, 1), Columns>(steps, lines, xs, ys, combine);
}
template <Index Columns, class T, class Combine, class Xs, class Ys>
[[gnu::target("avx512f,avx512dq,avx512bw,avx512vl,fma,prefer-vector-width=512"), gnu::flatten, gnu::noinline,
  gnu::noclone]] void
tile_avx512(Index steps, T* const* lines, const Xs& xs, const Ys& ys, const Combine& combine) {
  parts_of<kRows, Columns, Columns>(steps, lines, xs, ys, combine);
}
#endif

template <Index Columns, class T, class Combine, class Xs, class Ys>
void tile_steps([[maybe_unused]] SimdLevel level, Index steps, T* const* lines, const Xs& xs, const Ys& ys,
                const Combine& combine) {
#ifdef TDSL_HAS_SIMD_LEVELS
  if (level == SimdLevel::kAvx512) return tile_avx512<Columns>(steps, lines, xs, ys, combine);
  if (level == SimdLevel::kAvx2) return tile_avx2<Columns>(steps, lines, xs, ys, combine);
#endif
  tile_baseline<Columns>(steps, lines, xs, ys, combine);
}

/// The work on one panel of k, given the types of x and y.
template <class T, class Combine, class Numbers, class Target, class XPack, class YPack, Index Columns>
struct Panel {
  const Combine& combine;
  const Numbers& numbers;
  const Target& target;
  SimdLevel level;
  bool in_rows;  ///< rows are contiguous in memory

  void tile(Index steps, Index i, Index rows, Index j, Index columns, const XPack& x, Index x_tile, const YPack& y,
            Index y_tile, bool all_numbers) const {
    const Part counting = part_of(target, {i, i + rows}, {j, j + columns});
    if (counting == Part::kNone) return;
    T* lines[kRows];
    if (in_rows && rows == kRows && columns == Columns && counting == Part::kAll) {
      for (Index r = 0; r < kRows; ++r) lines[r] = &target(i + r, j);
      return compute(steps, lines, x.of_tile(x_tile), y.of_tile(y_tile), all_numbers);
    }
    T part[kRows * Columns] = {};
    for (Index r = 0; r < kRows; ++r) lines[r] = part + r * Columns;
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < columns; ++c) lines[r][c] = target(i + r, j + c);
    }
    compute(steps, lines, x.of_tile(x_tile), y.of_tile(y_tile), all_numbers);
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < columns; ++c) {
        if (counts(target, i + r, j + c)) target(i + r, j + c) = lines[r][c];
      }
    }
  }

 private:
  template <class Xs, class Ys>
  void compute(Index steps, T* const* lines, const Xs& xs, const Ys& ys, [[maybe_unused]] bool all_numbers) const {
    if constexpr (!std::is_same_v<Numbers, std::nullptr_t>) {
      if (all_numbers) {
        tile_steps<Columns>(level, steps, lines, xs, ys, numbers);
        for (Index r = 0; r < kRows; ++r) {
          for (Index c = 0; c < Columns; ++c) lines[r][c] = scalar::positive_zero(lines[r][c]);
        }
        return;
      }
    }
    tile_steps<Columns>(level, steps, lines, xs, ys, combine);
  }
};

/// The type of a join's function for numbers; std::nullptr_t: it has none.
template <class Combine>
struct NumbersOf {
  using Type = std::nullptr_t;
};
template <class Combine>
requires requires { typename Combine::Numbers; }
struct NumbersOf<Combine> {
  using Type = typename Combine::Numbers;
};

template <class... V>
constexpr Index widest(const std::tuple<V...>*) {
  return std::max({static_cast<Index>(sizeof(V))...});
}
template <Index Lanes, class... V>
Pack<Lanes, V...> pack_of(Index tiles, Index depth, const std::tuple<V...>*) {
  return Pack<Lanes, V...>(tiles, depth);
}

}  // namespace blocked

/// For all i of `is` and j of `js`: target(i, j) = combine(target(i, j), x(i, k…)…, y(j, k…)…) for the points k of `ks`
/// in row-major order. `x` and `y` return a value or a tuple of values and may be called more than once for a point;
/// `target(i, j)` is a reference to an element. A view of a tensor is such a function. The functions must not fail. Not
/// inlined, because it has its own SIMD versions. `target` may be restricted to some points (`Where`). `numbers`: the
/// same function as `combine`, but it may assume that values of x and y are neither nan nor inf; it is used for blocks
/// of such values, and a resulting -0.0 becomes 0.0. The loops of named functions are in the library (joins.h).
template <class T, std::size_t K, class X, class Y, class Combine, class Target,
          class Numbers = typename blocked::NumbersOf<Combine>::Type>
[[gnu::noinline]] void blocked_reduction(Interval is, Interval js, const std::array<Interval, K>& ks, const X& x,
                                         const Y& y, const Combine& combine, const Target& target,
                                         SimdLevel level = simd_level(), const Numbers& numbers = {}) {
  using namespace blocked;
  const auto rank = std::make_index_sequence<K>{};
  const auto type_at = []<std::size_t... N>(const auto& f, std::index_sequence<N...>) {
    using Values = decltype(values_of(f(Index{}, (static_cast<void>(N), Index{})...)));
    return static_cast<Values*>(nullptr);
  };
  const auto* const x_type = type_at(x, rank);
  const auto* const y_type = type_at(y, rank);
  constexpr Index kColumns = std::max<Index>(1, kColumnBytes / std::max<Index>(sizeof(T), widest(decltype(y_type){})));
  constexpr Index kRowTiles = kRowBlock / kRows;
  constexpr Index kColumnTiles = std::max<Index>(1, kColumnBlock / kColumnBytes);
  Index points = 1;
  for (const Interval& k : ks) points *= k.size();
  if (is.empty() || js.empty() || points == 0) return;

  const auto ceil_div = [](Index a, Index b) { return (a + b - 1) / b; };
  const Index depth = std::min(points, kSteps);
  auto xs = pack_of<kRows>(std::min(kRowTiles, ceil_div(is.size(), kRows)), depth, x_type);
  auto ys = pack_of<kColumns>(std::min(kColumnTiles, ceil_div(js.size(), kColumns)), depth, y_type);
  constexpr bool kTwoWays = !std::is_same_v<Numbers, std::nullptr_t>;
  std::array<bool, kRowTiles> x_numbers{};
  std::array<bool, kColumnTiles> y_numbers{};
  const bool in_rows = js.size() > 1 && &target(is.lo, js.lo) + 1 == &target(is.lo, js.lo + 1);
  const Panel<T, Combine, Numbers, Target, decltype(xs), decltype(ys), kColumns> panel{combine, numbers, target, level,
                                                                                       in_rows};
  for (Index j0 = js.lo; j0 < js.hi; j0 += kColumnTiles * kColumns) {
    const Index j1 = std::min(js.hi, j0 + kColumnTiles * kColumns);
    for (Index step = 0; step < points; step += kSteps) {
      const Index steps = std::min(kSteps, points - step);
      for (Index j = j0; j < j1; j += kColumns) {
        const Index tile = (j - j0) / kColumns, lanes = std::min(kColumns, j1 - j);
        if (part_of(target, is, {j, j + lanes}) == Part::kNone) continue;
        ys.fill(tile, j, lanes, ks, step, steps, y);
        if constexpr (kTwoWays) y_numbers[static_cast<std::size_t>(tile)] = ys.holds_numbers(tile, steps);
      }
      for (Index i0 = is.lo; i0 < is.hi; i0 += kRowBlock) {
        const Index i1 = std::min(is.hi, i0 + kRowBlock);
        if (part_of(target, {i0, i1}, {j0, j1}) == Part::kNone) continue;
        for (Index i = i0; i < i1; i += kRows) {
          const Index tile = (i - i0) / kRows;
          xs.fill(tile, i, std::min(kRows, i1 - i), ks, step, steps, x);
          if constexpr (kTwoWays) x_numbers[static_cast<std::size_t>(tile)] = xs.holds_numbers(tile, steps);
        }
        for (Index j = j0; j < j1; j += kColumns) {
          for (Index i = i0; i < i1; i += kRows) {
            const Index row = (i - i0) / kRows, column = (j - j0) / kColumns;
            panel.tile(steps, i, std::min(kRows, i1 - i), j, std::min(kColumns, j1 - j), xs, row, ys, column,
                       x_numbers[static_cast<std::size_t>(row)] && y_numbers[static_cast<std::size_t>(column)]);
          }
        }
        progress::pause();
      }
    }
  }
}

}  // namespace tdsl::rt

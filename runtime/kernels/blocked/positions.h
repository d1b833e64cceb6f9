#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/kernels/blocked/blocked_reduction.h"
#include "runtime/kernels/progress.h"
#include "runtime/kernels/rows.h"

// argmin and argmax of the rows of a reduction with two free labels, such as the nearest of several centres: the
// elements of a register tile are compared as soon as they are complete, and never stored.
//
//     a(i) = argmin over j of (combine over k of f(x(i, k), y(j, k)))

namespace tdsl::rt {

enum class Extreme : std::uint8_t { kLeast, kGreatest };

namespace blocked {

/// The best elements of a row in 64 bytes of lanes: lane l has the best of elements l, l + kLanes, … and the column of
/// its first occurrence.
template <class T>
struct RowBest {
  static constexpr Index kLanes = 64 / static_cast<Index>(sizeof(T));
  using Column = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
  static constexpr Column kNone = std::numeric_limits<Column>::max();
  T value[kLanes];
  Column column[kLanes];
  T nan[kLanes];  ///< 1 in lanes that have met a nan

  void clear(T worst) {
    std::fill_n(value, kLanes, worst);
    std::fill_n(column, kLanes, kNone);
    std::fill_n(nan, kLanes, T{0});
  }
  /// The column of the first of the best elements; kNone if a general comparison is needed: there is a nan, or no
  /// element is better than the worst value.
  [[nodiscard]] Column found(bool least) const {
    Column first = kNone;
    T best = value[0];
    for (Index l = 0; l < kLanes; ++l) {
      if (nan[l] != T{0}) return kNone;
      if (least ? value[l] < best : value[l] > best) best = value[l];
    }
    for (Index l = 0; l < kLanes; ++l) {
      if (value[l] == best) first = std::min(first, column[l]);
    }
    return first;
  }
};

/// Compares the elements of `rows` rows of a tile, at tile[r * width + c] for columns `first` + c, with the best ones
/// so far. `columns` is a multiple of RowBest<T>::kLanes: columns behind the last are the worst value.
template <class T>
void take_better(bool least, const T* tile, Index width, Index rows, Index columns, Index first, RowBest<T>* best,
                 SimdLevel level);
extern template void take_better(bool, const float*, Index, Index, Index, Index, RowBest<float>*, SimdLevel);
extern template void take_better(bool, const double*, Index, Index, Index, Index, RowBest<double>*, SimdLevel);

/// `combine` over the points of `ks` from `step` on, starting from `start`; x(k…) and y(k…) are values of one element.
template <class T, std::size_t K, class X, class Y, class Combine>
[[nodiscard]] T element_of(const std::array<Interval, K>& ks, T start, const Combine& combine, const X& x, const Y& y) {
  T total = start;
  const auto add = [&](auto... k) {
    total = std::apply(
        [&](const auto&... xs) {
          return std::apply([&](const auto&... ys) { return combine(total, xs..., ys...); }, values_of(y(k...)));
        },
        values_of(x(k...)));
  };
  const auto over = [&]<std::size_t D>(const auto& self, std::integral_constant<std::size_t, D>, auto... k) {
    if constexpr (D == K) {
      add(k...);
    } else {
      for (Index at = ks[D].lo; at < ks[D].hi; ++at) self(self, std::integral_constant<std::size_t, D + 1>{}, k..., at);
    }
  };
  over(over, std::integral_constant<std::size_t, 0>{});
  return total;
}

}  // namespace blocked

/// For all i of `is`: position(i) = the column j of the least (or greatest) of the elements that `combine` accumulates
/// from `start` over x(i, k…) and y(j, k…), for the points k of `ks` in row-major order: the first among equals, the
/// first nan if there are any; -1 if `js` is empty. x, y and combine are as in blocked_reduction; elements have the
/// bits that it computes. `position(i)` is a reference to an integer.
template <class T, std::size_t K, class X, class Y, class Combine, class Position>
[[gnu::noinline]] void blocked_position(Extreme which, Interval is, Interval js, const std::array<Interval, K>& ks,
                                        const X& x, const Y& y, const Combine& combine, T start,
                                        const Position& position, SimdLevel level = simd_level()) {
  using namespace blocked;
  const auto rank = std::make_index_sequence<K>{};
  const auto type_at = []<std::size_t... N>(const auto& f, std::index_sequence<N...>) {
    using Values = decltype(values_of(f(Index{}, (static_cast<void>(N), Index{})...)));
    return static_cast<Values*>(nullptr);
  };
  const auto* const x_type = type_at(x, rank);
  const auto* const y_type = type_at(y, rank);
  constexpr Index kLanes = RowBest<T>::kLanes, kTileBytes = kColumnBytesOf<Combine>;
  constexpr Index kColumns = std::max<Index>(1, kTileBytes / std::max<Index>(sizeof(T), widest(decltype(y_type){})));
  constexpr Index kStored = (kColumns + kLanes - 1) / kLanes * kLanes;
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool least = which == Extreme::kLeast;
  const T worst = least ? kInfinity : -kInfinity;
  Index points = 1;
  for (const Interval& k : ks) points *= k.size();
  const auto general = [&](Index i) {
    const auto element = [&](Index j) {
      return element_of<T>(
          ks, start, combine, [&](auto... k) { return x(i, k...); }, [&](auto... k) { return y(j, k...); });
    };
    return least ? rows::arg_min<T>(js, element) : rows::arg_max<T>(js, element);
  };
  const bool any = points > 0 && !is.empty() && !js.empty() && js.size() < RowBest<T>::kNone;
  const auto best = std::make_unique_for_overwrite<RowBest<T>[]>(static_cast<std::size_t>(is.empty() ? 0 : is.size()));
  for (Index r = 0; r < is.size(); ++r) best[static_cast<std::size_t>(r)].clear(worst);
  // The rows' elements from column `j` on.
  const auto take = [&](T* elements, Index stride, Interval rows, Index j, Index width) {
    const Index whole = (width + kLanes - 1) / kLanes * kLanes;
    for (Index r = 0; r < rows.size(); ++r)
      std::fill(elements + r * stride + width, elements + r * stride + whole, worst);
    take_better<T>(least, elements, stride, rows.size(), whole, j - js.lo,
                   &best[static_cast<std::size_t>(rows.lo - is.lo)], level);
    progress::tick();
  };
  if (any && points <= kSteps) {
    constexpr Index kColumnTiles = std::max<Index>(1, kColumnBlock / kTileBytes);
    auto xs = pack_of<kRows>(1, points, x_type);
    auto ys = pack_of<kColumns>(std::min(kColumnTiles, (js.size() + kColumns - 1) / kColumns), points, y_type);
    for (Index j0 = js.lo; j0 < js.hi; j0 += kColumnTiles * kColumns) {
      const Index j1 = std::min(js.hi, j0 + kColumnTiles * kColumns);
      for (Index j = j0; j < j1; j += kColumns)
        ys.fill((j - j0) / kColumns, j, std::min(kColumns, j1 - j), ks, 0, points, y);
      for (Index i = is.lo; i < is.hi; i += kRows) {
        const Interval rows{i, std::min(is.hi, i + kRows)};
        xs.fill(0, i, rows.size(), ks, 0, points, x);
        for (Index j = j0; j < j1; j += kColumns) {
          T tile[kRows * kStored];
          T* lines[kRows];
          for (Index r = 0; r < kRows; ++r) lines[r] = tile + r * kStored;
          std::fill_n(tile, kRows * kStored, start);
          const Index width = std::min(kColumns, j1 - j);
          tile_steps<kColumns>(level, points, width, lines, xs.of_tile(0), ys.of_tile((j - j0) / kColumns), combine);
          take(tile, kStored, rows, j, width);
        }
      }
    }
  } else if (any) {
    // Comparing elements takes little of the time: through memory.
    constexpr Index kBlock = std::max<Index>(1, kColumnBlock / (kLanes * static_cast<Index>(sizeof(T)))) * kLanes;
    const auto elements = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(is.size() * kBlock));
    for (Index j = js.lo; j < js.hi; j += kBlock) {
      const Interval columns{j, std::min(js.hi, j + kBlock)};
      std::fill_n(elements.get(), is.size() * kBlock, start);
      blocked_reduction<T>(
          is, columns, ks, x, y, combine,
          [&](Index i, Index c) -> T& { return elements[static_cast<std::size_t>((i - is.lo) * kBlock + c - j)]; },
          level);
      take(elements.get(), kBlock, is, j, columns.size());
    }
  }
  for (Index i = is.lo; i < is.hi; ++i) {
    const auto found = best[static_cast<std::size_t>(i - is.lo)].found(least);
    position(i) = found == RowBest<T>::kNone ? general(i) : js.lo + static_cast<Index>(found);
  }
}

}  // namespace tdsl::rt

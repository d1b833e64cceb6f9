#include "runtime/kernels/blocked/positions.h"

namespace tdsl::rt::blocked {

namespace {

template <class T, bool Least>
[[gnu::always_inline]] inline void take(const T* tile, Index width, Index rows, Index columns, Index first,
                                        RowBest<T>* best) {
  using Best = RowBest<T>;
  for (Index r = 0; r < rows; ++r) {
    Best row = best[r];
    for (Index c = 0; c < columns; c += Best::kLanes) {
      const T* const next = tile + r * width + c;
      const auto column = static_cast<typename Best::Column>(first + c);
#pragma omp simd
      for (Index l = 0; l < Best::kLanes; ++l) {
        const bool better = Least ? next[l] < row.value[l] : next[l] > row.value[l];
        row.column[l] = better ? column + static_cast<typename Best::Column>(l) : row.column[l];
        row.value[l] = better ? next[l] : row.value[l];
        row.nan[l] = next[l] != next[l] ? T{1} : row.nan[l];
      }
    }
    best[r] = row;
  }
}

template <class T>
[[gnu::always_inline]] inline void take(bool least, const T* tile, Index width, Index rows, Index columns, Index first,
                                        RowBest<T>* best) {
  least ? take<T, true>(tile, width, rows, columns, first, best)
        : take<T, false>(tile, width, rows, columns, first, best);
}

#ifdef TDSL_HAS_SIMD_LEVELS
template <class T>
[[gnu::target("avx2")]] void take_with_avx2(bool least, const T* tile, Index width, Index rows, Index columns,
                                            Index first, RowBest<T>* best) {
  take(least, tile, width, rows, columns, first, best);
}
template <class T>
[[gnu::target("avx512f,avx512vl,avx512dq,avx512bw,prefer-vector-width=512")]] void take_with_avx512(
    bool least, const T* tile, Index width, Index rows, Index columns, Index first, RowBest<T>* best) {
  take(least, tile, width, rows, columns, first, best);
}
#endif

}  // namespace

template <class T>
void take_better(bool least, const T* tile, Index width, Index rows, Index columns, Index first, RowBest<T>* best,
                 [[maybe_unused]] SimdLevel level) {
#ifdef TDSL_HAS_SIMD_LEVELS
  if (level == SimdLevel::kAvx512) return take_with_avx512(least, tile, width, rows, columns, first, best);
  if (level == SimdLevel::kAvx2) return take_with_avx2(least, tile, width, rows, columns, first, best);
#endif
  take(least, tile, width, rows, columns, first, best);
}

template void take_better(bool, const float*, Index, Index, Index, Index, RowBest<float>*, SimdLevel);
template void take_better(bool, const double*, Index, Index, Index, Index, RowBest<double>*, SimdLevel);

}  // namespace tdsl::rt::blocked

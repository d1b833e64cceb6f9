// BLAS calls through BLIS, which accepts any strides and any number of calling threads.
#ifndef TDSL_CBLAS

#include <algorithm>
#include <utility>

#include "runtime/base/environment.h"
#include "runtime/kernels/blocked/blocked_reduction.h"
#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/product/blis_product.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt::blas {

namespace {

rntm_t one_thread() {
  rntm_t rntm = BLIS_RNTM_INITIALIZER;
  bli_rntm_set_num_threads(1, &rntm);
  return rntm;
}

// Note [Small products] BLIS's AVX-512 kernels have no path for small matrices: they pack operands that fit in cache,
// and are up to ten times slower than the AVX2 kernels, which have one. Up to 32 columns or rows, or 64 x 64 elements
// of C, the latter are used; at that threshold both are equally fast, for any k, in f64 and f32.
cntx_t* small_products() {
  static cntx_t* const context = [] {
    bli_init();
    const bool avx512 = bli_arch_query_id() == BLIS_ARCH_SKX;
    return avx512 ? const_cast<cntx_t*>(bli_gks_lookup_nat_cntx(BLIS_ARCH_HASWELL)) : nullptr;
  }();
  return context;
}

// Note [Progress in BLIS] A product of large blocks takes a second, and splitting it into several calls would repeat
// packing or change bits. Instead BLIS gets a copy of its context in which each innermost kernel call, of a few
// microseconds, is followed by a tick.
/// A kernel in a BLIS context, and its replacement.
template <class T, int Context>
struct Ticking {
  static inline typename BlisType<T>::MicroKernel original = nullptr;
  static void call(dim_t m, dim_t n, dim_t k, T* alpha, T* a, T* b, T* beta, T* c, inc_t rs_c, inc_t cs_c,
                   auxinfo_t* data, cntx_t* cntx) {
    original(m, n, k, alpha, a, b, beta, c, rs_c, cs_c, data, cntx);
    progress::tick();
  }
};
template <class T, int Context, int Storage>
struct TickingSmall {
  static inline typename BlisType<T>::Small original = nullptr;
  static void call(conj_t conja, conj_t conjb, dim_t m, dim_t n, dim_t k, T* alpha, T* a, inc_t rs_a, inc_t cs_a, T* b,
                   inc_t rs_b, inc_t cs_b, T* beta, T* c, inc_t rs_c, inc_t cs_c, auxinfo_t* data, cntx_t* cntx) {
    original(conja, conjb, m, n, k, alpha, a, rs_a, cs_a, b, rs_b, cs_b, beta, c, rs_c, cs_c, data, cntx);
    progress::tick();
  }
};

template <class Place>
void replace(func_t& functions, num_t type) {
  void_fp& kernel = functions.ptr[type];
  if (kernel == nullptr) return;
  Place::original = reinterpret_cast<decltype(Place::original)>(kernel);
  kernel = reinterpret_cast<void_fp>(&Place::call);
}

template <class T, int Context, int... Storage>
void replace_all(cntx_t& context, std::integer_sequence<int, Storage...>) {
  replace<Ticking<T, Context>>(context.l3_nat_ukrs[BLIS_GEMM_UKR], BlisType<T>::kType);
  context.l3_vir_ukrs[BLIS_GEMM_UKR].ptr[BlisType<T>::kType] =
      context.l3_nat_ukrs[BLIS_GEMM_UKR].ptr[BlisType<T>::kType];
  (replace<TickingSmall<T, Context, Storage>>(context.l3_sup_kers[Storage], BlisType<T>::kType), ...);
}

template <int Context>
cntx_t* ticking(const cntx_t* context) {
  static cntx_t* const copy = [context] {
    auto* const made = new cntx_t(*context);
    replace_all<double, Context>(*made, std::make_integer_sequence<int, BLIS_NUM_3OP_RC_COMBOS>());
    replace_all<float, Context>(*made, std::make_integer_sequence<int, BLIS_NUM_3OP_RC_COMBOS>());
    return made;
  }();
  return copy;
}

/// The processor's kernels; null: chosen by BLIS.
cntx_t* large_products() {
  if (!progress::active()) return nullptr;
  bli_init();
  return ticking<0>(bli_gks_query_cntx());
}

/// The kernels for a product with C of m x n.
cntx_t* kernels_for(Index m, Index n) {
  constexpr Index kThin = 32;
  constexpr Index kSmall = 64 * 64;
  cntx_t* const small = std::min(m, n) <= kThin || m * n <= kSmall ? small_products() : nullptr;
  if (small == nullptr) return large_products();
  return progress::active() ? ticking<1>(small) : small;
}

// BLIS only reads its operands, but its interface lacks const.
template <class T>
T* writable(const T* data) {
  return const_cast<T*>(data);
}

/// Rows of a matrix with n columns between pauses. A multiple of the rows BLIS's kernels process at once, so that bits
/// do not change.
Index rows_at_once(Index n) {
  constexpr Index kElements = 1 << 22;
  constexpr Index kRows = 256;
  return std::max(kRows, kElements / std::max<Index>(n, 1) / kRows * kRows);
}

/// A plain matrix as one of tiles.
template <class T>
TiledMatrix<T> tiled(Matrix<T> m) {
  return {m.data, Axis(m.row_stride), Axis(m.column_stride)};
}

/// One call of BLIS; `context`: null for complex numbers.
template <class T>
void gemm_call(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c,
               cntx_t* context) {
  rntm_t rntm = one_thread();
  T one = 1;
  T beta = accumulate ? 1 : 0;
  BlisType<T>::gemm(BLIS_NO_TRANSPOSE, BLIS_NO_TRANSPOSE, m, n, k, &one, writable(a.data), a.row_stride,
                    a.column_stride, writable(b.data), b.row_stride, b.column_stride, &beta, c.data, c.row_stride,
                    c.column_stride, context, &rntm);
}

}  // namespace

void prepare() {
  constexpr int kSkylakeX = 0;  // BLIS 0.9's id of the AVX-512 kernels
  if (simd_level() == SimdLevel::kAvx512) set_blis_arch_type(kSkylakeX);
}

template <class T>
void gemm(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c,
          const Finish& finish) {
  if constexpr (kIsComplex<T>) {
    const Index rows = rows_at_once(std::max(n, k));
    for (Index i = 0; i < m; i += rows) {
      const Index count = std::min(rows, m - i);
      gemm_call<T>(count, n, k, {a.data + i * a.row_stride, a.row_stride, a.column_stride}, b, accumulate,
                   {c.data + i * c.row_stride, c.row_stride, c.column_stride}, nullptr);
      if (finish) finish(i, count, 0, n);
      progress::pause();
    }
  } else {
    if (takes_packed_product<T>(m, n, k))
      return packed_product<T>(m, n, k, tiled(a), tiled(b), accumulate, tiled(c), finish);
    gemm_call<T>(m, n, k, a, b, accumulate, c, kernels_for(m, n));
    if (finish) finish(0, m, 0, n);
  }
}

template <class T>
bool gemm_of_tiles(Index m, Index n, Index k, const TiledMatrix<const T>& a, const TiledMatrix<const T>& b,
                   bool accumulate, const TiledMatrix<T>& c) {
  if constexpr (kIsComplex<T>) {
    return false;
  } else {
    // Below this, packing takes longer than calls of BLIS for small matrices.
    constexpr Index kLeast = 128;
    if (!takes_packed_product<T>(m, n, k, kLeast)) return false;
    packed_product<T>(m, n, k, a, b, accumulate, c, nullptr);
    return true;
  }
}

template <class T>
void gemv(Index m, Index n, Matrix<const T> a, const T* x, Index x_stride, bool accumulate, T* y, Index y_stride) {
  const Index rows = rows_at_once(n);
  rntm_t rntm = one_thread();
  T one = 1;
  T beta = accumulate ? 1 : 0;
  for (Index i = 0; i < m; i += rows) {
    BlisType<T>::gemv(BLIS_NO_TRANSPOSE, BLIS_NO_CONJUGATE, std::min(rows, m - i), n, &one,
                      writable(a.data + i * a.row_stride), a.row_stride, a.column_stride, writable(x), x_stride, &beta,
                      y + i * y_stride, y_stride, nullptr, &rntm);
    progress::pause();
  }
}

template <class T>
void trsm(Triangle triangle, bool from_left, Index m, Index n, Matrix<const T> t, Matrix<T> x) {
  rntm_t rntm = one_thread();
  T one = 1;
  BlisType<T>::trsm(from_left ? BLIS_LEFT : BLIS_RIGHT, triangle == Triangle::kUpper ? BLIS_UPPER : BLIS_LOWER,
                    from_left ? BLIS_NO_TRANSPOSE : BLIS_TRANSPOSE,
                    triangle == Triangle::kUnitLower ? BLIS_UNIT_DIAG : BLIS_NONUNIT_DIAG, m, n, &one, writable(t.data),
                    t.row_stride, t.column_stride, x.data, x.row_stride, x.column_stride,
                    kIsComplex<T> ? nullptr : large_products(), &rntm);
}

template void gemm(Index, Index, Index, Matrix<const float>, Matrix<const float>, bool, Matrix<float>, const Finish&);
template bool gemm_of_tiles(Index, Index, Index, const TiledMatrix<const float>&, const TiledMatrix<const float>&, bool,
                            const TiledMatrix<float>&);
template bool gemm_of_tiles(Index, Index, Index, const TiledMatrix<const double>&, const TiledMatrix<const double>&,
                            bool, const TiledMatrix<double>&);
template void gemv(Index, Index, Matrix<const float>, const float*, Index, bool, float*, Index);
template void trsm(Triangle, bool, Index, Index, Matrix<const float>, Matrix<float>);
template void gemm(Index, Index, Index, Matrix<const double>, Matrix<const double>, bool, Matrix<double>,
                   const Finish&);
template void gemv(Index, Index, Matrix<const double>, const double*, Index, bool, double*, Index);
template void trsm(Triangle, bool, Index, Index, Matrix<const double>, Matrix<double>);

#define TDSL_COMPLEX(T)                                                                                            \
  template void gemm(Index, Index, Index, Matrix<const T>, Matrix<const T>, bool, Matrix<T>, const Finish&);       \
  template bool gemm_of_tiles(Index, Index, Index, const TiledMatrix<const T>&, const TiledMatrix<const T>&, bool, \
                              const TiledMatrix<T>&);                                                              \
  template void gemv(Index, Index, Matrix<const T>, const T*, Index, bool, T*, Index);                             \
  template void trsm(Triangle, bool, Index, Index, Matrix<const T>, Matrix<T>);
TDSL_COMPLEX(Complex<float>)
TDSL_COMPLEX(Complex<double>)
#undef TDSL_COMPLEX

}  // namespace tdsl::rt::blas

#endif

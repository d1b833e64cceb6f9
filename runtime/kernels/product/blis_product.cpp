// Large products using BLIS's micro-kernel.
#ifndef TDSL_CBLAS

#include "runtime/kernels/product/blis_product.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>

#include "runtime/kernels/product/pack.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt::blas {

namespace {

// Note [Packing] A blocked product packs each operand once per block of the other, whereas one call for the whole
// product packs a few times: packing has to be fast here. BLIS 0.9 packs one element at a time with AVX-512 in f32 (its
// table of packing kernels ends at 31 rows), which takes 8 % of a product of 8000^3 in blocks of 1000. The loops are
// those of BLIS, with its block sizes for this processor.

/// If any extent is below this, BLIS's paths for small and thin matrices are faster.
constexpr Index kLarge = 256;

/// The micro-kernel of this processor, and the block sizes for its caches.
template <class T>
struct Machine {
  cntx_t* context;
  typename BlisType<T>::MicroKernel kernel;
  bool prefers_rows;  ///< preferred layout of C
  bool plain_panels;  ///< panels are as wide as the micro-kernel's tile
  Index mr, nr, mc, nc, kc;
};

template <class T>
const Machine<T>& machine() {
  static const Machine<T> found = [] {
    bli_init();
    constexpr num_t kType = BlisType<T>::kType;
    cntx_t* const context = bli_gks_query_cntx();
    Machine<T> m;
    m.context = context;
    m.kernel =
        reinterpret_cast<typename BlisType<T>::MicroKernel>(bli_cntx_get_l3_nat_ukr_dt(kType, BLIS_GEMM_UKR, context));
    m.prefers_rows = bli_cntx_l3_nat_ukr_prefers_rows_dt(kType, BLIS_GEMM_UKR, context);
    m.mr = bli_cntx_get_blksz_def_dt(kType, BLIS_MR, context);
    m.nr = bli_cntx_get_blksz_def_dt(kType, BLIS_NR, context);
    m.mc = bli_cntx_get_blksz_def_dt(kType, BLIS_MC, context);
    m.nc = bli_cntx_get_blksz_def_dt(kType, BLIS_NC, context);
    m.kc = bli_cntx_get_blksz_def_dt(kType, BLIS_KC, context);
    m.plain_panels = bli_cntx_get_blksz_max_dt(kType, BLIS_MR, context) == m.mr &&
                     bli_cntx_get_blksz_max_dt(kType, BLIS_NR, context) == m.nr;
    return m;
  }();
  return found;
}

/// A thread's buffer for packed operands. It grows and is kept, like BLIS's own buffers.
template <class T>
class PackBuffer {
 public:
  T* of(Index elements) {
    if (elements > size_) {
      data_.reset();
      size_ = 0;
      // Micro-kernels prefetch the next columns, even past the last: an extra page keeps these reads valid.
      constexpr std::size_t kPage = 4096;
      const std::size_t bytes = (static_cast<std::size_t>(elements) * sizeof(T) + kPage - 1) / kPage * kPage + kPage;
      data_.reset(static_cast<T*>(std::aligned_alloc(kPage, bytes)));
      if (data_ == nullptr) throw std::bad_alloc();
      size_ = elements;
    }
    return data_.get();
  }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T, Free> data_;
  Index size_ = 0;
};

/// Cuts `length` into pieces of about equal length, at most `limit`, in multiples of `unit`.
Index even_piece(Index length, Index limit, Index unit) {
  const Index pieces = (length + limit - 1) / limit;
  const Index even = (length + pieces - 1) / pieces;
  return (even + unit - 1) / unit * unit;
}

/// Columns completed together: with the rows of a block of A they stay in the L2 cache.
constexpr Index kFinishedColumns = 128;

/// The micro-kernels of one packed block of A and one slab of B. `finish(j, columns)`: called for completed columns, if
/// these are the last.
template <class T, class Finished>
void multiply_packed(const Machine<T>& machine, Index rows, Index columns, Index k, T* a, T* b, T beta, Matrix<T> c,
                     const Finished& finish) {
  auxinfo_t info{};
  T one = 1;
  Index finished = 0;
  for (Index j = 0; j < columns; j += machine.nr) {
    T* const b_panel = b + j * k;
    for (Index i = 0; i < rows; i += machine.mr) {
      T* const a_panel = a + i * k;
      const bool last = i + machine.mr >= rows;
      bli_auxinfo_set_next_a(last ? a : a_panel + machine.mr * k, &info);
      bli_auxinfo_set_next_b(last && j + machine.nr < columns ? b_panel + machine.nr * k : b_panel, &info);
      machine.kernel(std::min(machine.mr, rows - i), std::min(machine.nr, columns - j), k, &one, a_panel, b_panel,
                     &beta, c.data + i * c.row_stride + j * c.column_stride, c.row_stride, c.column_stride, &info,
                     machine.context);
      progress::tick();
    }
    const Index done = std::min(j + machine.nr, columns);
    if (done - finished < kFinishedColumns && done < columns) continue;
    finish(finished, done - finished);
    finished = done;
  }
}

template <class T>
Matrix<T> transposed(Matrix<T> m) {
  return {m.data, m.column_stride, m.row_stride};
}

}  // namespace

template <class T>
bool takes_packed_product(Index m, Index n, Index k) {
  return std::min({m, n, k}) >= kLarge && machine<T>().plain_panels;
}

template <class T>
void packed_product(Index m, Index n, Index k, Matrix<const T> a, Matrix<const T> b, bool accumulate, Matrix<T> c,
                    const Finish& finish) {
  const Machine<T>& machine = blas::machine<T>();
  const bool transposes = machine.prefers_rows != (c.column_stride == 1);
  if (transposes) {
    std::swap(m, n);
    const Matrix<const T> left = a;
    a = transposed(b);
    b = transposed(left);
    c = transposed(c);
  }
  const Index mc = even_piece(m, machine.mc, machine.mr);
  const Index nc = even_piece(n, machine.nc, machine.nr);
  const Index kc = even_piece(k, machine.kc, 1);
  thread_local PackBuffer<T> a_buffer;
  thread_local PackBuffer<T> b_buffer;
  T* const a_packed = a_buffer.of(pack::elements(machine.mr, mc, kc));
  T* const b_packed = b_buffer.of(pack::elements(machine.nr, nc, kc));
  for (Index j = 0; j < n; j += nc) {
    const Index columns = std::min(nc, n - j);
    for (Index l = 0; l < k; l += kc) {
      const Index depth = std::min(kc, k - l);
      const T beta = accumulate || l > 0 ? T{1} : T{0};
      pack::panels(machine.nr, columns, depth, b.data + l * b.row_stride + j * b.column_stride, b.column_stride,
                   b.row_stride, b_packed);
      for (Index i = 0; i < m; i += mc) {
        const Index rows = std::min(mc, m - i);
        pack::panels(machine.mr, rows, depth, a.data + i * a.row_stride + l * a.column_stride, a.row_stride,
                     a.column_stride, a_packed);
        multiply_packed<T>(machine, rows, columns, depth, a_packed, b_packed, beta,
                           {c.data + i * c.row_stride + j * c.column_stride, c.row_stride, c.column_stride},
                           [&](Index from, Index count) {
                             if (!finish || l + depth < k) return;
                             transposes ? finish(j + from, count, i, rows) : finish(i, rows, j + from, count);
                           });
      }
    }
  }
}

template bool takes_packed_product<double>(Index, Index, Index);
template bool takes_packed_product<float>(Index, Index, Index);
template void packed_product(Index, Index, Index, Matrix<const double>, Matrix<const double>, bool, Matrix<double>,
                             const Finish&);
template void packed_product(Index, Index, Index, Matrix<const float>, Matrix<const float>, bool, Matrix<float>,
                             const Finish&);

}  // namespace tdsl::rt::blas

#endif

// Large products using BLIS's micro-kernel.
#ifndef TDSL_CBLAS

#include "runtime/kernels/product/blis_product.h"

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "runtime/kernels/product/pack.h"
#include "runtime/kernels/progress.h"

namespace tdsl::rt::blas {

namespace {

// Note [Packing] A blocked product packs each operand once per block of the other, whereas one call for the whole
// product packs a few times: packing has to be fast here. BLIS 0.9 packs one element at a time with AVX-512 in f32 (its
// table of packing kernels ends at 31 rows), which takes 8 % of a product of 8000^3 in blocks of 1000. The loops are
// those of BLIS, with its block sizes for this processor.

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

/// The micro-kernel of one tile of C: in place if its rows and its columns are at equal steps, otherwise through a
/// buffer.
template <class T>
class TileOfResult {
 public:
  TileOfResult(const Machine<T>& machine, const TiledMatrix<T>& c, T beta)
      : machine_(machine), c_(c), beta_(beta), regular_(c.rows.is_regular() && c.columns.is_regular()) {
    if (!regular_) buffer_.resize(static_cast<std::size_t>(machine.mr * machine.nr));
  }

  void multiply(Index i, Index rows, Index j, Index columns, Index k, T* a_panel, T* b_panel, auxinfo_t& info) {
    const Axis row = c_.rows.from(i), column = c_.columns.from(j);
    const Axis::Run down = row.run(rows), across = column.run(columns);
    T one = 1;
    if (regular_ || (down.length == rows && across.length == columns)) {
      machine_.kernel(rows, columns, k, &one, a_panel, b_panel, &beta_, c_.data + row[0] + column[0], down.step,
                      across.step, &info, machine_.context);
      return;
    }
    T zero = 0;
    const Index row_step = machine_.prefers_rows ? machine_.nr : 1,
                column_step = machine_.prefers_rows ? 1 : machine_.mr;
    machine_.kernel(rows, columns, k, &one, a_panel, b_panel, &zero, buffer_.data(), row_step, column_step, &info,
                    machine_.context);
    for (Index r = 0; r < rows; ++r) {
      T* const to = c_.data + row[r];
      for (Index s = 0; s < columns; ++s) {
        const T value = buffer_[static_cast<std::size_t>(r * row_step + s * column_step)];
        T& target = to[column[s]];
        target = beta_ == T{0} ? value : target + value;
      }
    }
  }

 private:
  const Machine<T>& machine_;
  TiledMatrix<T> c_;
  T beta_;
  bool regular_;
  std::vector<T> buffer_;
};

/// The micro-kernels of one packed block of A and one slab of B. `finish(j, columns)`: called for completed columns, if
/// these are the last.
template <class T, class Finished>
void multiply_packed(const Machine<T>& machine, Index rows, Index columns, Index k, T* a, T* b, T beta,
                     const TiledMatrix<T>& c, const Finished& finish) {
  auxinfo_t info{};
  TileOfResult<T> result(machine, c, beta);
  Index finished = 0;
  for (Index j = 0; j < columns; j += machine.nr) {
    T* const b_panel = b + j * k;
    for (Index i = 0; i < rows; i += machine.mr) {
      T* const a_panel = a + i * k;
      const bool last = i + machine.mr >= rows;
      bli_auxinfo_set_next_a(last ? a : a_panel + machine.mr * k, &info);
      bli_auxinfo_set_next_b(last && j + machine.nr < columns ? b_panel + machine.nr * k : b_panel, &info);
      result.multiply(i, std::min(machine.mr, rows - i), j, std::min(machine.nr, columns - j), k, a_panel, b_panel,
                      info);
      progress::tick();
    }
    const Index done = std::min(j + machine.nr, columns);
    if (done - finished < kFinishedColumns && done < columns) continue;
    finish(finished, done - finished);
    finished = done;
  }
}

template <class T>
TiledMatrix<T> transposed(const TiledMatrix<T>& m) {
  return {m.data, m.columns, m.rows};
}

/// The part of a matrix from row i and column j on.
template <class T>
TiledMatrix<T> part_from(const TiledMatrix<T>& m, Index i, Index j) {
  return {m.data, m.rows.from(i), m.columns.from(j)};
}

}  // namespace

template <class T>
bool takes_packed_product(Index m, Index n, Index k, Index least) {
  return std::min({m, n, k}) >= least && machine<T>().plain_panels;
}

template <class T>
void packed_product(Index m, Index n, Index k, TiledMatrix<const T> a, TiledMatrix<const T> b, bool accumulate,
                    TiledMatrix<T> c, const Finish& finish) {
  const Machine<T>& machine = blas::machine<T>();
  const bool transposes = machine.prefers_rows != (c.columns.run(n).step == 1);
  if (transposes) {
    std::swap(m, n);
    const TiledMatrix<const T> left = a;
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
      pack::panels(machine.nr, columns, depth, b.data, b.columns.from(j), b.rows.from(l), b_packed);
      for (Index i = 0; i < m; i += mc) {
        const Index rows = std::min(mc, m - i);
        pack::panels(machine.mr, rows, depth, a.data, a.rows.from(i), a.columns.from(l), a_packed);
        multiply_packed<T>(machine, rows, columns, depth, a_packed, b_packed, beta, part_from(c, i, j),
                           [&](Index from, Index count) {
                             if (!finish || l + depth < k) return;
                             transposes ? finish(j + from, count, i, rows) : finish(i, rows, j + from, count);
                           });
      }
    }
  }
}

template bool takes_packed_product<double>(Index, Index, Index, Index);
template bool takes_packed_product<float>(Index, Index, Index, Index);
template void packed_product(Index, Index, Index, TiledMatrix<const double>, TiledMatrix<const double>, bool,
                             TiledMatrix<double>, const Finish&);
template void packed_product(Index, Index, Index, TiledMatrix<const float>, TiledMatrix<const float>, bool,
                             TiledMatrix<float>, const Finish&);

}  // namespace tdsl::rt::blas

#endif

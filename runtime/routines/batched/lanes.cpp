#include "runtime/routines/batched/lanes.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "runtime/kernels/simd_level.h"
#include "runtime/routines/batched/walk.h"
#include "runtime/routines/kernels/columns.h"
#include "runtime/routines/small/factor.h"

namespace tdsl::rt::routines::kernels {

namespace {

constexpr int kLanes = 8;
/// Columns of right sides that are solved at once.
constexpr Index kColumns = 16;

template <class T>
struct alignas(kLanes * sizeof(T)) Lanes {
  T of[kLanes];
};

/// Rows and columns of an operand's matrices; a vector is one column, an element one of one row.
struct Extents {
  Index rows = 1;
  Index columns = 1;
  Index stride = 0;  ///< from row to row

  Extents(const Operand& operand, int batch) {
    const int rank = operand.box.rank - batch;
    if (rank == 0) return;
    rows = operand.box[batch].size();
    stride = operand.stride[plan::idx(batch)];
    if (rank == 2) columns = operand.box[batch + 1].size();
  }
};

/// Up to eight matrices of a task.
struct Group {
  int count = 0;
  std::array<BatchWalk, kLanes> walks;

  /// The next ones; `walk` moves on.
  explicit Group(BatchWalk& walk) : walks{walk, walk, walk, walk, walk, walk, walk, walk} {
    for (; count < kLanes && !walk.done(); walk.next()) walks[plan::idx(count++)] = walk;
  }
};

/// The elements of L matrices, row by row.
template <class T>
class Buffer {
 public:
  Buffer(Index rows, Index columns)
      : columns_(columns), elements_(static_cast<std::size_t>(std::max<Index>(1, rows * columns))) {}

  [[nodiscard]] T* data() { return elements_.data()->of; }
  T* at(Index i, Index j) { return elements_[static_cast<std::size_t>(i * columns_ + j)].of; }
  [[nodiscard]] Index lead() const { return columns_; }

  /// Rows of the operand's matrices, beginning at column `first`; lanes without a matrix repeat the first one.
  void load(const Operand& from, const Group& group, Index rows, Index columns, Index stride, Index first = 0) {
    for (int l = 0; l < kLanes; ++l) {
      const BatchWalk& walk = group.walks[plan::idx(l < group.count ? l : 0)];
      const T* const source = reinterpret_cast<const T*>(from.data) + walk.offset(from) + first;
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) at(i, j)[l] = source[i * stride + j];
      }
    }
  }
  void store(const Operand& to, const Group& group, Index rows, Index columns, Index stride, Index first = 0) {
    for (int l = 0; l < group.count; ++l) {
      T* const target = reinterpret_cast<T*>(to.data) + group.walks[plan::idx(l)].offset(to) + first;
      for (Index i = 0; i < rows; ++i) {
        for (Index j = 0; j < columns; ++j) target[i * stride + j] = at(i, j)[l];
      }
    }
  }

 private:
  Index columns_;
  std::vector<Lanes<T>> elements_;
};

using Pivots = std::vector<std::int32_t>;
/// A mark per lane: singular, or not positive definite.
using Marks = std::array<bool, kLanes>;

template <class T>
struct Factor {
  static void run(T* const& a, const Index& n, const SolveKind& kind, Pivots* const& pivots, Marks* const& failed) {
    bool* const marks = failed->data();
    if (kind == SolveKind::kGeneral) return small::lu<T, kLanes>(a, n, n, pivots->data(), marks);
    if (kind == SolveKind::kPositive) {
      small::cholesky<T, kLanes>(a, n, n, marks);
      for (bool& mark : *failed) mark = !mark;
      return;
    }
    for (Index i = 0; i < n; ++i) {
      for (int l = 0; l < kLanes; ++l) marks[l] = marks[l] || a[(i * n + i) * kLanes + l] == 0;
    }
  }
};

template <class T>
struct Substitute {
  static void run(const T* const& a, const Index& n, const SolveKind& kind, const Pivots& pivots, T* const& b,
                  const Index& columns) {
    const auto apply = [&](const small::Triangle& triangle) {
      small::substitute<T, kLanes>(triangle, a, n, n, b, columns, kColumns);
    };
    if (kind == SolveKind::kGeneral) {
      small::exchange_rows<T, kLanes>(b, n, columns, kColumns, pivots.data());
      apply({.lower = true, .transposed = false, .unit = true});
    }
    if (kind == SolveKind::kLower || kind == SolveKind::kPositive) apply({.lower = true});
    if (kind == SolveKind::kUpper || kind == SolveKind::kGeneral) apply({.lower = false});
    if (kind == SolveKind::kPositive) apply({.lower = true, .transposed = true});
  }
};

/// Factors of a group of square matrices.
template <class T>
class Factors {
 public:
  Factors(const Operand& from, int batch, SolveKind kind)
      : from_(from), extents_(from, batch), kind_(kind), a_(n(), n()) {
    pivots_.resize(static_cast<std::size_t>(n() * kLanes));
  }

  [[nodiscard]] Index n() const { return extents_.rows; }
  [[nodiscard]] Buffer<T>& matrices() { return a_; }
  [[nodiscard]] const Pivots& pivots() const { return pivots_; }

  /// The marks of matrices that failed.
  Marks load(const Group& group) {
    a_.load(from_, group, n(), n(), extents_.stride);
    Marks failed{};
    detail::at_level<SimdLevel::kAvx512, Factor<T>>(a_.data(), n(), kind_, &pivots_, &failed);
    return failed;
  }

  /// The solution for b, whose rows have kColumns elements.
  void solve(Buffer<T>& b, Index columns) {
    const T* const a = a_.data();
    detail::at_level<SimdLevel::kAvx512, Substitute<T>>(a, n(), kind_, pivots_, b.data(), columns);
  }

 private:
  const Operand& from_;
  Extents extents_;
  SolveKind kind_;
  Buffer<T> a_;
  Pivots pivots_;
};

void require_none(const Marks& failed, const Group& group, const Batched& b, const char* routine, SolveKind kind) {
  for (int l = 0; l < group.count; ++l) {
    if (!failed[plan::idx(l)]) continue;
    const bool definite = kind == SolveKind::kPositive;
    throw NoSolution(b.place, routine, definite ? "the matrix is not positive definite" : "the matrix is singular",
                     group.walks[plan::idx(l)].text());
  }
}

/// f(t), or the other kernel for larger matrices.
template <class F>
Kernel of_small(const Batched& b, const F& f) {
  return [b, f](const TaskArgs& t) {
    if (t.inputs[0].box[b.batch].size() > kLargestInLanes) return b.larger(t);
    f(t);
  };
}

}  // namespace

template <class T>
Kernel solve_in_lanes(Batched b, SolveKind kind) {
  return of_small(b, [b, kind](const TaskArgs& t) {
    Factors<T> factors(t.inputs[0], b.batch, kind);
    const Extents right(t.inputs[1], b.batch);
    const Extents out(t.outputs[0], b.batch);
    Buffer<T> x(factors.n(), kColumns);
    for (BatchWalk walk(t, b.batch); !walk.done();) {
      const Group group(walk);
      require_none(factors.load(group), group, b, "solve", kind);
      for (Index first = 0; first < right.columns; first += kColumns) {
        const Index columns = std::min(kColumns, right.columns - first);
        x.load(t.inputs[1], group, factors.n(), columns, right.stride, first);
        factors.solve(x, columns);
        x.store(t.outputs[0], group, factors.n(), columns, out.stride, first);
      }
    }
  });
}

template <class T>
Kernel inverse_in_lanes(Batched b) {
  return of_small(b, [b](const TaskArgs& t) {
    Factors<T> factors(t.inputs[0], b.batch, SolveKind::kGeneral);
    const Index n = factors.n();
    const Extents out(t.outputs[0], b.batch);
    Buffer<T> x(n, kColumns);
    for (BatchWalk walk(t, b.batch); !walk.done();) {
      const Group group(walk);
      require_none(factors.load(group), group, b, "inv", SolveKind::kGeneral);
      for (Index first = 0; first < n; first += kColumns) {
        const Index columns = std::min(kColumns, n - first);
        for (Index i = 0; i < n; ++i) {
          for (Index j = 0; j < columns; ++j) std::fill_n(x.at(i, j), kLanes, i == first + j ? T(1) : T(0));
        }
        factors.solve(x, columns);
        x.store(t.outputs[0], group, n, columns, out.stride, first);
      }
    }
  });
}

template <class T>
Kernel determinant_in_lanes(Batched b) {
  return of_small(b, [b](const TaskArgs& t) {
    Factors<T> factors(t.inputs[0], b.batch, SolveKind::kGeneral);
    Buffer<T> value(1, 1);
    for (BatchWalk walk(t, b.batch); !walk.done();) {
      const Group group(walk);
      static_cast<void>(factors.load(group));
      small::determinant<T, kLanes>(factors.matrices().data(), factors.n(), factors.n(), factors.pivots().data(),
                                    value.data());
      value.store(t.outputs[0], group, 1, 1, 1);
    }
  });
}

template <class T>
Kernel cholesky_in_lanes(Batched b) {
  return of_small(b, [b](const TaskArgs& t) {
    Factors<T> factors(t.inputs[0], b.batch, SolveKind::kPositive);
    const Index n = factors.n();
    const Extents out(t.outputs[0], b.batch);
    for (BatchWalk walk(t, b.batch); !walk.done();) {
      const Group group(walk);
      require_none(factors.load(group), group, b, "cholesky", SolveKind::kPositive);
      for (Index i = 0; i < n; ++i) {
        for (Index j = i + 1; j < n; ++j) std::fill_n(factors.matrices().at(i, j), kLanes, T(0));
      }
      factors.matrices().store(t.outputs[0], group, n, n, out.stride);
    }
  });
}

#define TDSL_IN_LANES(T)                                 \
  template Kernel solve_in_lanes<T>(Batched, SolveKind); \
  template Kernel inverse_in_lanes<T>(Batched);          \
  template Kernel determinant_in_lanes<T>(Batched);      \
  template Kernel cholesky_in_lanes<T>(Batched);

TDSL_IN_LANES(float)
TDSL_IN_LANES(double)
#undef TDSL_IN_LANES

}  // namespace tdsl::rt::routines::kernels

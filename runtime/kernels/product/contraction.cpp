#include "runtime/kernels/product/contraction.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/kernels/label_strides.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/product/sum_of_products.h"
#include "runtime/kernels/progress.h"
#include "runtime/kernels/rows.h"

namespace tdsl::rt {

namespace {

/// If every extent is below this, a plain loop beats BLIS.
constexpr Index kSmall = 8;

/// A loop of the contraction: trip count, and stride of each operand.
struct ContractionLoop {
  Index count = 1;
  Index a = 0;
  Index b = 0;
  Index c = 0;
  int label = -1;  ///< -1: several labels
};

/// The part of the label space covered by one BLIS call, and the loops around it.
struct Nest {
  ContractionLoop m, n, k;                  ///< rows of A and C; columns of B and C; the sum
  std::vector<ContractionLoop> outer;       ///< other output labels
  std::vector<ContractionLoop> outer_sums;  ///< other summed labels, innermost of the outer loops
};

bool is_row(const ContractionLoop& l) { return l.a != 0 && l.c != 0 && l.b == 0; }
bool is_column(const ContractionLoop& l) { return l.b != 0 && l.c != 0 && l.a == 0; }
bool is_sum(const ContractionLoop& l) { return l.a != 0 && l.b != 0 && l.c == 0; }

/// Merges loops if one continues the other in all operands: (k, l) over contiguous memory is one longer loop.
void collapse(std::vector<ContractionLoop>& loops) {
  for (std::size_t inner = 0; inner < loops.size(); ++inner) {
    for (std::size_t outer = 0; outer < loops.size(); ++outer) {
      const ContractionLoop& in = loops[inner];
      const ContractionLoop& out = loops[outer];
      if (inner == outer || out.a != in.a * in.count || out.b != in.b * in.count || out.c != in.c * in.count) continue;
      loops[inner].count *= out.count;
      loops[inner].label = -1;
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(outer));
      collapse(loops);
      return;
    }
  }
}

/// Removes the longest loop that `fits` from the list and returns it.
template <class Predicate>
void take_longest(std::vector<ContractionLoop>& loops, ContractionLoop& into, Predicate fits) {
  auto best = loops.end();
  for (auto l = loops.begin(); l != loops.end(); ++l) {
    if (fits(*l) && (best == loops.end() || l->count > best->count)) best = l;
  }
  if (best == loops.end()) return;
  into = *best;
  loops.erase(best);
}

Nest arrange(std::vector<ContractionLoop> loops) {
  Nest nest;
  std::erase_if(loops, [](const ContractionLoop& l) { return l.count == 1; });
  collapse(loops);
  take_longest(loops, nest.m, is_row);
  take_longest(loops, nest.n, is_column);
  take_longest(loops, nest.k, is_sum);
  for (const ContractionLoop& l : loops) (l.c == 0 ? nest.outer_sums : nest.outer).push_back(l);
  return nest;
}

/// Inner products of `count` rows, `step` apart, with a vector of k elements.
template <class T>
void dots(T* sums, const T* a, Index step, const T* x, Index k, Index count) {
  if constexpr (kIsComplex<T>) {
    for (Index i = 0; i < count; ++i) {
      const T* const row = a + i * step;
      sums[i] = lanes::sum<T>({0, k}, [&](Index l) { return row[l] * x[l]; });
    }
  } else {
    rows::detail::dot(sums, a, step, x, k, count);
  }
}

/// Adds `count` columns, `step` apart, of `rows` elements, each times an element of x.
template <class T>
void add_columns(T* target, const T* a, Index step, const T* x, Index rows, Index count) {
  if constexpr (kIsComplex<T>) {
    for (Index l = 0; l < count; ++l) {
      const T* const column = a + l * step;
      const T factor = x[l];
#pragma omp simd
      for (Index i = 0; i < rows; ++i) target[i] += factor * column[i];
    }
  } else {
    rows::detail::add_scaled(target, a, step, x, rows, count);
  }
}

template <class T>
T dot_product(const T* x, Index x_step, const T* y, Index y_step, Index count) {
  constexpr Index kFew = 16;
  T sum = 0;
  if (x_step == 1 && y_step == 1 && count > kFew) {
    dots(&sum, x, 0, y, count, 1);
  } else {
    for (Index l = 0; l < count; ++l) sum += x[l * x_step] * y[l * y_step];
  }
  return sum;
}

template <class T>
void plain_product(const Nest& nest, const T* a, const T* b, T* c, bool accumulate) {
  for (Index i = 0; i < nest.m.count; ++i) {
    for (Index j = 0; j < nest.n.count; ++j) {
      const T* x = a + i * nest.m.a;
      const T* y = b + j * nest.n.b;
      const T sum = dot_product(x, nest.k.a, y, nest.k.b, nest.k.count);
      T& target = c[i * nest.m.c + j * nest.n.c];
      target = accumulate ? target + sum : sum;
    }
  }
}

/// The elements of a vector in contiguous memory: copied if necessary.
template <class T>
class Neighbours {
 public:
  Neighbours(const T* x, Index step, Index count) : data_(x) {
    if (step == 1) return;
    copy_.resize(static_cast<std::size_t>(count));
    for (Index l = 0; l < count; ++l) copy_[static_cast<std::size_t>(l)] = x[l * step];
    data_ = copy_.data();
  }
  [[nodiscard]] const T* data() const { return data_; }

 private:
  std::vector<T> copy_;
  const T* data_;
};

/// Elements of a matrix between two pauses.
constexpr Index kElementsAtOnce = 1 << 17;

/// y = A x, or y += A x, with contiguous rows: every row is a separate sum.
template <class T>
void dots_of_rows(Index rows, Index k, const T* a, Index step, const T* x, Index x_step, bool accumulate, T* y,
                  Index y_step) {
  constexpr Index kMostRows = 256;
  const Neighbours<T> vector(x, x_step, k);
  const Index at_once = std::clamp<Index>(kElementsAtOnce / k, 4, kMostRows);
  const bool in_place = !accumulate && y_step == 1;
  std::array<T, kMostRows> sums;
  for (Index first = 0; first < rows; first += at_once) {
    const Index count = std::min(at_once, rows - first);
    dots(in_place ? y + first : sums.data(), a + first * step, step, vector.data(), k, count);
    for (Index i = 0; i < count && !in_place; ++i) {
      T& target = y[(first + i) * y_step];
      target = accumulate ? target + sums[static_cast<std::size_t>(i)] : sums[static_cast<std::size_t>(i)];
    }
    progress::pause();
  }
}

/// y = A x, or y += A x, with contiguous columns: columns are accumulated into a part of y that stays in cache.
template <class T>
void sum_of_columns(Index rows, Index k, const T* a, Index step, const T* x, Index x_step, bool accumulate, T* y,
                    Index y_step) {
  constexpr Index kMostRows = 8192;
  const Neighbours<T> vector(x, x_step, k);
  std::vector<T> sums(y_step == 1 ? std::size_t{0} : static_cast<std::size_t>(std::min(rows, kMostRows)));
  for (Index first = 0; first < rows; first += kMostRows) {
    const Index count = std::min(kMostRows, rows - first);
    T* const target = y_step == 1 ? y + first : sums.data();
    for (Index i = 0; i < count && (y_step != 1 || !accumulate); ++i)
      target[i] = accumulate ? y[(first + i) * y_step] : T{0};
    const Index at_once = std::max<Index>(8, kElementsAtOnce / count);
    for (Index l = 0; l < k; l += at_once) {
      add_columns(target, a + first + l * step, step, vector.data() + l, count, std::min(at_once, k - l));
      progress::pause();
    }
    for (Index i = 0; i < count && y_step != 1; ++i) y[(first + i) * y_step] = target[i];
  }
}

/// A product of a matrix (rows along `rows`, summed along `k`) and a vector.
template <class T>
void product_with_vector(Index rows, Index k, blas::Matrix<const T> a, const T* x, Index x_step, bool accumulate, T* y,
                         Index y_step) {
  if (a.column_stride == 1) return dots_of_rows(rows, k, a.data, a.row_stride, x, x_step, accumulate, y, y_step);
  if (a.row_stride == 1) return sum_of_columns(rows, k, a.data, a.column_stride, x, x_step, accumulate, y, y_step);
  blas::gemv(rows, k, a, x, x_step, accumulate, y, y_step);
}

/// Returns true if `finish` was called: for matrix products that are not small.
template <class T>
bool product(const Nest& nest, const T* a, const T* b, T* c, bool accumulate, const blas::Finish& finish) {
  const ContractionLoop& m = nest.m;
  const ContractionLoop& n = nest.n;
  const ContractionLoop& k = nest.k;
  const bool small = m.count < kSmall && n.count < kSmall && k.count < kSmall;
  const bool outer_product = k.count == 1;
  const bool dot = m.count == 1 && n.count == 1;
  if (small || outer_product || dot) {
    plain_product(nest, a, b, c, accumulate);
  } else if (n.count == 1) {
    product_with_vector<T>(m.count, k.count, {a, m.a, k.a}, b, k.b, accumulate, c, m.c);
  } else if (m.count == 1) {
    product_with_vector<T>(n.count, k.count, {b, n.b, k.b}, a, k.a, accumulate, c, n.c);
  } else {
    blas::gemm<T>(m.count, n.count, k.count, {a, m.a, k.a}, {b, k.b, n.b}, accumulate, {c, m.c, n.c}, finish);
    return static_cast<bool>(finish);
  }
  return false;
}

template <class T>
void sum_loops(const Nest& nest, std::size_t depth, const T* a, const T* b, T* c, bool& accumulate) {
  if (depth == nest.outer_sums.size()) {
    product(nest, a, b, c, accumulate, nullptr);
    accumulate = true;
    return;
  }
  const ContractionLoop& l = nest.outer_sums[depth];
  for (Index i = 0; i < l.count; ++i) sum_loops(nest, depth + 1, a + i * l.a, b + i * l.b, c, accumulate);
}

/// Distances in memory of all points of some loops from the first, in row-major order.
std::vector<Index> distances(const std::vector<ContractionLoop>& loops, Index ContractionLoop::*stride) {
  std::vector<Index> all{0};
  for (const ContractionLoop& l : loops) {
    std::vector<Index> next;
    next.reserve(all.size() * static_cast<std::size_t>(l.count));
    for (const Index start : all) {
      for (Index i = 0; i < l.count; ++i) next.push_back(start + i * l.*stride);
    }
    all = std::move(next);
  }
  return all;
}

/// The loops of a matrix product of tiles, outermost first.
struct TileLoops {
  std::vector<ContractionLoop> rows, columns, sums;
};

/// Nothing if the loops are one plain product, or if an operand lacks a label of the sum, or the result has one that
/// both operands have.
std::optional<TileLoops> tile_loops(const Nest& nest) {
  if (nest.outer.empty() && nest.outer_sums.empty()) return std::nullopt;
  TileLoops tiles{{nest.m}, {nest.n}, {nest.k}};
  for (const auto* outer : {&nest.outer, &nest.outer_sums}) {
    for (const ContractionLoop& l : *outer) {
      if (!is_row(l) && !is_column(l) && !is_sum(l)) return std::nullopt;
      (is_row(l) ? tiles.rows : is_column(l) ? tiles.columns : tiles.sums).push_back(l);
    }
  }
  const auto by = [](Index ContractionLoop::*stride) {
    return [stride](const ContractionLoop& l) { return -std::abs(l.*stride); };
  };
  std::ranges::stable_sort(tiles.rows, {}, by(&ContractionLoop::c));
  std::ranges::stable_sort(tiles.columns, {}, by(&ContractionLoop::c));
  std::ranges::stable_sort(tiles.sums, {}, by(&ContractionLoop::a));
  return tiles;
}

// Note [Tiles] C[i,j,ii,jj] += A[i,k,ii,kk] * B[k,j,kk,jj] multiplies matrices that are stored tile by tile: rows are
// (i, ii), columns (j, jj), and the sum runs over (k, kk). One product of all tiles packs each operand as often as a
// product of plain matrices; products of the tiles would have the speed of small matrices.
/// Returns false, without computing anything, if that is not so, or if products of the tiles are large themselves.
template <class T>
bool product_of_tiles(const Nest& nest, const T* a, const T* b, T* c, bool accumulate) {
  /// A product of tiles this large reaches full speed.
  constexpr Index kLargeTile = 256;
  if (std::min({nest.m.count, nest.n.count, nest.k.count}) >= kLargeTile) return false;
  const std::optional<TileLoops> tiles = tile_loops(nest);
  if (!tiles) return false;
  using Loop = ContractionLoop;
  const std::vector<Index> a_rows = distances(tiles->rows, &Loop::a), a_sums = distances(tiles->sums, &Loop::a);
  const std::vector<Index> b_sums = distances(tiles->sums, &Loop::b), b_columns = distances(tiles->columns, &Loop::b);
  const std::vector<Index> c_rows = distances(tiles->rows, &Loop::c), c_columns = distances(tiles->columns, &Loop::c);
  const auto size = [](const std::vector<Index>& positions) { return static_cast<Index>(positions.size()); };
  return blas::gemm_of_tiles<T>(size(a_rows), size(b_columns), size(a_sums), {a, Axis(a_rows), Axis(a_sums)},
                                {b, Axis(b_sums), Axis(b_columns)}, accumulate, {c, Axis(c_rows), Axis(c_columns)});
}

template <class T>
void output_loops(const Nest& nest, std::size_t depth, const T* a, const T* b, T* c, bool accumulate) {
  if (depth == nest.outer.size()) {
    bool started = accumulate;
    sum_loops(nest, 0, a, b, c, started);
    return;
  }
  const ContractionLoop& l = nest.outer[depth];
  for (Index i = 0; i < l.count; ++i) output_loops(nest, depth + 1, a + i * l.a, b + i * l.b, c + i * l.c, accumulate);
}

/// True if the labels of the task write every element of its block.
bool covers_block(const plan::Op& op, const TaskArgs& args) {
  for (int d = 0; d < args.out_box.rank; ++d) {
    const plan::OutSubscript& s = op.out[static_cast<std::size_t>(d)];
    if (s.label == plan::kPartLabel) continue;
    const Index written = s.label >= 0 ? args.labels[static_cast<std::size_t>(s.label)].size() : 1;
    if (written != args.out_box[d].size()) return false;
    for (int e = 0; e < d; ++e) {
      if (s.label >= 0 && op.out[static_cast<std::size_t>(e)].label == s.label) return false;
    }
  }
  return true;
}

/// Many matrix-vector products whose contiguous elements belong to different products: loops along contiguous elements
/// are faster than BLIS on strided operands.
bool are_interleaved(const Nest& nest) {
  const auto neighbours = [](const ContractionLoop& l) {
    return l.count >= kSmall && l.c == 1 && (l.a == 0 || l.a == 1) && (l.b == 0 || l.b == 1);
  };
  return (nest.m.count == 1 || nest.n.count == 1) && std::ranges::any_of(nest.outer, neighbours);
}

/// True if the block is one matrix product, whose rows and columns are its dimensions.
bool is_one_product(const Nest& nest) {
  return nest.outer.empty() && nest.outer_sums.empty() && nest.m.label >= 0 && nest.n.label >= 0;
}

/// Returns true if `part_done` was called for parts that together cover the block.
template <class T>
bool contract(const plan::Op& op, const TaskArgs& args, const std::function<void(const Box&)>& part_done) {
  const Operand& out = args.outputs[0];
  bool accumulate = !args.fresh;
  bool computes = true;
  for (const Interval& label : args.labels) computes = computes && !label.empty();
  const std::size_t labels = op.labels.size();
  const LabelStrides a = strides_of(op.reads[0], labels, args.inputs[0]);
  const LabelStrides b = strides_of(op.reads[1], labels, args.inputs[1]);
  const LabelStrides c = strides_of(op.out, labels, out);
  std::vector<ContractionLoop> loops;
  for (std::size_t l = 0; l < labels; ++l)
    loops.push_back({args.labels[l].size(), a.step[l], b.step[l], c.step[l], static_cast<int>(l)});
  const Nest nest = arrange(std::move(loops));
  if (computes && !op.reduce.empty() && are_interleaved(nest)) {
    add_products<T>(op, args);
    return false;
  }
  if (args.fresh && (!computes || !covers_block(op, args))) {
    fill(out, T{0});
    accumulate = true;
  }
  if (!computes) return false;
  const T* const left = reinterpret_cast<const T*>(args.inputs[0].data) + offset_at(a, args.labels);
  const T* const right = reinterpret_cast<const T*>(args.inputs[1].data) + offset_at(b, args.labels);
  T* const result = reinterpret_cast<T*>(out.data) + offset_at(c, args.labels);
  if (part_done && is_one_product(nest)) {
    const auto finish = [&](Index i, Index rows, Index j, Index columns) {
      Box part = args.out_box;
      const Index row = part[nest.m.label].lo + i, column = part[nest.n.label].lo + j;
      part[nest.m.label] = {row, row + rows};
      part[nest.n.label] = {column, column + columns};
      part_done(part);
    };
    return product<T>(nest, left, right, result, accumulate, finish);
  }
  if (!product_of_tiles<T>(nest, left, right, result, accumulate))
    output_loops(nest, 0, left, right, result, accumulate);
  return false;
}

/// The product, and after the last panel the epilogue.
template <class T>
void contract_and_finish(const plan::Op& op, const Epilogue& epilogue, const TaskArgs& args) {
  const bool finishes = epilogue && args.last;
  const std::span<const Operand> others = args.inputs.subspan(2);
  std::function<void(const Box&)> part_done;
  if (finishes) part_done = [&](const Box& part) { epilogue.run(args, others, part); };
  if (!contract<T>(op, args, part_done) && finishes) epilogue.run_by_rows(args, others);
}

}  // namespace

Kernel contraction_kernel(std::shared_ptr<const plan::Op> op, ElementType type, const Epilogue& epilogue) {
  TDSL_CHECK(op->own_reads().size() == 2 && is_float(type), "a contraction multiplies two float tensors");
  TDSL_CHECK(op->epilogue == static_cast<bool>(epilogue), "a contraction has the epilogue that it was recorded with");
  const auto of = [&]<class T>(std::type_identity<T>) -> Kernel {
    return [op, epilogue](const TaskArgs& args) { contract_and_finish<T>(*op, epilogue, args); };
  };
  switch (type) {
    case ElementType::kF32: return of(std::type_identity<float>{});
    case ElementType::kC64: return of(std::type_identity<Complex<float>>{});
    case ElementType::kC128: return of(std::type_identity<Complex<double>>{});
    default: return of(std::type_identity<double>{});
  }
}

}  // namespace tdsl::rt

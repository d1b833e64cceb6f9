#include "runtime/kernels/contraction.h"

#include <algorithm>
#include <string>

#include "runtime/check.h"
#include "runtime/kernels/blas_call.h"
#include "runtime/kernels/label_strides.h"
#include "runtime/kernels/short_rows.h"

namespace tdsl::rt {

namespace {

/// Below this in every extent a plain loop beats BLIS.
constexpr Index kSmall = 8;

/// A loop of the contraction: how often, and how far each operand moves.
struct ContractionLoop {
  Index count = 1;
  Index a = 0;
  Index b = 0;
  Index c = 0;
};

/// The part of the label space one BLIS call covers, and the loops around it.
struct Nest {
  ContractionLoop m, n, k;  ///< rows of A and C; columns of B and C; the sum
  std::vector<ContractionLoop> outer;        ///< other output labels
  std::vector<ContractionLoop> outer_sums;   ///< other summed labels, innermost of the loops
};

bool is_row(const ContractionLoop& l) { return l.a != 0 && l.c != 0 && l.b == 0; }
bool is_column(const ContractionLoop& l) { return l.b != 0 && l.c != 0 && l.a == 0; }
bool is_sum(const ContractionLoop& l) { return l.a != 0 && l.b != 0 && l.c == 0; }

/// Joins loops of which one continues the other in all operands: (k, l) over neighbouring memory is one longer loop.
void collapse(std::vector<ContractionLoop>& loops) {
  for (std::size_t inner = 0; inner < loops.size(); ++inner) {
    for (std::size_t outer = 0; outer < loops.size(); ++outer) {
      const ContractionLoop& in = loops[inner];
      const ContractionLoop& out = loops[outer];
      if (inner == outer || out.a != in.a * in.count || out.b != in.b * in.count || out.c != in.c * in.count) continue;
      loops[inner].count *= out.count;
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(outer));
      collapse(loops);
      return;
    }
  }
}

/// Takes the longest loop that `fits` out of the list.
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

template <class T>
T dot_product(const T* x, Index x_step, const T* y, Index y_step, Index count) {
  T sum = 0;
  if (x_step == 1 && y_step == 1) {
#pragma omp simd reduction(+ : sum)
    for (Index l = 0; l < count; ++l) sum += x[l] * y[l];
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

/// A matrix (rows along `rows`, summed along `k`) and a vector.
template <class T>
void product_with_vector(Index rows, Index k, blas::Matrix<const T> a, const T* x, Index x_step, bool accumulate, T* y, Index y_step) {
  if (k <= short_rows::kLongest && a.column_stride == 1) {
    short_rows::dots(rows, k, a.data, a.row_stride, x, x_step, accumulate, y, y_step);
  } else if (rows <= short_rows::kLongest && a.row_stride == 1) {
    short_rows::scaled_sum(k, rows, a.data, a.column_stride, x, x_step, accumulate, y, y_step);
  } else {
    blas::gemv(rows, k, a, x, x_step, accumulate, y, y_step);
  }
}

template <class T>
void product(const Nest& nest, const T* a, const T* b, T* c, bool accumulate) {
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
    blas::gemm(m.count, n.count, k.count, {a, m.a, k.a}, {b, k.b, n.b}, accumulate, {c, m.c, n.c});
  }
}

template <class T>
void sum_loops(const Nest& nest, std::size_t depth, const T* a, const T* b, T* c, bool& accumulate) {
  if (depth == nest.outer_sums.size()) {
    product(nest, a, b, c, accumulate);
    accumulate = true;
    return;
  }
  const ContractionLoop& l = nest.outer_sums[depth];
  for (Index i = 0; i < l.count; ++i) sum_loops(nest, depth + 1, a + i * l.a, b + i * l.b, c, accumulate);
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

/// Whether the labels of the task write every element of its block.
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

template <class T>
void contract(const plan::Op& op, const TaskArgs& args) {
  const Operand& out = args.outputs[0];
  bool accumulate = !args.fresh;
  bool computes = true;
  for (const Interval& label : args.labels) computes = computes && !label.empty();
  if (args.fresh && (!computes || !covers_block(op, args))) {
    fill(out, T{0});
    accumulate = true;
  }
  if (!computes) return;
  const std::size_t labels = op.labels.size();
  const LabelStrides a = strides_of(op.reads[0], labels, args.inputs[0]);
  const LabelStrides b = strides_of(op.reads[1], labels, args.inputs[1]);
  const LabelStrides c = strides_of(op.out, labels, out);
  std::vector<ContractionLoop> loops;
  for (std::size_t l = 0; l < labels; ++l) loops.push_back({args.labels[l].size(), a.step[l], b.step[l], c.step[l]});
  output_loops(arrange(std::move(loops)), 0, reinterpret_cast<const T*>(args.inputs[0].data) + offset_at(a, args.labels),
               reinterpret_cast<const T*>(args.inputs[1].data) + offset_at(b, args.labels),
               reinterpret_cast<T*>(out.data) + offset_at(c, args.labels), accumulate);
}

}  // namespace

Kernel contraction_kernel(std::shared_ptr<const plan::Op> op, ElementType type) {
  TDSL_CHECK(op->reads.size() == 2 && is_floating(type), "a contraction multiplies two float tensors");
  if (type == ElementType::kF32) return [op](const TaskArgs& args) { contract<float>(*op, args); };
  return [op](const TaskArgs& args) { contract<double>(*op, args); };
}

}  // namespace tdsl::rt

#include "runtime/kernels/product/sum_of_products.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/kernels/blocked/blocked_reduction.h"
#include "runtime/kernels/label_strides.h"
#include "runtime/kernels/lanes.h"

namespace tdsl::rt {

namespace {

/// Points between two pauses for the engine.
constexpr Index kPointsBetweenPauses = 65536;

/// The parts of its operation that the kernel keeps.
struct ProductForm {
  explicit ProductForm(const plan::Op& op)
      : reads(op.own_reads().begin(), op.own_reads().end()),
        out(op.out),
        labels(op.labels.size()),
        sums(!op.reduce.empty()) {}

  std::vector<plan::Access> reads;
  std::vector<plan::OutSubscript> out;
  std::size_t labels;
  bool sums;
};

/// A loop of the nest: trip count, and strides of the operands and the result.
struct ProductLoop {
  Index count = 1;
  std::vector<Index> in;
  Index out = 0;

  [[nodiscard]] bool continues(const ProductLoop& inner) const {
    bool all = out == inner.out * inner.count;
    for (std::size_t k = 0; k < in.size(); ++k) all = all && in[k] == inner.in[k] * inner.count;
    return all;
  }
  /// The largest stride.
  [[nodiscard]] Index reach() const {
    Index most = std::abs(out);
    for (const Index step : in) most = std::max(most, std::abs(step));
    return most;
  }
  /// Cost per point as the innermost loop: vectors need contiguous elements, and short loops do not pay off.
  [[nodiscard]] double price() const {
    const auto apart = [](Index step) { return step != 0 && step != 1; };
    const bool scalar = apart(out) || std::ranges::any_of(in, apart);
    return (scalar ? 1.0 : 0.25) + 3.0 / static_cast<double>(count);
  }
};

/// Merges loops if one continues the other in all operands.
void join_loops(std::vector<ProductLoop>& loops) {
  for (std::size_t inner = 0; inner < loops.size(); ++inner) {
    for (std::size_t outer = 0; outer < loops.size(); ++outer) {
      if (inner == outer || !loops[outer].continues(loops[inner])) continue;
      loops[inner].count *= loops[outer].count;
      loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(outer));
      return join_loops(loops);
    }
  }
}

/// Addresses of the operands and the result.
template <class T>
struct At {
  std::vector<const T*> in;
  T* out;

  void move(const ProductLoop& loop, Index times) {
    for (std::size_t k = 0; k < in.size(); ++k) in[k] += loop.in[k] * times;
    out += loop.out * times;
  }
};

/// Calls f(at) for every point of loops[depth…].
template <class T, class F>
void for_points(std::span<const ProductLoop> loops, At<T>& at, const F& f) {
  if (loops.empty()) {
    f(at);
    return;
  }
  for (Index i = 0; i < loops.front().count; ++i) {
    for_points(loops.subspan(1), at, f);
    at.move(loops.front(), 1);
  }
  at.move(loops.front(), -loops.front().count);
}

/// Two loops over products of two operands; the inner one has strides X, Y and C in elements (2: read at run time).
template <int X, int Y, int C, bool Sums, class T>
void product_rows(const ProductLoop& rows, const ProductLoop& row, const T* x, const T* y, T* c) {
  const Index to_x = X == 2 ? row.in[0] : X, to_y = Y == 2 ? row.in[1] : Y, to_c = C == 2 ? row.out : C;
  for (Index r = 0; r < rows.count; ++r, x += rows.in[0], y += rows.in[1], c += rows.out) {
    if constexpr (C == 0 && Sums) {
      T sum = 0;
      if constexpr (kIsComplex<T>) {
        sum = lanes::sum<T>({0, row.count}, [&](Index i) { return x[i * to_x] * y[i * to_y]; });
      } else if constexpr (X < 2 && Y < 2) {
#pragma omp simd reduction(+ : sum)
        for (Index i = 0; i < row.count; ++i) sum += x[i * to_x] * y[i * to_y];
      } else {
        for (Index i = 0; i < row.count; ++i) sum += x[i * to_x] * y[i * to_y];
      }
      *c += sum;
    } else if constexpr (X < 2 && Y < 2 && C == 1) {
#pragma omp simd
      for (Index i = 0; i < row.count; ++i) c[i] = Sums ? c[i] + x[i * to_x] * y[i * to_y] : x[i * to_x] * y[i * to_y];
    } else {
      for (Index i = 0; i < row.count; ++i) {
        T& element = c[i * to_c];
        element = Sums ? element + x[i * to_x] * y[i * to_y] : x[i * to_x] * y[i * to_y];
      }
    }
  }
}

template <bool Sums, class T>
using ProductRows = void (*)(const ProductLoop&, const ProductLoop&, const T*, const T*, T*);

template <bool Sums, class T, std::size_t... N>
constexpr std::array<ProductRows<Sums, T>, sizeof...(N)> all_product_rows(std::index_sequence<N...>) {
  return {product_rows<N / 9, N / 3 % 3, N % 3, Sums, T>...};
}

template <bool Sums, class T>
ProductRows<Sums, T> product_rows_for(const ProductLoop& row) {
  const auto kind = [](Index step) { return static_cast<std::size_t>(step == 0 || step == 1 ? step : 2); };
  return all_product_rows<Sums, T>(
      std::make_index_sequence<27>{})[kind(row.in[0]) * 9 + kind(row.in[1]) * 3 + kind(row.out)];
}

/// For one or two operands.
template <bool Sums, class T>
void product_of_two(std::vector<ProductLoop> loops, At<T> at) {
  static constexpr T kOne = 1;
  if (at.in.size() == 1) {
    at.in.push_back(&kOne);
    for (ProductLoop& loop : loops) loop.in.push_back(0);
  }
  join_loops(loops);
  const ProductLoop none{1, {0, 0}, 0};
  while (loops.size() < 2) loops.insert(loops.begin(), none);
  // Large strides outside, the cheapest loop innermost.
  std::stable_sort(loops.begin(), loops.end(),
                   [](const ProductLoop& a, const ProductLoop& b) { return a.reach() > b.reach(); });
  const auto inner = std::min_element(loops.begin(), loops.end(),
                                      [](const ProductLoop& a, const ProductLoop& b) { return a.price() < b.price(); });
  std::rotate(inner, inner + 1, loops.end());
  const ProductLoop& row = loops.back();
  const ProductLoop& rows = loops[loops.size() - 2];
  const auto rows_of = product_rows_for<Sums, T>(row);
  Index done = 0;
  for_points(std::span<const ProductLoop>(loops).first(loops.size() - 2), at, [&](const At<T>& here) {
    rows_of(rows, row, here.in[0], here.in[1], here.out);
    done += rows.count * row.count;
    if (done < kPointsBetweenPauses) return;
    progress::pause();
    done = 0;
  });
}

/// One of many operands, and its strides per step of the free label and the two summed ones.
template <class T>
struct Factor {
  const T* at = nullptr;
  Index free = 0, first = 0, second = 0;

  [[nodiscard]] T operator()(Index i, Index k, Index l) const { return at[i * free + k * first + l * second]; }
};

/// The product of N factors; 0: any number.
template <int N, class T>
struct FactorProduct {
  std::array<Factor<T>, N> factors;

  explicit FactorProduct(const std::vector<Factor<T>>& list) { std::copy_n(list.begin(), N, factors.begin()); }
  [[nodiscard]] std::tuple<T> operator()(Index i, Index k, Index l) const {
    T product = factors[0](i, k, l);
    for (std::size_t n = 1; n < N; ++n) product *= factors[n](i, k, l);
    return product;
  }
};
template <class T>
struct FactorProduct<0, T> {
  std::span<const Factor<T>> factors;

  explicit FactorProduct(const std::vector<Factor<T>>& list) : factors(list) {}
  [[nodiscard]] std::tuple<T> operator()(Index i, Index k, Index l) const {
    T product = 1;
    for (const Factor<T>& factor : factors) product *= factor(i, k, l);
    return product;
  }
};

template <class T>
struct MultiplyAdd {
  T operator()(T total, T a, T b) const { return total + a * b; }
};

/// The loops of a sum of many factors: two over the result that share no factor, two summed ones, and the outer loops.
struct BlockedLoops {
  ProductLoop rows, columns;
  std::array<ProductLoop, 2> summed;
  std::vector<ProductLoop> outer;
};

bool share_a_factor(const ProductLoop& a, const ProductLoop& b) {
  for (std::size_t k = 0; k < a.in.size(); ++k) {
    if (a.in[k] != 0 && b.in[k] != 0) return true;
  }
  return false;
}

/// False if no two loops over the result belong to different factors.
bool find_blocks(std::vector<ProductLoop> loops, BlockedLoops& blocked) {
  const auto free = [](const ProductLoop& l) {
    return l.out != 0 && std::ranges::any_of(l.in, [](Index step) { return step != 0; });
  };
  std::pair<std::size_t, std::size_t> best;
  Index most = 0;
  for (std::size_t i = 0; i < loops.size(); ++i) {
    for (std::size_t j = 0; j < loops.size(); ++j) {
      // Column elements are closer in memory.
      if (i == j || !free(loops[i]) || !free(loops[j]) || share_a_factor(loops[i], loops[j]) ||
          loops[i].out < loops[j].out)
        continue;
      if (loops[i].count * loops[j].count <= most) continue;
      most = loops[i].count * loops[j].count;
      best = {i, j};
    }
  }
  if (most == 0) return false;
  blocked.rows = loops[best.first];
  blocked.columns = loops[best.second];
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(std::max(best.first, best.second)));
  loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(std::min(best.first, best.second)));
  std::stable_sort(loops.begin(), loops.end(),
                   [](const ProductLoop& a, const ProductLoop& b) { return a.reach() > b.reach(); });
  // The longest summed loops, the inner one with the smaller stride.
  std::vector<std::size_t> summed;
  for (std::size_t l = 0; l < loops.size(); ++l) {
    if (loops[l].out == 0) summed.push_back(l);
  }
  std::stable_sort(summed.begin(), summed.end(),
                   [&](std::size_t a, std::size_t b) { return loops[a].count > loops[b].count; });
  if (summed.size() > 2) summed.resize(2);
  std::sort(summed.begin(), summed.end());
  const ProductLoop none{1, std::vector<Index>(blocked.rows.in.size(), 0), 0};
  blocked.summed = {none, none};
  for (std::size_t k = 0; k < summed.size(); ++k) blocked.summed[2 - summed.size() + k] = loops[summed[k]];
  for (std::size_t k = summed.size(); k-- > 0;) loops.erase(loops.begin() + static_cast<std::ptrdiff_t>(summed[k]));
  blocked.outer = std::move(loops);
  return true;
}

/// Calls f with the product of the factors.
template <class T, class F>
void with_product(const std::vector<Factor<T>>& factors, const F& f) {
  if (factors.size() == 1) return f(FactorProduct<1, T>(factors));
  if (factors.size() == 2) return f(FactorProduct<2, T>(factors));
  f(FactorProduct<0, T>(factors));
}

template <class T>
void blocked_product(const BlockedLoops& loops, At<T> at) {
  const std::array ks{Interval{0, loops.summed[0].count}, Interval{0, loops.summed[1].count}};
  for_points(std::span<const ProductLoop>(loops.outer), at, [&](const At<T>& here) {
    std::vector<Factor<T>> xs, ys;
    for (std::size_t k = 0; k < here.in.size(); ++k) {
      const bool column = loops.columns.in[k] != 0;
      (column ? ys : xs)
          .push_back({here.in[k], column ? loops.columns.in[k] : loops.rows.in[k], loops.summed[0].in[k],
                      loops.summed[1].in[k]});
    }
    const auto element = [&](Index i, Index j) -> T& { return here.out[i * loops.rows.out + j * loops.columns.out]; };
    with_product(xs, [&](const auto& x) {
      with_product(ys, [&](const auto& y) {
        blocked_reduction<T>({0, loops.rows.count}, {0, loops.columns.count}, ks, x, y, MultiplyAdd<T>{}, element);
      });
    });
  });
}

/// For many operands whose labels cannot be separated.
template <class T>
void plain_product(std::vector<ProductLoop> loops, At<T> at) {
  std::stable_sort(loops.begin(), loops.end(),
                   [](const ProductLoop& a, const ProductLoop& b) { return a.reach() > b.reach(); });
  Index done = 0;
  for_points(std::span<const ProductLoop>(loops), at, [&](const At<T>& here) {
    T product = *here.in[0];
    for (std::size_t k = 1; k < here.in.size(); ++k) product *= *here.in[k];
    *here.out += product;
    if (++done % kPointsBetweenPauses == 0) progress::pause();
  });
}

template <class T>
void compute_products(const ProductForm& form, const TaskArgs& args) {
  const Operand& out = args.outputs[0];
  if (args.fresh && form.sums) fill(out, T{0});
  for (const Interval& label : args.labels) {
    if (label.empty()) return;
  }
  std::vector<LabelStrides> strides;
  At<T> at{{}, nullptr};
  for (std::size_t k = 0; k < form.reads.size(); ++k) {
    strides.push_back(strides_of(form.reads[k], form.labels, args.inputs[k]));
    at.in.push_back(reinterpret_cast<const T*>(args.inputs[k].data) + offset_at(strides[k], args.labels));
  }
  const LabelStrides to = strides_of(form.out, form.labels, out);
  at.out = reinterpret_cast<T*>(out.data) + offset_at(to, args.labels);
  std::vector<ProductLoop> loops;
  for (std::size_t l = 0; l < form.labels; ++l) {
    if (args.labels[l].size() == 1) continue;
    loops.push_back({args.labels[l].size(), {}, to.step[l]});
    for (const LabelStrides& s : strides) loops.back().in.push_back(s.step[l]);
  }
  if (form.reads.size() <= 2)
    return form.sums ? product_of_two<true>(std::move(loops), std::move(at))
                     : product_of_two<false>(std::move(loops), std::move(at));
  join_loops(loops);
  if constexpr (!kIsComplex<T>) {  // register blocks are of numbers in vectors
    BlockedLoops blocked;
    if (find_blocks(loops, blocked)) return blocked_product(blocked, std::move(at));
  }
  plain_product(std::move(loops), std::move(at));
}

}  // namespace

template <class T>
void add_products(const plan::Op& op, const TaskArgs& args) {
  compute_products<T>(ProductForm(op), args);
}
template void add_products<float>(const plan::Op&, const TaskArgs&);
template void add_products<double>(const plan::Op&, const TaskArgs&);
template void add_products<Complex<float>>(const plan::Op&, const TaskArgs&);
template void add_products<Complex<double>>(const plan::Op&, const TaskArgs&);

Kernel sum_of_products_kernel(const plan::Op& op, ElementType type) {
  TDSL_CHECK(!op.reads.empty() && (op.reads.size() <= 2 || !op.reduce.empty()) && is_float(type),
             "a product of float tensors");
  ProductForm form(op);
  const auto of = [&]<class T>(std::type_identity<T>) -> Kernel {
    return [form = std::move(form)](const TaskArgs& args) { compute_products<T>(form, args); };
  };
  switch (type) {
    case ElementType::kF32: return of(std::type_identity<float>{});
    case ElementType::kC64: return of(std::type_identity<Complex<float>>{});
    case ElementType::kC128: return of(std::type_identity<Complex<double>>{});
    default: return of(std::type_identity<double>{});
  }
}

}  // namespace tdsl::rt

#pragma once

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <type_traits>
#include <utility>

#include "runtime/kernels/lanes.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/simd_level.h"
#include "runtime/kernels/task.h"

// Kernels that are one expression per point, given as a function of one point. Its parameters are views of the output
// (except in reductions, which combine returned values) and of the operands, one subscript per label of the operation,
// and values known on every rank. It is called in a nest with one loop per label, in label order.
//
//     constexpr auto c_3 = [](Out<double, 2> c, In<double, 2> a, Index i, Index j, double b) {
//       c(i, j) = b * a(i, j);
//     };
//     each_simd(c_3, b)
//     constexpr auto r_4 = [](In<double, 2> a, Index i, Index k) { return a(i, k); };
//     sum_simd<double, 1>(r_4)               the first label is the output's
//     least<double, 1>(r_4)
//
// `Widest`: the widest vectors for which a kernel is compiled; the version is selected at run time.

namespace tdsl::rt {

template <class T, int R>
using Out = View<T, R>;
template <class T, int R>
using In = View<const T, R>;

/// A kernel as passed by emitted programs. (Captureless kernels are passed as functions: a separate std::function would
/// cost 5 ms of compile time.)
class EmittedKernel {
 public:
  using Function = void (*)(const TaskArgs&);
  EmittedKernel(Function function) : function_(function) {}
  template <class F>
  EmittedKernel(F kernel) : kernel_(static_cast<F&&>(kernel)) {}
  [[nodiscard]] Kernel take();

 private:
  Function function_ = nullptr;
  Kernel kernel_;
};

namespace detail {

template <class V>
struct IsView : std::false_type {};
template <class T, int R>
struct IsView<View<T, R>> : std::true_type {};

template <class F>
struct Signature : Signature<decltype(&F::operator())> {};
template <class C, class R, class... A>
struct Signature<R (C::*)(A...) const> {
  using Arguments = std::tuple<A...>;
  static constexpr std::size_t kViews = (0 + ... + (IsView<A>::value ? 1 : 0));
  static constexpr int kOthers = static_cast<int>(sizeof...(A) - kViews);
};

/// Argument number K of F, whose first `Outs` views are outputs.
template <class F, std::size_t K, std::size_t Outs>
[[gnu::always_inline]] inline auto view_of(const TaskArgs& t) {
  using V = std::tuple_element_t<K, typename Signature<F>::Arguments>;
  const Operand& operand = K < Outs ? t.outputs[K] : t.inputs[K - Outs];
  return [&]<class T, int R>(std::type_identity<View<T, R>>) { return operand.view<T, R>(); }(std::type_identity<V>{});
}

/// Loops over labels D to N - 1. Inlined together with the function, so that its views stay in registers.
template <bool Simd, int D, int N, class F, class... At>
[[gnu::always_inline]] inline void nest(const TaskArgs& t, const F& f, At... at) {
  if constexpr (D == N) {
    f(at...);
  } else {
    const Interval range = t.labels[D];
    if constexpr (Simd && D + 1 == N) {
#pragma omp simd
      for (Index i = range.lo; i < range.hi; ++i) f(at..., i);
    } else {
      for (Index i = range.lo; i < range.hi; ++i) nest<Simd, D + 1, N>(t, f, at..., i);
    }
  }
}

/// Loops over all labels, tiled in label `Across` and the last one: operands contiguous along either of them use the
/// cache well.
template <int Across, int D, int N, class F>
[[gnu::always_inline]] inline void nest_in_squares(const TaskArgs& t, const F& f, Index (&at)[N]) {
  if constexpr (D == Across) {
    nest_in_squares<Across, D + 1, N>(t, f, at);
  } else if constexpr (D + 1 < N) {
    const Interval range = t.labels[D];
    for (Index i = range.lo; i < range.hi; ++i) {
      at[D] = i;
      nest_in_squares<Across, D + 1, N>(t, f, at);
    }
  } else {
    constexpr Index kSquare = 32;
    const Interval rows = t.labels[Across], columns = t.labels[D];
    const auto call = [&]<std::size_t... L>(std::index_sequence<L...>) __attribute__((always_inline)) { f(at[L]...); };
    for (Index row = rows.lo; row < rows.hi; row += kSquare) {
      for (Index column = columns.lo; column < columns.hi; column += kSquare) {
        for (Index i = row; i < std::min(row + kSquare, rows.hi); ++i) {
          at[Across] = i;
          for (Index j = column; j < std::min(column + kSquare, columns.hi); ++j) {
            at[D] = j;
            call(std::make_index_sequence<static_cast<std::size_t>(N)>{});
          }
        }
      }
    }
  }
}

// How a reduction combines values: identity and operation.
struct ByAdding {
  template <class T>
  static constexpr T identity = T{0};
  template <class T>
  [[gnu::always_inline]] static T combined(T a, T b) {
    return scalar::add(a, b);
  }
};
struct ByMultiplying {
  template <class T>
  static constexpr T identity = T{1};
  template <class T>
  [[gnu::always_inline]] static T combined(T a, T b) {
    return scalar::multiply(a, b);
  }
};
struct ByLeast {
  template <class T>
  static constexpr T identity = scalar::min_identity<T>();
  template <class T>
  [[gnu::always_inline]] static T combined(T a, T b) {
    return scalar::least(a, b);
  }
};
struct ByGreatest {
  template <class T>
  static constexpr T identity = scalar::max_identity<T>();
  template <class T>
  [[gnu::always_inline]] static T combined(T a, T b) {
    return scalar::greatest(a, b);
  }
};
struct ByAny {
  template <class T>
  static constexpr T identity = false;
  static bool combined(bool a, bool b) { return a || b; }
};
struct ByAll {
  template <class T>
  static constexpr T identity = true;
  static bool combined(bool a, bool b) { return a && b; }
};

template <bool Simd, class Way, int D, int N, class T, class F, class... At>
[[gnu::always_inline]] inline T nested_reduction(const TaskArgs& t, T total, const F& f, At... at) {
  const Interval range = t.labels[D];
  if constexpr (Simd && D + 1 == N) {
    total += lanes::sum<T>(
        range, [&](Index i) __attribute__((always_inline)) { return f(at..., i); });
  } else {
    for (Index i = range.lo; i < range.hi; ++i) {
      if constexpr (D + 1 == N) {
        total = Way::combined(total, static_cast<T>(f(at..., i)));
      } else {
        total = nested_reduction<Simd, Way, D + 1, N>(t, total, f, at..., i);
      }
    }
  }
  return total;
}

template <bool Simd, class F, std::size_t... K, class... V>
[[gnu::always_inline]] inline void run_each(const TaskArgs& t, const F& f, std::index_sequence<K...>, V... values) {
  const auto views = std::make_tuple(view_of<F, K, 1>(t)...);
  const auto point = [=](auto... at) __attribute__((always_inline)) { f(std::get<K>(views)..., at..., values...); };
  nest<Simd, 0, Signature<F>::kOthers - static_cast<int>(sizeof...(V))>(t, point);
}

template <int Across, class F, std::size_t... K, class... V>
[[gnu::always_inline]] inline void run_in_squares(const TaskArgs& t, const F& f, std::index_sequence<K...>,
                                                  V... values) {
  const auto views = std::make_tuple(view_of<F, K, 1>(t)...);
  const auto point = [=](auto... at) __attribute__((always_inline)) { f(std::get<K>(views)..., at..., values...); };
  constexpr int kLabels = Signature<F>::kOthers - static_cast<int>(sizeof...(V));
  Index at[kLabels] = {};
  nest_in_squares<Across, 0, kLabels>(t, point, at);
}

template <bool Simd, class Way, class T, int R, class F, std::size_t... K, class... V>
[[gnu::always_inline]] inline void run_reduction(const TaskArgs& t, const F& f, std::index_sequence<K...>,
                                                 V... values) {
  const auto views = std::make_tuple(view_of<F, K, 0>(t)...);
  const View<T, R> out = t.out<T, R>();
  const auto point = [=](auto... at) __attribute__((always_inline)) {
    return f(std::get<K>(views)..., at..., values...);
  };
  const auto element = [&](auto... at) __attribute__((always_inline)) {
    out(at...) = nested_reduction<Simd, Way, R, Signature<F>::kOthers - static_cast<int>(sizeof...(V))>(
        t, t.fresh ? Way::template identity<T> : out(at...), point, at...);
  };
  nest<false, 0, R>(t, element);
}

template <bool Simd>
struct Each {
  template <class F, class... V>
  [[gnu::always_inline]] static void run(const TaskArgs& t, const F& f, V... values) {
    run_each<Simd>(t, f, std::make_index_sequence<Signature<F>::kViews>{}, values...);
  }
};
template <int Across>
struct EachInSquares {
  template <class F, class... V>
  [[gnu::always_inline]] static void run(const TaskArgs& t, const F& f, V... values) {
    run_in_squares<Across>(t, f, std::make_index_sequence<Signature<F>::kViews>{}, values...);
  }
};
template <bool Simd, class Way, class T, int R>
struct PointReduction {
  template <class F, class... V>
  [[gnu::always_inline]] static void run(const TaskArgs& t, const F& f, V... values) {
    run_reduction<Simd, Way, T, R>(t, f, std::make_index_sequence<Signature<F>::kViews>{}, values...);
  }
};

template <class T, int R>
struct Constant {
  [[gnu::always_inline]] static void run(const TaskArgs& t, T value) {
    const View<T, R> out = t.out<T, R>();
    nest<true, 0, R>(
        t, [=](auto... at) __attribute__((always_inline)) { out(at...) = value; });
  }
};

/// `Run` with a captureless function.
template <class Run, class F>
struct RunOf {
  template <class... V>
  [[gnu::always_inline]] static void run(const TaskArgs& t, const V&... values) {
    Run::run(t, F{}, values...);
  }
};
/// A function of the task and values.
template <auto F>
struct Function {
  template <class... V>
  [[gnu::always_inline]] static void run(const TaskArgs& t, const V&... values) {
    F(t, values...);
  }
};

/// The kernel that runs `Work`.
template <SimdLevel Widest, class Work, class... V>
EmittedKernel kernel_of(V... values) {
  if constexpr (sizeof...(V) == 0) {
    return EmittedKernel::Function([](const TaskArgs& t) { emitted_at_level<Widest, Work>(t); });
  } else {
    return EmittedKernel([values...](const TaskArgs& t) { emitted_at_level<Widest, Work>(t, values...); });
  }
}

template <class Way, class T, int R, class F, class... V>
EmittedKernel reduction(V... values) {
  return kernel_of<SimdLevel::kBaseline, RunOf<PointReduction<false, Way, T, R>, F>>(values...);
}

}  // namespace detail

/// Sets every point of the task to `value`; one label per dimension of the output.
template <class T, int R>
EmittedKernel constant(T value) {
  return detail::kernel_of<SimdLevel::kBaseline, detail::Constant<T, R>>(value);
}
/// Calls f for every point of the task.
template <class F, class... V>
EmittedKernel each(F, V... values) {
  return detail::kernel_of<SimdLevel::kBaseline, detail::RunOf<detail::Each<false>, F>>(values...);
}
/// The same if calls are independent and all operands are constant or contiguous along the last label.
template <SimdLevel Widest = SimdLevel::kBaseline, class F, class... V>
EmittedKernel each_simd(F, V... values) {
  return detail::kernel_of<Widest, detail::RunOf<detail::Each<true>, F>>(values...);
}

/// The kernel `F`, a function, in versions for vectors up to `Widest`; `values` are its arguments after the task.
template <SimdLevel Widest, auto F, class... V>
EmittedKernel versions(V... values) {
  return detail::kernel_of<Widest, detail::Function<F>>(values...);
}

/// Like each_simd, for tasks with some operands contiguous along label `Across`, such as transposed ones, and others
/// along the last label.
template <int Across, SimdLevel Widest = SimdLevel::kBaseline, class F, class... V>
EmittedKernel each_in_squares(F, V... values) {
  return detail::kernel_of<Widest, detail::RunOf<detail::EachInSquares<Across>, F>>(values...);
}

/// Reductions of f over the labels after the first R, those of the output; integer sums and products wrap around.
template <class T, int R, class F, class... V>
EmittedKernel sum(F, V... values) {
  return detail::reduction<detail::ByAdding, T, R, F>(values...);
}
template <class T, int R, class F, class... V>
EmittedKernel prod(F, V... values) {
  return detail::reduction<detail::ByMultiplying, T, R, F>(values...);
}
template <class T, int R, class F, class... V>
EmittedKernel least(F, V... values) {
  return detail::reduction<detail::ByLeast, T, R, F>(values...);
}
template <class T, int R, class F, class... V>
EmittedKernel greatest(F, V... values) {
  return detail::reduction<detail::ByGreatest, T, R, F>(values...);
}
template <class T, int R, class F, class... V>
EmittedKernel any(F, V... values) {
  return detail::reduction<detail::ByAny, T, R, F>(values...);
}
template <class T, int R, class F, class... V>
EmittedKernel all(F, V... values) {
  return detail::reduction<detail::ByAll, T, R, F>(values...);
}
/// A floating-point sum with partial sums (lanes.h) along the last label.
template <class T, int R, SimdLevel Widest = SimdLevel::kBaseline, class F, class... V>
EmittedKernel sum_simd(F, V... values) {
  return detail::kernel_of<Widest, detail::RunOf<detail::PointReduction<true, detail::ByAdding, T, R>, F>>(values...);
}

}  // namespace tdsl::rt

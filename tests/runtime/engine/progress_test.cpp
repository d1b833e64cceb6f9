#include <algorithm>
#include <random>

#include "runtime/kernels/blocked/blocked_reduction.h"
#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/progress.h"
#include "tests/runtime/engine/harness.h"

// Long kernels let the engine make progress, without changing any bit.

namespace tdsl::tests {

namespace {

void count_call(void* calls) { ++*static_cast<int*>(calls); }

template <class T>
std::vector<T> random_values(Index count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<T> values(-1, 1);
  std::vector<T> list(static_cast<std::size_t>(count));
  for (T& x : list) x = values(random);
  return list;
}

/// Number of hook calls during C += A B; the bits must equal those without a hook.
template <class T>
int calls_during_product(Index m, Index n, Index k, bool transposed) {
  const std::vector<T> a = random_values<T>(m * k, 1);
  const std::vector<T> b = random_values<T>(k * n, 2);
  std::vector<T> c = random_values<T>(m * n, 3);
  std::vector<T> same = c;
  const rt::blas::Matrix<const T> left =
      transposed ? rt::blas::Matrix<const T>{a.data(), 1, m} : rt::blas::Matrix<const T>{a.data(), k, 1};
  rt::blas::gemm(m, n, k, left, {b.data(), n, 1}, true, {c.data(), n, 1});
  int calls = 0;
  {
    const rt::progress::Scope scope(count_call, &calls);
    rt::blas::gemm(m, n, k, left, {b.data(), n, 1}, true, {same.data(), n, 1});
  }
  CHECK(c == same);
  return calls;
}

template <class T>
int calls_during_matrix_vector(Index m, Index n, bool transposed) {
  const std::vector<T> a = random_values<T>(m * n, 1);
  const std::vector<T> x = random_values<T>(n, 2);
  std::vector<T> y = random_values<T>(m, 3);
  std::vector<T> same = y;
  const rt::blas::Matrix<const T> left =
      transposed ? rt::blas::Matrix<const T>{a.data(), 1, m} : rt::blas::Matrix<const T>{a.data(), n, 1};
  for (Index i = 0; i < m; i += 256) {
    const rt::blas::Matrix<const T> rows{left.data + i * left.row_stride, left.row_stride, left.column_stride};
    rt::blas::gemv(std::min<Index>(256, m - i), n, rows, x.data(), 1, true, y.data() + i, 1);
  }
  int calls = 0;
  {
    const rt::progress::Scope scope(count_call, &calls);
    rt::blas::gemv(m, n, left, x.data(), 1, true, same.data(), 1);
  }
  CHECK(y == same);
  return calls;
}

}  // namespace

#ifndef TDSL_CBLAS
TEST_CASE("progress: BLIS calls the hook, and its bits stay") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  for (const bool transposed : {false, true}) {
    CAPTURE(transposed);
    CHECK(calls_during_product<double>(512, 512, 512, transposed) > 10);
    CHECK(calls_during_product<float>(512, 512, 512, transposed) > 10);
    CHECK(calls_during_product<double>(3001, 257, 301, transposed) > 10);
    CHECK(calls_during_product<double>(20000, 17, 130, transposed) > 0);
    CHECK(calls_during_product<float>(19, 20000, 130, transposed) > 0);
    calls_during_product<double>(70, 65, 33, transposed);  // too short for hook calls: only its bits are checked
    CHECK(calls_during_matrix_vector<double>(1111, 9000, transposed) > 1);
    CHECK(calls_during_matrix_vector<float>(9001, 1000, transposed) > 1);
  }
}
#endif

TEST_CASE("progress: a rank talks while it computes a large block") {
  const Index n = 900;
  const bool alone = rt::World(rt::read_environment()).size() == 1;
  const RunResult result = run({1, {n}}, [&](TestSession& session) {
    const Tensor<double> a =
        matrix<double>(session, "A", 2 * n, n, [](Index i, Index j) { return static_cast<double>((i + j) % 3); });
    plan::OpBuilder op(plan::OpClass::kContraction, "C", 2, 2);
    op.out("i", 2 * n)
        .out("j", 2 * n)
        .reduce("k", n)
        .read(a.id(), {plan::at(0), plan::at(2)})
        .read(a.id(), {plan::at(1), plan::at(2)});
    op.combine(plan::Combine::kSum).flops(2);
    const Tensor<double> c = session.contraction<double>(op);
    session.inside().recorder.flush();
    session.inside().sink.engine().wait_all();
  });
  bool computed = false;
  for (const rt::SiteStatistics& site : result.sites) computed = computed || (site.site == 2 && site.kernels > 0);
#ifndef TDSL_CBLAS
  if (computed && !alone) CHECK(result.silence.polls > 0);
#endif
  MESSAGE("longest silence ", result.silence.longest, " s, ", result.silence.polls, " polls inside kernels");
}

TEST_CASE("progress: register-blocked reductions call the hook between their blocks") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  const Index n = 300;
  std::vector<double> c(static_cast<std::size_t>(n * n), 1e9);
  int calls = 0;
  const rt::progress::Scope scope(count_call, &calls);
  rt::blocked_reduction<double>(
      {0, n}, {0, n}, std::array{rt::Interval{0, n}},
      [](Index i, Index k) { return std::tuple(static_cast<double>(i + k)); },
      [](Index j, Index k) { return std::tuple(static_cast<double>(j - k)); },
      [](double least, double x, double y) { return std::min(least, x + y); },
      [&](Index i, Index j) -> double& { return c[static_cast<std::size_t>(i * n + j)]; });
  CHECK(calls == 2 * 5);  // two panels of 256 steps, five blocks of 64 rows
  CHECK(c[static_cast<std::size_t>(3 * n + 4)] == 7);
}

TEST_CASE("progress: an emitted kernel of many points is called in pieces") {
  if (rt::World(rt::read_environment()).size() > 1) return;
  constexpr Index rows = 1500;
  static constexpr Index columns = 2048;
  const auto calls = std::make_shared<Index>(0);
  const auto found = values<double>();
  run({1, {rows, columns}}, [&](TestSession& session) {
    plan::OpBuilder op(plan::OpClass::kMap, "M", 1, 1);
    // The first and last rows are not written; they keep the initial values of a fresh tile.
    op.label("i", {0, rows - 2}).label("j", {0, columns});
    op.write({rows, columns}, {{0, 1, 1}, {1, 1, 0}});
    const Tensor<double> x = session.compute<double>(op, [calls](const TaskArgs& args) {
      ++*calls;
      rt::fill<double>(args.outputs[0], -1.0);
      const auto out = args.out<double, 2>();
      for (Index i = args.lo(0); i < args.hi(0); ++i) {
        for (Index j = args.lo(1); j < args.hi(1); ++j) out(i + 1, j) += static_cast<double>(i * columns + j);
      }
    });
    session.collect(x, found);
  });
  CHECK(*calls == 3);  // 512 rows of 2048 points are 2^20
  Index wrong = 0;
  for (Index i = 0; i < rows; ++i) {
    for (Index j = 0; j < columns; ++j) {
      const double expected = i == 0 || i == rows - 1 ? -1 : static_cast<double>((i - 1) * columns + j - 1);
      wrong += (*found)[static_cast<std::size_t>(i * columns + j)] == expected ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace tdsl::tests

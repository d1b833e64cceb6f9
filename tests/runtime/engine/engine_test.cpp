#include "tests/runtime/engine/harness.h"

namespace tdsl::tests {

namespace {

double a_value(Index i, Index k) { return static_cast<double>((3 * i + 5 * k) % 7 - 3); }
double b_value(Index k, Index j) { return static_cast<double>((2 * k + j) % 5 - 2); }

/// C = A @ B as the compiler records it.
Tensor<double> product(TestSession& session, const Tensor<double>& a, const Tensor<double>& b) {
  plan::OpBuilder op(plan::OpClass::kContraction, "C", 2, 2);
  op.out("i", a.extent(0)).out("j", b.extent(1)).reduce("k", a.extent(1));
  op.read(a.id(), {plan::at(0), plan::at(2)}).read(b.id(), {plan::at(2), plan::at(1)});
  op.combine(plan::Combine::kSum).flops(2);
  return session.contraction<double>(op);
}

void check_product(const RunSettings& settings, Index m, Index n, Index l) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(l);
  const auto c = values<double>();
  run(settings, [&](TestSession& session) {
    Tensor<double> a = matrix<double>(session, "A", m, l, a_value);
    Tensor<double> b = matrix<double>(session, "B", l, n, b_value);
    Tensor<double> product_ab = product(session, a, b);
    a.release();
    b.release();
    session.collect(product_ab, c);
  });
  Index wrong = 0;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index k = 0; k < l; ++k) sum += a_value(i, k) * b_value(k, j);
      wrong += (*c)[static_cast<std::size_t>(i * n + j)] != sum ? 1 : 0;
    }
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("engine: products of all shapes, tiles and thread counts") {
  for (const int threads : {1, 3}) {
    for (const std::vector<Index>& tile : {std::vector<Index>{}, {7}, {16, 5}, {1000}}) {
      const RunSettings settings{threads, tile};
      check_product(settings, 40, 30, 50);
      check_product(settings, 1, 33, 20);
      check_product(settings, 33, 1, 20);
      check_product(settings, 5, 6, 200);
    }
  }
}

TEST_CASE("engine: a product with tiles of one element") { check_product({2, {1}}, 7, 5, 6); }

TEST_CASE("engine: random delays change nothing") {
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    RunSettings settings{2, {7}};
    settings.delay_seed = seed;
    check_product(settings, 30, 20, 25);
  }
}

}  // namespace tdsl::tests

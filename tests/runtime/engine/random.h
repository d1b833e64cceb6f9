#pragma once

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/runtime/engine/harness.h"

// Random programs compared with a sequential evaluation. Values are small integers, so that every summation order
// agrees.

namespace tdsl::tests {

struct Dense {
  Index rows = 0;
  Index columns = 0;
  std::vector<double> elements;

  Dense() = default;
  Dense(Index r, Index c) : rows(r), columns(c), elements(static_cast<std::size_t>(r * c), 0.0) {}
  double& operator()(Index i, Index j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  double operator()(Index i, Index j) const { return elements[static_cast<std::size_t>(i * columns + j)]; }
};

inline double small(double x) { return x - 7 * std::floor(x / 7); }

/// A value of the program: the engine's tensor and its expected contents.
struct Value {
  Tensor<double> tensor;
  Dense expected;
};

/// Records random operations and evaluates them immediately. Every rank draws the same numbers.
class RandomProgram {
 public:
  RandomProgram(std::uint32_t seed, TestSession& session) : random_(seed), session_(session) {}

  void record(int operations) {
    source();
    source();
    for (int k = 0; k < operations; ++k) {
      switch (draw(0, 7)) {
        case 0: source(); break;
        case 1: neighbours(); break;
        case 2: transpose(); break;
        case 3: product(); break;
        case 4: reduce(false); break;
        case 5: reduce(true); break;
        case 6: update(); break;
        default: self_product(); break;
      }
      if (values_.size() > 3 && draw(0, 1) == 0)
        values_.erase(values_.begin() + draw(0, static_cast<int>(values_.size()) - 1));
    }
  }
  [[nodiscard]] std::vector<Value>& values() { return values_; }

 private:
  int draw(int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random_); }
  Index extent() { return draw(0, 9) == 0 ? 1 : draw(2, 17); }
  const Value& any() { return values_[static_cast<std::size_t>(draw(0, static_cast<int>(values_.size()) - 1))]; }
  void keep(Tensor<double> tensor, Dense expected) { values_.push_back({std::move(tensor), std::move(expected)}); }

  void source() {
    const Index salt = draw(1, 9);
    Dense d(extent(), extent());
    const auto value = [salt](Index i, Index j) { return small(static_cast<double>(salt * i + 3 * j)); };
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(i, j) = value(i, j);
    }
    keep(matrix<double>(session_, "S", d.rows, d.columns, value), std::move(d));
  }

  /// Z[i, j] = X[i + a, j] + X[i + b, j], the result shorter than X.
  void neighbours() {
    const Value x = any();
    if (x.expected.rows < 3) return;
    const Index a = draw(0, 2);
    const Index b = draw(0, 2);
    const Index rows = x.expected.rows - 2;
    Dense d(rows, x.expected.columns);
    plan::OpBuilder op(plan::OpClass::kMap, "N", 10, 10);
    op.out("i", rows).out("j", d.columns);
    const bool merged = draw(0, 1) == 0;
    if (merged) {
      op.read(x.tensor.id(), {plan::near(0, std::min(a, b), std::max(a, b) + 1), plan::at(1)});
    } else {
      op.read(x.tensor.id(), {plan::at(0, a), plan::at(1)}).read(x.tensor.id(), {plan::at(0, b), plan::at(1)});
    }
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(i, j) = small(x.expected(i + a, j) + x.expected(i + b, j));
    }
    keep(session_.compute<double>(op,
                                  [a, b, merged](const TaskArgs& t) {
                                    const auto first = t.in<double, 2>(0);
                                    const auto second = t.in<double, 2>(merged ? 0 : 1);
                                    const auto out = t.out<double, 2>();
                                    for (Index i = t.lo(0); i < t.hi(0); ++i) {
                                      for (Index j = t.lo(1); j < t.hi(1); ++j)
                                        out(i, j) = small(first(i + a, j) + second(i + b, j));
                                    }
                                  }),
         std::move(d));
  }

  /// Z[i, j] = 2 X[j, m - 1 - i].
  void transpose() {
    const Value x = any();
    const Index last = x.expected.columns - 1;
    Dense d(x.expected.columns, x.expected.rows);
    plan::OpBuilder op(plan::OpClass::kMap, "T", 11, 11);
    op.out("i", d.rows).out("j", d.columns).read(x.tensor.id(), {plan::at(1), plan::at(0, last, -1)});
    for (Index i = 0; i < d.rows; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(i, j) = small(2 * x.expected(j, last - i));
    }
    keep(session_.compute<double>(op,
                                  [last](const TaskArgs& t) {
                                    const auto in = t.in<double, 2>(0);
                                    const auto out = t.out<double, 2>();
                                    for (Index i = t.lo(0); i < t.hi(0); ++i) {
                                      for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = small(2 * in(j, last - i));
                                    }
                                  }),
         std::move(d));
  }

  Tensor<double> contract(const Value& a, const Value& b, bool transposed) {
    plan::OpBuilder op(plan::OpClass::kContraction, "P", 12, 12);
    op.out("i", a.expected.rows)
        .out("j", transposed ? b.expected.rows : b.expected.columns)
        .reduce("k", a.expected.columns);
    op.read(a.tensor.id(), {plan::at(0), plan::at(2)});
    op.read(b.tensor.id(), transposed ? std::vector{plan::at(1), plan::at(2)} : std::vector{plan::at(2), plan::at(1)});
    op.combine(plan::Combine::kSum).flops(2);
    return session_.contraction<double>(op);
  }

  void product() {
    const Value a = any();
    for (const Value& b : values_) {
      const bool transposed = b.expected.columns == a.expected.columns;
      if (!transposed && b.expected.rows != a.expected.columns) continue;
      Dense d(a.expected.rows, transposed ? b.expected.rows : b.expected.columns);
      for (Index i = 0; i < d.rows; ++i) {
        for (Index j = 0; j < d.columns; ++j) {
          for (Index k = 0; k < a.expected.columns; ++k)
            d(i, j) += a.expected(i, k) * (transposed ? b.expected(j, k) : b.expected(k, j));
        }
      }
      Tensor<double> tensor = contract(a, b, transposed);
      reduce_values(std::move(tensor), std::move(d));
      return;
    }
  }

  /// X[i, k] X[k, j] of the same tensor: boxes fetched for one operand are reused for the other.
  void self_product() {
    const Value x = any();
    const Index n = std::min(x.expected.rows, x.expected.columns);
    Dense d(n, n);
    for (Index i = 0; i < n; ++i) {
      for (Index j = 0; j < n; ++j) {
        for (Index k = 0; k < n; ++k) d(i, j) += x.expected(i, k) * x.expected(k, j);
      }
    }
    plan::OpBuilder op(plan::OpClass::kContraction, "Q", 13, 13);
    op.out("i", n)
        .out("j", n)
        .reduce("k", n)
        .read(x.tensor.id(), {plan::at(0), plan::at(2)})
        .read(x.tensor.id(), {plan::at(2), plan::at(1)});
    op.combine(plan::Combine::kSum).flops(2);
    reduce_values(session_.contraction<double>(op), std::move(d));
  }

  /// Keeps the numbers small, so that they remain exact.
  void reduce_values(Tensor<double> x, Dense expected) {
    plan::OpBuilder op(plan::OpClass::kMap, "M", 14, 14);
    op.out("i", expected.rows).out("j", expected.columns).read(x.id(), {plan::at(0), plan::at(1)});
    for (double& e : expected.elements) e = small(e);
    keep(session_.compute<double>(op,
                                  [](const TaskArgs& t) {
                                    const auto in = t.in<double, 2>(0);
                                    const auto out = t.out<double, 2>();
                                    for (Index i = t.lo(0); i < t.hi(0); ++i) {
                                      for (Index j = t.lo(1); j < t.hi(1); ++j) out(i, j) = small(in(i, j));
                                    }
                                  }),
         std::move(expected));
  }

  /// Row or column maxima, as a matrix with one column or row.
  void reduce(bool columns) {
    const Value x = any();
    Dense d(columns ? 1 : x.expected.rows, columns ? x.expected.columns : 1);
    plan::OpBuilder op(plan::OpClass::kReduce, "R", 15, 15);
    op.label("i", {0, x.expected.rows}).label("j", {0, x.expected.columns});
    op.write({d.rows, d.columns}, columns ? std::vector<plan::OutSubscript>{{plan::kNoLabel, 1, 0}, {1, 1, 0}}
                                          : std::vector<plan::OutSubscript>{{0, 1, 0}, {plan::kNoLabel, 1, 0}});
    op.op().reduce.push_back({columns ? 0 : 1, -1});
    op.read(x.tensor.id(), {plan::at(0), plan::at(1)}).combine(plan::Combine::kMax);
    std::fill(d.elements.begin(), d.elements.end(), -1.0);
    for (Index i = 0; i < x.expected.rows; ++i) {
      for (Index j = 0; j < x.expected.columns; ++j) {
        double& most = columns ? d(0, j) : d(i, 0);
        most = std::max(most, x.expected(i, j));
      }
    }
    keep(session_.compute<double>(op,
                                  [columns](const TaskArgs& t) {
                                    if (t.fresh) rt::fill<double>(t.outputs[0], -1.0);
                                    const auto in = t.in<double, 2>(0);
                                    const auto out = t.out<double, 2>();
                                    for (Index i = t.lo(0); i < t.hi(0); ++i) {
                                      for (Index j = t.lo(1); j < t.hi(1); ++j) {
                                        double& most = columns ? out(0, j) : out(i, 0);
                                        most = std::max(most, in(i, j));
                                      }
                                    }
                                  }),
         std::move(d));
  }

  /// X[2 i + c, j] = X[…] + Y[0, 0] for some i, on a copy that is often the only reference.
  void update() {
    const auto place = static_cast<std::size_t>(draw(0, static_cast<int>(values_.size()) - 1));
    const Value y = any();
    Value x = values_[place];
    const Index step = draw(1, 2);
    const Index from = draw(0, 1);
    const Index count = (x.expected.rows - from) / step;
    plan::OpBuilder op(plan::OpClass::kMap, "U", 16, 16);
    op.label("i", {0, count}).label("j", {0, x.expected.columns});
    op.write({x.expected.rows, x.expected.columns}, {{0, step, from}, {1, 1, 0}}).base(x.tensor.id());
    op.read(x.tensor.id(), {plan::at(0, from, step), plan::at(1)})
        .read(y.tensor.id(), {plan::fixed(0, 1), plan::fixed(0, 1)});
    Dense d = x.expected;
    for (Index i = 0; i < count; ++i) {
      for (Index j = 0; j < d.columns; ++j) d(step * i + from, j) = small(d(step * i + from, j) + y.expected(0, 0));
    }
    Tensor<double> tensor = session_.compute<double>(op, [step, from](const TaskArgs& t) {
      if (t.lo(0) >= t.hi(0) || t.lo(1) >= t.hi(1)) return;
      const auto in = t.in<double, 2>(0);
      const double add = t.in<double, 2>(1)(0, 0);
      const auto out = t.out<double, 2>();
      for (Index i = t.lo(0); i < t.hi(0); ++i) {
        for (Index j = t.lo(1); j < t.hi(1); ++j) out(step * i + from, j) = small(in(step * i + from, j) + add);
      }
    });
    if (draw(0, 2) > 0) values_.erase(values_.begin() + static_cast<std::ptrdiff_t>(place));
    keep(std::move(tensor), std::move(d));
  }

  std::mt19937 random_;
  TestSession& session_;
  std::vector<Value> values_;
};

/// The number of wrong elements.
inline Index run_random(std::uint32_t seed, RunSettings settings, RunResult* about = nullptr) {
  std::vector<Dense> expected;
  std::vector<std::shared_ptr<std::vector<double>>> found;
  const auto program = [&](TestSession& session) {
    expected.clear();
    found.clear();
    RandomProgram random(seed, session);
    const auto iterations = static_cast<Index>(1 + seed % 3);
    session.for_loop(0, iterations, 1, [&](Index) { random.record(6); });
    for (const Value& value : random.values()) {
      found.push_back(values<double>());
      session.collect(value.tensor, found.back());
      expected.push_back(value.expected);
    }
  };
  const RunResult result = run(settings, program);
  if (about != nullptr) *about = result;
  Index wrong = 0;
  for (std::size_t k = 0; k < expected.size(); ++k) {
    for (std::size_t e = 0; e < expected[k].elements.size(); ++e)
      wrong += expected[k].elements[e] == (*found[k])[e] ? 0 : 1;
  }
  return wrong;
}

/// The least legal window named by an error; 0: another error.
inline Index legal_window(const rt::RunError& error) {
  const std::string asks = "smallest legal value is --window ";
  const std::string text = error.what();
  const std::size_t at = text.find(asks);
  return at == std::string::npos ? 0 : std::stoll(text.substr(at + asks.size()));
}

/// The same with the least legal window not below `window`: another window gives another plan, with another need.
inline Index run_in_least_window(std::uint32_t seed, RunSettings settings, Index window) {
  while (true) {
    settings.window = window;
    try {
      return run_random(seed, settings);
    } catch (const rt::RunError& error) {
      const Index legal = legal_window(error);
      if (legal <= window) throw;
      window = legal;
    }
  }
}

}  // namespace tdsl::tests

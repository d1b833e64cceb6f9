#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/session/session.h"
#include "runtime/kernels/each.h"
#include "runtime/library/library.h"
#include "runtime/plan/op_builder.h"

namespace tdsl::tests {

namespace {

int recordings = 0;

/// B[i] = factor * sum[j](A[j] * C[i, j]), and D = C. Negative elements of A are an error.
void weighted(rt::Session& session) {
  ++recordings;
  const plan::Index n = session.dimension("n"), m = session.dimension("m");
  const double factor = session.param<double>("factor");
  auto A = session.input<double>("A", {m}, 1, 1);
  auto C = session.input<double>("C", {n, m}, 2, 2);
  session.output("D", C, 7, 7);
  auto checked = session.map<double>({"checked", 3, 3}, {{"j", m}}, {std::move(A)}, 1, [](const rt::TaskArgs& t) {
    const auto from = t.in<double, 1>(0);
    const auto to = t.out<double, 1>();
    for (plan::Index j = t.lo(0); j < t.hi(0); ++j) {
      if (from(j) < 0) throw rt::RunError("a negative element [assertion]");
      to(j) = from(j);
    }
  });
  auto B = session.contraction<double>({"product", 4, 4}, {{"i", n}}, {{"j", m}},
                                       {{checked, {plan::at(1)}}, {std::move(C), {plan::at(0), plan::at(1)}}});
  auto scaled = session.map<double>({"B", 5, 5}, {{"i", n}}, {std::move(B)}, 1, [factor](const rt::TaskArgs& t) {
    const auto from = t.in<double, 1>(0);
    const auto to = t.out<double, 1>();
    for (plan::Index i = t.lo(0); i < t.hi(0); ++i) to(i) = factor * from(i);
  });
  session.output("B", std::move(scaled), 6, 6);
}

rt::ProgramInfo info_of_weighted() {
  rt::ProgramInfo info("weighted", "weighted.tdsl", "weighted");
  info.param("factor", rt::ElementType::kF64);
  info.input("A", "f64[m]", rt::ElementType::kF64, {"m"}, 1);
  info.input("C", "f64[n, m]", rt::ElementType::kF64, {"n", "m"}, 2);
  info.output("B", "f64[n]", 6);
  info.output("D", "f64[n, m]", 7);
  info.dimensions({"n", "m"});
  return info;
}

const rt::ProgramInfo& weighted_info() {
  static const rt::ProgramInfo info = info_of_weighted();
  return info;
}

/// A handle on this rank alone, unless the tests have several.
class Handle {
 public:
  Handle() { REQUIRE(rt::open_library(weighted_info, weighted, nullptr, false, nullptr, 0, &library_) == TDSL_GOOD); }
  ~Handle() { rt::close_library(library_); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  [[nodiscard]] int ranks() const {
    int all = 0;
    static_cast<void>(rt::rank_in_library(library_, &all));
    return all;
  }
  void set_factor(const std::string& value) {
    const std::string word = "--factor=" + value;
    const char* const words[] = {word.c_str()};
    REQUIRE(rt::set_library_params(library_, words, 1) == TDSL_GOOD);
  }
  /// Runs the program on `a` and on rows of `c`, `step` elements apart; empty after an error. `into`: null for memory
  /// of the library.
  std::vector<double> run(std::vector<double>& a, std::vector<double>& c, plan::Index step, std::vector<double>* into) {
    const auto m = static_cast<plan::Index>(a.size()), n = static_cast<plan::Index>(c.size()) / step;
    tdsl_box box_a{a.data(), {0}, {m}, {1}}, box_c{c.data(), {0, 0}, {n, m}, {step, 1}};
    const std::array<tdsl_array, 2> in{{{"A", TDSL_F64, 1, {m}, 1, &box_a}, {"C", TDSL_F64, 2, {n, m}, 1, &box_c}}};
    tdsl_box box_b{into != nullptr ? into->data() : nullptr, {0}, {n}, {1}};
    tdsl_array out{"B", TDSL_F64, 1, {n}, 1, into != nullptr ? &box_b : nullptr};
    const int code = rt::run_library(library_, in.data(), 2, &out, 1);
    if (code != TDSL_GOOD) {
      CHECK(std::string(rt::library_message(library_)).find("a negative element") != std::string::npos);
      return {};
    }
    REQUIRE(out.boxes != nullptr);
    const auto* const data = static_cast<const double*>(out.boxes[0].data);
    return {data, data + (out.boxes[0].hi[0] - out.boxes[0].lo[0])};
  }
  /// The elements of D that are not 0, in a sparse matrix or not.
  plan::Index stored(std::vector<double>& a, std::vector<double>& c, bool sparse) {
    const auto m = static_cast<plan::Index>(a.size()), n = static_cast<plan::Index>(c.size()) / m;
    tdsl_box box_a{a.data(), {0}, {m}, {1}}, box_c{c.data(), {0, 0}, {n, m}, {m, 1}};
    const std::array<tdsl_array, 2> in{{{"A", TDSL_F64, 1, {m}, 1, &box_a}, {"C", TDSL_F64, 2, {n, m}, 1, &box_c}}};
    tdsl_sparse rows{sizeof(tdsl_sparse), 64, nullptr, nullptr, nullptr, 0, 0, -1};
    tdsl_box box_d{&rows, {}, {}, {}};
    tdsl_array out{"D", sparse ? TDSL_SPARSE : 0, 0, {}, 1, sparse ? &box_d : nullptr};
    REQUIRE(rt::run_library(library_, in.data(), 2, &out, 1) == TDSL_GOOD);
    if (sparse) return rows.count;
    const auto* const data = static_cast<const double*>(out.boxes[0].data);
    return n * m - std::count(data, data + n * m, 0.0);
  }

 private:
  rt::Library* library_ = nullptr;
};

std::vector<double> expected(const std::vector<double>& a, const std::vector<double>& c, std::size_t step,
                             double factor) {
  std::vector<double> b(c.size() / step);
  for (std::size_t i = 0; i < b.size(); ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * c[i * step + j];
    b[i] = factor * sum;
  }
  return b;
}

}  // namespace

TEST_CASE("library: a call that is made again executes its kernels without recording") {
  Handle handle;
  if (handle.ranks() > 1) return;  // calls of several ranks are recorded
  handle.set_factor("2");
  recordings = 0;
  std::vector<double> a{1, 2, 3}, c(12), result(4);
  int last = 0;
  for (int call = 0; call < 6; ++call) {
    a[1] = call;
    for (std::size_t k = 0; k < c.size(); ++k) c[k] = static_cast<double>(k) + call;
    CAPTURE(call);
    CHECK(handle.run(a, c, 3, nullptr) == expected(a, c, 3, 2));
    // The first call, and the second, on a tape, run the program.
    if (call < 2) CHECK(recordings > last);
    if (call >= 2) CHECK(recordings == last);
    last = recordings;
  }
  // The caller's memory, other strides, params and shapes are other calls.
  for (int call = 0; call < 4; ++call) {
    CHECK(handle.run(a, c, 3, &result) == expected(a, c, 3, 2));
    CHECK(result == expected(a, c, 3, 2));
    CHECK(handle.run(a, c, 4, nullptr) == expected(a, c, 4, 2));
    handle.set_factor("0.5");
    CHECK(handle.run(a, c, 3, nullptr) == expected(a, c, 3, 0.5));
    handle.set_factor("2");
    CHECK(handle.run(a, c, 3, nullptr) == expected(a, c, 3, 2));
    if (call == 1) last = recordings;
  }
  CHECK(recordings == last);
  // A sparse result is collected anew by each run.
  for (int call = 0; call < 8; ++call) {
    std::fill(c.begin(), c.begin() + call, 0.0);
    CHECK(handle.stored(a, c, call % 4 != 3) == 12 - call);
  }
  last = recordings;
  // A kernel that throws: the program runs and says so, and the handle takes further calls.
  a[1] = -1;
  CHECK(handle.run(a, c, 3, nullptr).empty());
  CHECK(recordings > last);
  a[1] = 1;
  for (int call = 0; call < 3; ++call) CHECK(handle.run(a, c, 3, nullptr) == expected(a, c, 3, 2));
}

}  // namespace tdsl::tests

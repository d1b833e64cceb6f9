#include <cmath>

#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

std::string matrix(int rows, int columns) {
  return "%0:f64[" + std::to_string(rows) + ", " + std::to_string(columns) + "] \"A\" = input \"A\"\n";
}

/// Every element is within its bound of `expected`, and the bounds are finite and small.
void check_close(const Array& a, const std::vector<double>& expected) {
  REQUIRE(a.floats.size() == expected.size());
  for (std::size_t k = 0; k < expected.size(); ++k) {
    INFO("element " << k << ": " << a.floats[k] << " and " << expected[k] << ", bound " << bound_of(a, k));
    CHECK(bound_of(a, k) < 1e-9);
    CHECK(std::fabs(a.floats[k] - expected[k]) <= bound_of(a, k));
  }
}

std::string problems(const std::string& nodes) {
  std::string text;
  for (const std::string& problem : verify(parse("program \"\"\n" + nodes))) text += problem + "\n";
  return text;
}

}  // namespace

TEST_CASE("routine: the text form reads back") {
  const std::string text =
      "program \"t\"\n"
      "%0:f64[3, 4] \"A\" = input \"A\"\n"
      "%1:f64[3, 2] \"v\", %2:i64[3, 2] = routine topk (%0) axis 1\n"
      "%3:i64[3], %4:f64[3, 3], %5:f64[3, 4] = routine lu (%0)\n"
      "%6:f64[5, 3, 3] \"B\" = input \"B\"\n"
      "%7:f64[1, 3] \"c\" = input \"c\"\n"
      "%8:f64[5, 3] = routine solve (%6, %7) lower\n"
      "%9:f64[5] = routine det (%6)\n"
      "%10:c128[3, 3] = routine rfft (%0) axis 1 scale none\n"
      "%11:c128[3, 3] = routine fft (%10) axis 0 scale root\n"
      "%12:f64[3, 4] = routine irfft (%11) axis 1 scale whole\n"
      "%13:bool[4] \"c\" = input \"c\"\n"
      "%14:f64[3, 2] = routine filter (%0, %13) axis 1\n";
  CHECK(print(parse(text)) == text);
  CHECK(verify(parse(text)).empty());
}

TEST_CASE("routine: wrong operands and results are found") {
  const std::string square = matrix(3, 3);
  CHECK(problems(square + "%1:f64[3, 3] = routine sort (%0) axis 2\n").find("axis") != std::string::npos);
  CHECK(problems(square + "%1:f64[3, 3] = routine argsort (%0) axis 0\n").find("i64") != std::string::npos);
  CHECK(problems(square + "%1:f64[3, 2] = routine cumsum (%0) axis 0\n").find("extent") != std::string::npos);
  CHECK(problems(square + "%1:f64[3, 3] = routine qr (%0)\n").find("results") != std::string::npos);
  CHECK(problems(square + "%1:f64 = routine inv (%0)\n").find("rank") != std::string::npos);
  CHECK(problems(square + "%1:f64[3, 3] = routine solve (%0)\n").find("operands") != std::string::npos);
  const std::string batch = "%0:f64[5, 3, 3] \"A\" = input \"A\"\n";
  CHECK(problems(batch + "%1:f64 = routine det (%0)\n").find("rank") != std::string::npos);
  CHECK(problems(batch + "%1:f64[4, 3], %2:f64[5, 3, 3] = routine eigh (%0)\n").find("extent") != std::string::npos);
}

TEST_CASE("routine: filter takes true elements, then the others") {
  const std::string operands =
      "%0:f64[2, 4] \"A\" = input \"A\"\n%1:bool[4] \"c\" = compute [i in 0..4] (eq(rem(i, 2), 1))\n";
  const auto result = run(operands + "%2:f64[2, 3] = routine filter (%0, %1) axis 1\noutput \"B\" %2\n",
                          {{"A", floats({2, 4}, {0, 1, 2, 3, 4, 5, 6, 7})}});
  CHECK(result.outputs.at("B").floats == std::vector<double>{1, 3, 0, 5, 7, 4});
  CHECK(problems(operands + "%2:f64[1, 4] = routine filter (%0, %1) axis 0\n")
            .find("the mask cannot have the extent of the axis") != std::string::npos);
  CHECK(problems(operands + "%2:f64[2, 4] = routine filter (%0, %0) axis 1\n")
            .find("the mask is not a vector of bools") != std::string::npos);
}

TEST_CASE("routine: Fourier transforms of wrong types are found") {
  const std::string square = matrix(3, 3);
  CHECK(problems(square + "%1:f64[3, 4] = routine irfft (%0) axis 1 scale none\n")
            .find("the operand is not of floats or complex, for rfft real and for irfft complex") != std::string::npos);
  CHECK(problems(square + "%1:c64[3, 3] = routine fft (%0) axis 0 scale none\n").find("c128") != std::string::npos);
  CHECK(problems(square + "%1:f64[3, 2] = routine rfft (%0) axis 1 scale none\n").find("c128") != std::string::npos);
  CHECK(problems(square + "%1:c128[2, 2] = routine rfft (%0) axis 1 scale none\n").find("extent") != std::string::npos);
}

TEST_CASE("routine: Fourier transforms within the bound, also of primes above 64") {
  for (const int n : {1, 2, 6, 7, 67, 134}) {
    std::vector<double> x;
    double norm = 0;
    for (int k = 0; k < n; ++k) x.push_back(std::sin(k * k + 1.0));
    for (const double e : x) norm = std::hypot(norm, e);
    const std::string size = std::to_string(n), half = std::to_string(n / 2 + 1);
    const auto result = run("%0:f64[" + size + "] \"x\" = input \"x\"\n%1:c128[" + half +
                                "] = routine rfft (%0) axis 0 scale root\n%2:f64[" + size +
                                "] = routine irfft (%1) axis 0 scale root\noutput \"f\" %1\noutput \"b\" %2\n",
                            {{"x", floats({n}, x)}});
    const Array& f = result.outputs.at("f");
    const double bound = 32 * 0x1p-52 * (1 + std::log2(n)) * norm;
    for (int k = 0; k <= n / 2; ++k) {
      double re = 0, im = 0;
      for (int j = 0; j < n; ++j) {
        const double angle = 2 * std::acos(-1.0) * (j * k % n) / n;
        re += x[static_cast<std::size_t>(j)] * std::cos(angle);
        im -= x[static_cast<std::size_t>(j)] * std::sin(angle);
      }
      const auto at = static_cast<std::size_t>(k);
      CHECK(bound_of(f, at) == doctest::Approx(bound));
      CHECK(std::hypot(f.floats[at] - re / std::sqrt(n), f.imaginary[at] - im / std::sqrt(n)) <= bound + 1e-13 * norm);
    }
    check_close(result.outputs.at("b"), x);
  }
}

TEST_CASE("routine: running sums along an axis, exact where the terms are") {
  const Array a = floats({2, 3}, {1, 2, 3, 10, 20, 30});
  const auto sums = [&](int axis) {
    return run(matrix(2, 3) + "%1:f64[2, 3] = routine cumsum (%0) axis " + std::to_string(axis) + "\noutput \"s\" %1\n",
               {{"A", a}})
        .outputs.at("s");
  };
  CHECK(sums(0).floats == std::vector<double>{1, 2, 3, 11, 22, 33});
  CHECK(sums(1).floats == std::vector<double>{1, 3, 6, 10, 30, 60});
  CHECK(bound_of(sums(1), 5) == 0);
}

TEST_CASE("routine: sorting is stable and puts nan last") {
  const std::string program =
      "%0:f64[5] \"x\" = input \"x\"\n"
      "%1:f64[5] = routine sort (%0) axis 0\n"
      "%2:i64[5] = routine argsort (%0) axis 0\n"
      "%3:f64[4], %4:i64[4] = routine topk (%0) axis 0\n"
      "output \"s\" %1\noutput \"p\" %2\noutput \"v\" %3\noutput \"q\" %4\n";
  const EvalResult r = run(program, {{"x", floats({5}, {2, NAN, 1, 2, 1})}});
  const Array& s = r.outputs.at("s");
  CHECK(std::vector<double>(s.floats.begin(), s.floats.begin() + 4) == std::vector<double>{1, 1, 2, 2});
  CHECK(std::isnan(s.floats[4]));
  CHECK(r.outputs.at("p").integers == std::vector<std::int64_t>{2, 4, 0, 3, 1});
  CHECK(r.outputs.at("v").floats == std::vector<double>{2, 2, 1, 1});
  CHECK(r.outputs.at("q").integers == std::vector<std::int64_t>{0, 3, 2, 4});
}

TEST_CASE("routine: positions of values that may be equal are open, sorted values are not") {
  Array x = floats({2}, {1.0, 1.5});
  x.bounds = {0.3, 0.3};
  const std::string program =
      "%0:f64[2] \"x\" = input \"x\"\n%1:f64[2] = routine sort (%0) axis 0\n%2:i64[2] = routine argsort (%0) axis 0\n"
      "output \"s\" %1\noutput \"p\" %2\n";
  const EvalResult r = run(program, {{"x", x}});
  CHECK(bound_of(r.outputs.at("s"), 0) == 0.3);
  CHECK(std::isinf(bound_of(r.outputs.at("p"), 0)));
}

TEST_CASE("routine: solvers within their bounds") {
  const Inputs inputs = {{"A", floats({2, 2}, {2, 1, 1, 3})}, {"b", floats({2}, {3, 5})}};
  const std::string program = matrix(2, 2) +
                              "%1:f64[2] \"b\" = input \"b\"\n"
                              "%2:f64[2] = routine solve (%0, %1)\n"
                              "%3:f64[2, 2] = routine inv (%0)\n"
                              "%4:f64 = routine det (%0)\n"
                              "%5:f64[2] = routine lstsq (%0, %1)\n"
                              "%6:f64[2, 2] = routine cholesky (%0)\n"
                              "output \"x\" %2\noutput \"i\" %3\noutput \"d\" %4\noutput \"l\" %5\noutput \"c\" %6\n";
  const EvalResult r = run(program, inputs);
  CHECK(error_of(r) == "");
  check_close(r.outputs.at("x"), {0.8, 1.4});
  check_close(r.outputs.at("i"), {0.6, -0.2, -0.2, 0.4});
  check_close(r.outputs.at("d"), {5});
  check_close(r.outputs.at("l"), {0.8, 1.4});
  check_close(r.outputs.at("c"), {std::sqrt(2.0), 0, std::sqrt(0.5), std::sqrt(2.5)});
}

TEST_CASE("routine: factors have the signs and orders that the language promises") {
  const Inputs inputs = {{"A", floats({3, 2}, {1, 2, -2, 1, 5, 0})}};
  const std::string program = matrix(3, 2) +
                              "%1:f64[3, 2], %2:f64[2, 2] = routine qr (%0)\n"
                              "%3:i64[3], %4:f64[3, 2], %5:f64[2, 2] = routine lu (%0)\n"
                              "%6:f64[3, 2], %7:f64[2], %8:f64[2, 2] = routine svd (%0)\n"
                              "output \"r\" %2\noutput \"p\" %3\noutput \"l\" %4\noutput \"u\" %5\n"
                              "output \"U\" %6\noutput \"s\" %7\noutput \"V\" %8\n";
  const EvalResult r = run(program, inputs);
  CHECK(r.outputs.at("p").integers == std::vector<std::int64_t>{2, 0, 1});
  check_close(r.outputs.at("l"), {1, 0, 0.2, 1, -0.4, 0.5});
  check_close(r.outputs.at("u"), {5, 0, 0, 2});
  CHECK(r.outputs.at("r").floats[0] > 0);
  CHECK(r.outputs.at("r").floats[3] > 0);
  // A'A is diagonal: the singular values are the columns' lengths.
  check_close(r.outputs.at("s"), {std::sqrt(30.0), std::sqrt(5.0)});
  check_close(r.outputs.at("V"), {1, 0, 0, 1});
  CHECK(r.outputs.at("U").floats[4] > 0);
}

TEST_CASE("routine: eigenvalues ascend; only the lower triangle counts") {
  const std::string program =
      matrix(2, 2) + "%1:f64[2], %2:f64[2, 2] = routine eigh (%0)\noutput \"w\" %1\noutput \"V\" %2\n";
  const EvalResult r = run(program, {{"A", floats({2, 2}, {0, 99, 2, 3})}});
  check_close(r.outputs.at("w"), {-1, 4});
  check_close(r.outputs.at("V"), {2 / std::sqrt(5.0), 1 / std::sqrt(5.0), -1 / std::sqrt(5.0), 2 / std::sqrt(5.0)});
}

TEST_CASE("routine: what hangs on roundings is open") {
  const std::string lu = matrix(2, 2) + "%1:i64[2], %2:f64[2, 2], %3:f64[2, 2] = routine lu (%0)\noutput \"p\" %1\n";
  Array near = floats({2, 2}, {1, 2, 1, 3});
  CHECK(bound_of(run(lu, {{"A", near}}).outputs.at("p"), 0) == 0);
  near.bounds = {1e-16, 0, 0, 0};
  CHECK(std::isinf(bound_of(run(lu, {{"A", near}}).outputs.at("p"), 0)));
  const std::string eigh = matrix(2, 2) + "%1:f64[2], %2:f64[2, 2] = routine eigh (%0)\noutput \"V\" %2\n";
  CHECK(std::isinf(bound_of(run(eigh, {{"A", floats({2, 2}, {1, 0, 0, 1})}}).outputs.at("V"), 0)));
}

TEST_CASE("routine: singular and indefinite matrices stop the run") {
  const Inputs zero = {{"A", floats({2, 2}, {1, 2, 0, 0})}};
  const auto error = [&](const std::string& name, const Inputs& inputs) {
    return error_of(run(matrix(2, 2) + "%1:f64[2, 2] = routine " + name + " (%0)\noutput \"x\" %1\n", inputs));
  };
  CHECK(error("inv", zero) == "inv: the matrix is singular");
  CHECK(error("cholesky", {{"A", floats({2, 2}, {1, 0, 2, 1})}}) == "cholesky: the matrix is not positive definite");
  CHECK(error("cholesky", {{"A", floats({2, 2}, {NAN, 0, 2, 1})}}) == "cholesky: the matrix is not positive definite");
}

TEST_CASE("routine: batches have the results of their matrices, and an extent of 1 serves all") {
  const std::string inputs = "%0:f64[1, 2, 2] \"A\" = input \"A\"\n%1:f64[3, 2] \"b\" = input \"b\"\n";
  const Array a = floats({1, 2, 2}, {2, 1, 0, 4});
  const Array b = floats({3, 2}, {3, 4, 2, 0, 0, 8});
  const auto x = [&](const std::string& kind) {
    return run(inputs + "%2:f64[3, 2] = routine solve (%0, %1)" + kind + "\noutput \"x\" %2\n", {{"A", a}, {"b", b}})
        .outputs.at("x");
  };
  check_close(x(""), {1, 1, 1, 0, -1, 2});
  check_close(x(" upper"), {1, 1, 1, 0, -1, 2});
  check_close(x(" lower"), {1.5, 1, 1, 0, 0, 2});
  check_close(x(" positive"), {1.5, 1, 1, 0, 0, 2});
}

TEST_CASE("routine: an error names the matrix of the batch") {
  const Array a = floats({2, 2, 1, 1}, {1, 2, 0, 3});
  const std::string text =
      "%0:f64[2, 2, 1, 1] \"A\" = input \"A\"\n%1:f64[2, 2, 1, 1] = routine inv (%0)\noutput \"x\" %1\n";
  CHECK(run(text, {{"A", a}}).error.value().message.find("singular (batch [1, 0])") != std::string::npos);
}

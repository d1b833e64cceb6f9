#include "runtime/fft/transform.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <numbers>
#include <numeric>
#include <thread>
#include <vector>

#include "runtime/base/shared_loop.h"

// Transforms of lines against the definition in extended precision.

namespace tdsl::tests::fourier_lines {

namespace {

using rt::fourier::Kind;
using rt::fourier::kLanes;
using rt::fourier::Lines;
using rt::fourier::Transform;
using Index = std::int64_t;
using Wide = std::complex<long double>;

/// Reproducible elements between -1 and 1.
struct Draw {
  std::uint64_t state = 1;
  double operator()() {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<double>(state >> 11U) / 4503599627370496.0 - 1;
  }
};

Wide turn(Index k, Index n, bool inverse) {
  const long double angle =
      2 * std::numbers::pi_v<long double> * static_cast<long double>(k % n) / static_cast<long double>(n);
  return {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
}

/// Elements `wanted` of the transform, by the definition.
std::vector<Wide> by_definition(const std::vector<Wide>& x, bool inverse, const std::vector<Index>& wanted) {
  const auto n = static_cast<Index>(x.size());
  std::vector<Wide> turns, result;
  for (Index k = 0; k < n; ++k) turns.push_back(turn(k, n, inverse));
  for (const Index k : wanted) {
    Wide sum = 0;
    for (Index j = 0; j < n; ++j)
      sum += x[static_cast<std::size_t>(j)] * turns[static_cast<std::size_t>(j * (k % n) % n)];
    result.push_back(sum);
  }
  return result;
}

std::vector<Index> all_of(Index n) {
  std::vector<Index> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

/// `count` lines, side by side (element k of line l at k * count + l) or one behind the other.
template <class T>
struct Array {
  Array(Index length, Index lines, Index parts_per_element, bool beside)
      : n(length),
        count(lines),
        parts(parts_per_element),
        step(beside ? parts * count : parts),
        line(beside ? parts : parts * n),
        data(static_cast<std::size_t>(n * count * parts)) {}

  T& at(Index l, Index k, Index part) { return data[static_cast<std::size_t>(l * line + k * step + part)]; }
  template <class U>
  Lines<U> lines() {
    Lines<U> result;
    result.stride = step;
    for (Index l = 0; l < count; ++l) result.first[static_cast<std::size_t>(l)] = data.data() + l * line;
    return result;
  }

  Index n, count, parts, step, line;
  std::vector<T> data;
};

struct Form {
  Kind kind;
  bool in_beside, out_beside;
  Index count;
};

/// The largest error relative to eps (1 + log2 n) sqrt(n) norm(x), of elements in `wanted` (of all if that is empty).
template <class T>
double error_of(const Form& form, Index n, std::vector<Index> wanted = {}) {
  const bool from_reals = rt::fourier::is_of_reals(form.kind), to_reals = form.kind == Kind::kToReal;
  const Index half = n / 2 + 1, given = to_reals ? half : n, made = form.kind == Kind::kReal ? half : n;
  const bool inverse = form.kind == Kind::kInverse || form.kind == Kind::kInverseOfReals || to_reals;
  Array<T> in(given, form.count, from_reals ? 1 : 2, form.in_beside);
  Array<T> out(made, form.count, to_reals ? 1 : 2, form.out_beside);
  Draw draw;
  for (T& x : in.data) x = static_cast<T>(draw());
  const Transform<T> transform(form.kind, n, 0.5);
  transform.run(in.template lines<const T>(), out.template lines<T>(), form.count);
  if (wanted.empty()) wanted = all_of(made);
  double worst = 0;
  for (Index l = 0; l < form.count; ++l) {
    std::vector<Wide> x(static_cast<std::size_t>(n));
    for (Index k = 0; k < given; ++k)
      x[static_cast<std::size_t>(k)] = {in.at(l, k, 0), from_reals ? T{0} : in.at(l, k, 1)};
    if (to_reals) {
      x[0] = x[0].real();
      if (n % 2 == 0) x[static_cast<std::size_t>(n / 2)] = x[static_cast<std::size_t>(n / 2)].real();
      for (Index k = half; k < n; ++k) x[static_cast<std::size_t>(k)] = std::conj(x[static_cast<std::size_t>(n - k)]);
    }
    long double norm = 0;
    for (const Wide& e : x) norm = std::hypot(norm, std::abs(e));
    const std::vector<Wide> want = by_definition(x, inverse, wanted);
    const double unit = static_cast<double>(std::numeric_limits<T>::epsilon()) *
                        (1 + std::log2(static_cast<double>(n))) * std::sqrt(static_cast<double>(n)) *
                        static_cast<double>(norm);
    for (std::size_t k = 0; k < wanted.size(); ++k) {
      const Wide got(out.at(l, wanted[k], 0), to_reals ? T{0} : out.at(l, wanted[k], 1));
      const long double difference = std::abs(got - want[k] * 0.5L);
      worst = std::max(worst, difference == difference ? static_cast<double>(difference) / unit : 1e30);
    }
  }
  return worst;
}

/// Runs iterations of shared loops backwards, half of them on another thread.
struct Helped {
  int loops = 0;
  rt::shared_loop::Scope scope{[](void* self, Index count, const rt::shared_loop::Body& body) {
                                 ++static_cast<Helped*>(self)->loops;
                                 std::thread other([&] {
                                   for (Index k = count / 2; k-- > 0;) body(k);
                                 });
                                 for (Index k = count; k-- > count / 2;) body(k);
                                 other.join();
                               },
                               this};
};

template <class T>
std::vector<T> transformed(Kind kind, Index n) {
  const bool from_reals = kind == Kind::kReal, to_reals = kind == Kind::kToReal;
  Array<T> in(to_reals ? n / 2 + 1 : n, 1, from_reals ? 1 : 2, false);
  Array<T> out(from_reals ? n / 2 + 1 : n, 1, to_reals ? 1 : 2, false);
  Draw draw;
  for (T& x : in.data) x = static_cast<T>(draw());
  Transform<T>(kind, n, 0.5).run(in.template lines<const T>(), out.template lines<T>(), 1);
  return out.data;
}

constexpr std::array kKinds = {Kind::kForward, Kind::kInverse,        Kind::kReal,
                               Kind::kToReal,  Kind::kForwardOfReals, Kind::kInverseOfReals};

}  // namespace

TEST_CASE("fourier: long lines have the same bits whichever threads transform their parts") {
  for (const Index n : {Index{1} << 17, Index{40009}}) {
    for (const Kind kind : {Kind::kForward, Kind::kInverse, Kind::kReal, Kind::kToReal}) {
      const std::vector<double> alone = transformed<double>(kind, n);
      Helped helped;
      CHECK_MESSAGE(transformed<double>(kind, n) == alone, n);
      CHECK(helped.loops >= 2);
    }
  }
}

TEST_CASE("fourier: every length to 64, full and partial lanes, both layouts") {
  for (Index n = 1; n <= 64; ++n) {
    for (const Kind kind : kKinds) {
      const bool beside = n % 2 == 0;
      CHECK_MESSAGE(error_of<double>({kind, beside, !beside, kLanes<double>}, n) < 4, n);
      CHECK_MESSAGE(error_of<double>({kind, !beside, beside, 3}, n) < 4, n);
      CHECK_MESSAGE(error_of<float>({kind, beside, beside, kLanes<float>}, n) < 4, n);
    }
  }
}

TEST_CASE("fourier: factors, primes and long lines") {
  // Short ones of several factors, convolutions, matrices, long convolutions.
  for (const Index n : {Index{101}, Index{128}, Index{1000}, Index{1021}, Index{2187}, Index{4096}, Index{5000},
                        Index{6561}, Index{8192}, Index{9973}, Index{10010}, Index{2 * 9973}, Index{29 * 29 * 31}}) {
    const std::vector<Index> some = {0, 1, n / 4, n / 2};
    for (const Kind kind : kKinds) {
      CHECK_MESSAGE(error_of<double>({kind, true, true, 2}, n, some) < 4, n);
      CHECK_MESSAGE(error_of<double>({kind, false, false, 1}, n, some) < 4, n);
    }
    CHECK_MESSAGE(error_of<float>({Kind::kForward, false, false, 1}, n, some) < 4, n);
  }
  CHECK(error_of<double>({Kind::kForward, false, false, 1}, 999983, {0, 1, 499991}) < 4);
  CHECK(error_of<double>({Kind::kReal, false, false, 1}, Index{1} << 20, {0, 1, Index{1} << 19}) < 4);
}

TEST_CASE("fourier: a line's bits do not depend on the lines next to it") {
  for (const Index n : {Index{60}, Index{97}, Index{5000}}) {
    std::vector<double> first;
    for (const Index count : {Index{1}, Index{5}, kLanes<double>}) {
      Array<double> in(n, count, 2, true), out(n, count, 2, true);
      Draw draw;
      for (Index k = 0; k < n; ++k) {
        for (const Index part : {0, 1}) in.at(0, k, part) = draw();
      }
      for (Index l = 1; l < count; ++l) {
        for (Index k = 0; k < n; ++k) in.at(l, k, 0) = draw();
      }
      const Transform<double> transform(Kind::kForward, n, 1);
      transform.run(in.lines<const double>(), out.lines<double>(), count);
      std::vector<double> line;
      for (Index k = 0; k < n; ++k) {
        for (const Index part : {0, 1}) line.push_back(out.at(0, k, part));
      }
      if (first.empty()) first = line;
      CHECK_MESSAGE(line == first, n);
    }
  }
}

TEST_CASE("fourier: a line with an element that is not finite has no finite result") {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    for (const Index n : {Index{1}, Index{2}, Index{7}, Index{16}, Index{30}, Index{37}, Index{5000}, Index{6561}}) {
      for (const Kind kind : kKinds) {
        const bool from_reals = rt::fourier::is_of_reals(kind), to_reals = kind == Kind::kToReal;
        const Index half = n / 2 + 1, made = kind == Kind::kReal ? half : n;
        Array<double> in(to_reals ? half : n, 1, from_reals ? 1 : 2, false), out(made, 1, to_reals ? 1 : 2, false);
        Draw draw;
        for (double& x : in.data) x = draw();
        in.at(0, in.n / 2, 0) = bad;
        const Transform<double> transform(kind, n, 1);
        transform.run(in.lines<const double>(), out.lines<double>(), 1);
        bool any = false;
        for (Index k = 0; k < made; ++k)
          any = any || (std::isfinite(out.at(0, k, 0)) && (to_reals || std::isfinite(out.at(0, k, 1))));
        CHECK_MESSAGE(!any, n);
      }
    }
  }
}

}  // namespace tdsl::tests::fourier_lines

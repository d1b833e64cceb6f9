// everyday CASE STEPS OUT ROWS COLUMNS FILES...: the cases of `bench everyday` as loops by hand, compiled with -Ofast
// -march=native. rk4: rates and the start, ROWS elements; cg: the right side, ROWS x COLUMNS. Operands are in memory.
// Prints the seconds of all steps.

#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

#include "matrix_file.h"

namespace {

using Index = std::ptrdiff_t;
using Vector = std::vector<double>;

/// y' = rate y (1 - y) + 0.1 cos(t) from 0 to 1: a step is one pass over y.
void rk4(const Vector& rate, Vector& y, int steps) {
  const double h = 1.0 / steps;
  const auto n = static_cast<Index>(y.size());
  for (int s = 0; s < steps; ++s) {
    const double t = s * h, a = 0.1 * std::cos(t), b = 0.1 * std::cos(t + h / 2), c = 0.1 * std::cos(t + h);
#pragma omp parallel for simd
    for (Index i = 0; i < n; ++i) {
      const double r = rate[static_cast<std::size_t>(i)], y0 = y[static_cast<std::size_t>(i)];
      const auto f = [r](double u, double feed) { return r * u * (1.0 - u) + feed; };
      const double k1 = f(y0, a), k2 = f(y0 + h / 2 * k1, b), k3 = f(y0 + h / 2 * k2, b), k4 = f(y0 + h * k3, c);
      y[static_cast<std::size_t>(i)] = y0 + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
    }
  }
}

/// A vector on the rectangle, with zeros around it.
struct Grid {
  Index n = 0, m = 0;
  Vector values = Vector(static_cast<std::size_t>((n + 2) * (m + 2)), 0.0);
  double* row(Index i) { return values.data() + (i + 1) * (m + 2) + 1; }
  const double* row(Index i) const { return values.data() + (i + 1) * (m + 2) + 1; }
};

/// q = A p; returns p . q.
double applied(const Grid& p, Grid& q) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (Index i = 0; i < p.n; ++i) {
    const double *above = p.row(i - 1), *here = p.row(i), *below = p.row(i + 1);
    double* out = q.row(i);
    for (Index j = 0; j < p.m; ++j) {
      out[j] = 4.0 * here[j] - above[j] - below[j] - here[j - 1] - here[j + 1];
      sum += here[j] * out[j];
    }
  }
  return sum;
}

/// x += alpha p, r -= alpha q; returns r . r.
double moved(double alpha, const Grid& p, const Grid& q, Grid& x, Grid& r) {
  double sum = 0;
#pragma omp parallel for reduction(+ : sum)
  for (Index i = 0; i < p.n; ++i) {
    const double *pi = p.row(i), *qi = q.row(i);
    double *xi = x.row(i), *ri = r.row(i);
    for (Index j = 0; j < p.m; ++j) {
      xi[j] += alpha * pi[j];
      ri[j] -= alpha * qi[j];
      sum += ri[j] * ri[j];
    }
  }
  return sum;
}

/// p = r + beta p
void turned(double beta, const Grid& r, Grid& p) {
#pragma omp parallel for
  for (Index i = 0; i < p.n; ++i) {
    const double* ri = r.row(i);
    double* pi = p.row(i);
    for (Index j = 0; j < p.m; ++j) pi[j] = ri[j] + beta * pi[j];
  }
}

void cg(const Vector& b, Grid& x, Grid& r, Grid& p, Grid& q, int steps) {
  double rr = 0;
  for (Index i = 0; i < x.n; ++i) {
    for (Index j = 0; j < x.m; ++j) {
      r.row(i)[j] = p.row(i)[j] = b[static_cast<std::size_t>(i * x.m + j)];
      rr += r.row(i)[j] * r.row(i)[j];
    }
  }
  for (int s = 0; s < steps; ++s) {
    const double next = moved(rr / applied(p, q), p, q, x, r);
    turned(next / rr, r, p);
    rr = next;
  }
}

Vector inner(const Grid& x) {
  Vector all;
  for (Index i = 0; i < x.n; ++i) all.insert(all.end(), x.row(i), x.row(i) + x.m);
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 7) peer::stop("usage: everyday CASE STEPS OUT ROWS COLUMNS FILES...");
  const std::string name = argv[1];
  const int steps = std::atoi(argv[2]);
  const Index n = std::atol(argv[4]), m = std::atol(argv[5]);
  // Operands are copied to the process's memory, so that their pages are touched.
  std::vector<Vector> in;
  for (int file = 6; file < argc; ++file) {
    std::size_t count = 0;
    const double* const data = peer::all_of<double>(argv[file], count);
    in.emplace_back(data, data + count);
  }
  Vector& result = in.back();
  Grid x{n, m}, r{n, m}, p{n, m}, q{n, m};
  if (name == "cg") static_cast<void>(applied(p, q));  // starts the threads
  const double start = peer::now();
  if (name == "cg") {
    cg(result, x, r, p, q, steps);
  } else {
    rk4(in.front(), result, steps);
  }
  const double seconds = peer::now() - start;
  peer::report(seconds, name == "cg" ? inner(x) : result, argv[3]);
}

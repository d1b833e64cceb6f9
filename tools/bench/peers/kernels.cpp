// kernels CASE REPEATS OUT ROWS COLUMNS K FILES...: the cases of `bench kernels` as hand-optimised loops, compiled with
// -Ofast -march=native, and lower bounds on the time of any program: reading the operands, copying them, or computing
// only the products. Operands are in memory. Prints the seconds per step.

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "matrix_file.h"

extern "C" void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*,
                       const int*, const double*, const int*, const double*, double*, const int*);

namespace {

using Index = std::ptrdiff_t;
using Vector = std::vector<double>;

struct Case {
  int repeats;
  Index n, d, k;
  std::vector<const double*> in;
};

constexpr Index kRows = 256;
constexpr Index kPiece =
    1 << 16;  ///< chunk size per thread: on a busy machine equal shares would wait for the slower thread

/// Sums f(first, last) over pieces of [0, count).
template <class F>
double sum_of_pieces(Index count, const F& f) {
  double sum = 0;
#pragma omp parallel for schedule(dynamic) reduction(+ : sum)
  for (Index first = 0; first < count; first += kPiece) sum += f(first, std::min(count, first + kPiece));
  return sum;
}

/// C (m x n) = A (m x k) B or A B'; blocks of rows are distributed over the threads.
void product(Index m, Index n, Index k, const double* a, const double* b, bool transposed, double* c) {
#pragma omp parallel for schedule(dynamic)
  for (Index i = 0; i < m; i += kRows) {
    const int rows = static_cast<int>(std::min(kRows, m - i)), columns = static_cast<int>(n),
              depth = static_cast<int>(k);
    const int step = transposed ? depth : columns;
    const double one = 1, zero = 0;
    dgemm_(transposed ? "T" : "N", "N", &columns, &rows, &depth, &one, b, &step, a + i * k, &depth, &zero, c + i * n,
           &columns);
  }
}

/// Only reads `count` numbers.
double read(const double* x, Index count) {
  return sum_of_pieces(count, [x](Index first, Index last) {
    double sum = 0;
    for (Index i = first; i < last; ++i) sum += x[i];
    return sum;
  });
}

Vector read_rows(const Case& c) { return {read(c.in[0], c.n * c.d)}; }
Vector read_two(const Case& c) { return {read(c.in[0], c.n) + read(c.in[1], c.n)}; }
Vector read_three(const Case& c) { return {read(c.in[0], c.n) + read(c.in[1], c.n) + read(c.in[2], c.n)}; }

Vector copy(const Case& c, Vector& to) {
#pragma omp parallel for schedule(dynamic)
  for (Index first = 0; first < c.n * c.d; first += kPiece) {
    std::copy(c.in[0] + first, c.in[0] + std::min(c.n * c.d, first + kPiece), to.begin() + first);
  }
  return {to[0]};
}

/// X' X in blocks of rows, like a Gram matrix whose weights are applied during packing.
Vector gram(const Case& c) {
  Vector total(static_cast<std::size_t>(c.d * c.d));
#pragma omp parallel
  {
    Vector mine(total.size());
    const int d = static_cast<int>(c.d);
    const double one = 1;
#pragma omp for schedule(dynamic, 16)
    for (Index i = 0; i < c.n; i += kRows) {
      const int rows = static_cast<int>(std::min(kRows, c.n - i));
      dgemm_("N", "T", &d, &d, &rows, &one, c.in[0] + i * c.d, &d, c.in[0] + i * c.d, &d, &one, mine.data(), &d);
    }
#pragma omp critical
    for (std::size_t e = 0; e < total.size(); ++e) total[e] += mine[e];
  }
  return total;
}

Vector two_products(const Case& c, Vector& scores, Vector& out) {
  product(c.n, c.n, c.d, c.in[0], c.in[1], true, scores.data());
  product(c.n, c.d, c.n, scores.data(), c.in[2], false, out.data());
  return {out[0]};
}
Vector one_product(const Case& c, Vector& scores) {
  product(c.n, c.n, c.d, c.in[0], c.in[1], true, scores.data());
  return {scores[0]};
}

Vector sum3(const Case& c) {
  double r = 0;
  for (int step = 1; step <= c.repeats; ++step) {
    r = 0.5 * r + sum_of_pieces(c.n, [&](Index first, Index last) {
          double sum = 0;
          for (Index i = first; i < last; ++i) sum += step * c.in[0][i] * c.in[1][i] * c.in[2][i];
          return sum;
        });
  }
  return {r};
}

/// sum(X Y) / sum(X X), or that times max(X), in one pass.
Vector aggregates(const Case& c, bool largest) {
  double r = 0;
  for (int step = 1; step <= c.repeats; ++step) {
    double xy = 0, xx = 0, most = -std::numeric_limits<double>::infinity();
#pragma omp parallel for schedule(dynamic) reduction(+ : xy, xx) reduction(max : most)
    for (Index first = 0; first < c.n; first += kPiece) {
      const Index last = std::min(c.n, first + kPiece);
      for (Index i = first; i < last; ++i) {
        const double x = step * c.in[0][i];
        xy += x * c.in[1][i];
        xx += x * c.in[0][i];
        if (largest) most = std::max(most, x);
      }
    }
    r = 0.5 * r + (largest ? most : 1) * xy / xx;
  }
  return {r};
}

/// X' f(i, X r), one row at a time.
template <class F>
Vector rows_twice(const Case& c, const Vector& r, const F& f) {
  Vector total(static_cast<std::size_t>(c.d));
#pragma omp parallel
  {
    Vector mine(total.size());
#pragma omp for schedule(dynamic, 1024)
    for (Index i = 0; i < c.n; ++i) {
      const double* const row = c.in[0] + i * c.d;
      double sum = 0;
      for (Index j = 0; j < c.d; ++j) sum += row[j] * r[static_cast<std::size_t>(j)];
      sum = f(i, sum);
      for (Index j = 0; j < c.d; ++j) mine[static_cast<std::size_t>(j)] += row[j] * sum;
    }
#pragma omp critical
    for (std::size_t j = 0; j < total.size(); ++j) total[j] += mine[j];
  }
  return total;
}

Vector xtwxv(const Case& c) {
  Vector r(c.in[1], c.in[1] + c.d);
  for (int step = 0; step < c.repeats; ++step) {
    r = rows_twice(c, r, [&](Index i, double x) { return c.in.size() > 2 ? c.in[2][i] * x : x; });
    for (double& x : r) x /= static_cast<double>(c.n);
  }
  return r;
}

Vector gradient_descent(const Case& c) {
  Vector r(static_cast<std::size_t>(c.d));
  for (int step = 0; step < c.repeats; ++step) {
    const Vector g = rows_twice(c, r, [&](Index i, double x) { return x - c.in[1][i]; });
    for (std::size_t j = 0; j < r.size(); ++j) r[j] -= 0.01 / static_cast<double>(c.n) * g[j];
  }
  return r;
}

Vector softmax(const Case& c) {
  Vector p(static_cast<std::size_t>(c.n * c.d));
  Vector r(static_cast<std::size_t>(c.n));
  for (int step = 0; step < c.repeats; ++step) {
    const double* const from = step == 0 ? c.in[0] : p.data();
#pragma omp parallel for schedule(dynamic, 256)
    for (Index i = 0; i < c.n; ++i) {
      const double* const x = from + i * c.d;
      double* const y = p.data() + i * c.d;
      double largest = x[0], sum = 0;
      for (Index j = 1; j < c.d; ++j) largest = std::max(largest, x[j]);
      for (Index j = 0; j < c.d; ++j) y[j] = std::exp(x[j] - largest);
      for (Index j = 0; j < c.d; ++j) sum += y[j];
      for (Index j = 0; j < c.d; ++j) y[j] /= sum;
    }
  }
  for (Index i = 0; i < c.n; ++i) {
    for (Index j = 0; j < c.d; ++j)
      r[static_cast<std::size_t>(i)] += p[static_cast<std::size_t>(i * c.d + j)] * static_cast<double>(j + 1);
  }
  return r;
}

Vector kmeans(const Case& c) {
  Vector r(c.in[1], c.in[1] + c.k * c.d);
  for (int step = 0; step < c.repeats; ++step) {
    Vector columns(r.size()), sums(r.size());
    std::vector<Index> members(static_cast<std::size_t>(c.k));
    for (Index m = 0; m < c.k; ++m) {
      for (Index j = 0; j < c.d; ++j)
        columns[static_cast<std::size_t>(j * c.k + m)] = r[static_cast<std::size_t>(m * c.d + j)];
    }
#pragma omp parallel
    {
      Vector mine(r.size()), square(static_cast<std::size_t>(c.k));
      std::vector<Index> count(members.size());
#pragma omp for schedule(dynamic, 1024)
      for (Index i = 0; i < c.n; ++i) {
        const double* const row = c.in[0] + i * c.d;
        std::fill(square.begin(), square.end(), 0.0);
        for (Index j = 0; j < c.d; ++j) {
          const double* const column = columns.data() + j * c.k;
          for (Index m = 0; m < c.k; ++m)
            square[static_cast<std::size_t>(m)] += (row[j] - column[m]) * (row[j] - column[m]);
        }
        const auto best = static_cast<std::size_t>(std::min_element(square.begin(), square.end()) - square.begin());
        ++count[best];
        for (Index j = 0; j < c.d; ++j)
          mine[best * static_cast<std::size_t>(c.d) + static_cast<std::size_t>(j)] += row[j];
      }
#pragma omp critical
      {
        for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += mine[e];
        for (std::size_t m = 0; m < members.size(); ++m) members[m] += count[m];
      }
    }
    for (std::size_t e = 0; e < r.size(); ++e) {
      const Index count = members[e / static_cast<std::size_t>(c.d)];
      if (count > 0) r[e] = sums[e] / static_cast<double>(count);
    }
  }
  return r;
}

/// C(i, j) = combine over k of f(a(i, k), b(k, j)): four rows at a time in cache-sized tiles, unit stride in b.
template <class F>
void tiles(Index m, Index n, Index depth, const double* a, const double* b, double start, double* c, const F& combine) {
  constexpr Index kDepth = 128, kColumns = 512;
#pragma omp parallel for schedule(dynamic)
  for (Index i0 = 0; i0 < m; i0 += 64) {
    const Index i1 = std::min(m, i0 + 64);
    std::fill(c + i0 * n, c + i1 * n, start);
    for (Index j0 = 0; j0 < n; j0 += kColumns) {
      const Index columns = std::min(kColumns, n - j0);
      for (Index l0 = 0; l0 < depth; l0 += kDepth) {
        for (Index i = i0; i < i1; i += 4) {
          const Index last = i1 - 1;
          const Index rows[4] = {i, std::min(i + 1, last), std::min(i + 2, last), std::min(i + 3, last)};
          if (i + 4 <= i1) {
            double* const c0 = c + rows[0] * n + j0;
            double* const c1 = c + rows[1] * n + j0;
            double* const c2 = c + rows[2] * n + j0;
            double* const c3 = c + rows[3] * n + j0;
            for (Index l = l0; l < std::min(depth, l0 + kDepth); ++l) {
              const double a0 = a[rows[0] * depth + l], a1 = a[rows[1] * depth + l], a2 = a[rows[2] * depth + l],
                           a3 = a[rows[3] * depth + l];
              const double* const row = b + l * n + j0;
#pragma omp simd
              for (Index j = 0; j < columns; ++j) {
                c0[j] = combine(c0[j], a0, row[j]);
                c1[j] = combine(c1[j], a1, row[j]);
                c2[j] = combine(c2[j], a2, row[j]);
                c3[j] = combine(c3[j], a3, row[j]);
              }
            }
          } else {
            for (Index r = i; r < i1; ++r) {
              for (Index l = l0; l < std::min(depth, l0 + kDepth); ++l) {
                for (Index j = 0; j < columns; ++j)
                  c[r * n + j0 + j] = combine(c[r * n + j0 + j], a[r * depth + l], b[l * n + j0 + j]);
              }
            }
          }
        }
      }
    }
  }
}

Vector distances(const Case& c) {
  Vector r(static_cast<std::size_t>(c.n)), z(static_cast<std::size_t>(c.n * c.d)),
      d(static_cast<std::size_t>(c.n * c.n));
  for (int step = 1; step <= c.repeats; ++step) {
    for (Index j = 0; j < c.n; ++j) {
      for (Index l = 0; l < c.d; ++l) z[static_cast<std::size_t>(l * c.n + j)] = c.in[1][j * c.d + l] * step;
    }
    tiles(c.n, c.n, c.d, c.in[0], z.data(), 0.0, d.data(),
          [](double t, double x, double y) { return t + (x - y) * (x - y); });
#pragma omp parallel for schedule(dynamic, 256)
    for (Index i = 0; i < c.n; ++i) {
      const double* const row = d.data() + i * c.n;
      double least = row[0];
      for (Index j = 1; j < c.n; ++j) least = std::min(least, row[j]);
      r[static_cast<std::size_t>(i)] = 0.5 * r[static_cast<std::size_t>(i)] + least;
    }
  }
  return r;
}

Vector min_plus(const Case& c) {
  Vector from(c.in[0], c.in[0] + c.n * c.n), to(from.size()), r(static_cast<std::size_t>(c.n));
  for (int step = 0; step < c.repeats; ++step) {
    tiles(c.n, c.n, c.n, from.data(), c.in[1], 1e300, to.data(),
          [](double t, double x, double y) { return std::min(t, x + y); });
    from.swap(to);
  }
  for (Index i = 0; i < c.n * c.n; ++i)
    r[static_cast<std::size_t>(i / c.n)] += from[static_cast<std::size_t>(i)] * from[static_cast<std::size_t>(i)];
  return r;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 8) peer::stop("usage: kernels CASE REPEATS OUT ROWS COLUMNS K FILES...");
  const auto number = [&](int at) { return static_cast<Index>(std::strtol(argv[at], nullptr, 10)); };
  Case c{static_cast<int>(number(2)), number(4), number(5), number(6), {}};
  // An operand's size follows from its file. Operands are copied to the process's memory, so that their pages are
  // touched.
  std::vector<Vector> memory;
  for (int file = 7; file < argc; ++file) {
    std::size_t count = 0;
    const double* const data = peer::all_of<double>(argv[file], count);
    memory.emplace_back(data, data + count);
  }
  for (const Vector& operand : memory) c.in.push_back(operand.data());
  const std::string name = argv[1];
  if (!memory.empty())
    static_cast<void>(read(memory.front().data(), static_cast<Index>(memory.front().size())));  // starts the threads
  Vector scores, out;
  if (name == "one_product" || name == "two_products")
    scores.assign(static_cast<std::size_t>(c.n * c.n), 1.0), out.assign(static_cast<std::size_t>(c.n * c.d), 1.0);
  if (name == "copy") out.assign(static_cast<std::size_t>(c.n * c.d), 1.0);
  const std::map<std::string, std::function<Vector()>> by_hand{
      {"aggregates2", [&] { return aggregates(c, false); }},
      {"aggregates3", [&] { return aggregates(c, true); }},
      {"sum3", [&] { return sum3(c); }},
      {"xtxv", [&] { return xtwxv(c); }},
      {"xtwxv", [&] { return xtwxv(c); }},
      {"gradient_descent", [&] { return gradient_descent(c); }},
      {"softmax", [&] { return softmax(c); }},
      {"kmeans", [&] { return kmeans(c); }},
      {"distances", [&] { return distances(c); }},
      {"min_plus", [&] { return min_plus(c); }}};
  const std::map<std::string, std::function<Vector()>> bounds{
      {"read_rows", [&] { return read_rows(c); }},
      {"read_two", [&] { return read_two(c); }},
      {"read_three", [&] { return read_three(c); }},
      {"copy", [&] { return copy(c, out); }},
      {"gram", [&] { return gram(c); }},
      {"one_product", [&] { return one_product(c, scores); }},
      {"two_products", [&] { return two_products(c, scores, out); }}};
  Vector result;
  double seconds = 0;
  if (const auto hand = by_hand.find(name); hand != by_hand.end()) {
    const double start = peer::now();
    result = hand->second();
    seconds = (peer::now() - start) / c.repeats;
  } else if (const auto bound = bounds.find(name); bound != bounds.end()) {
    result = bound->second();
    const double start = peer::now();
    for (int step = 0; step < c.repeats; ++step) result = bound->second();
    seconds = (peer::now() - start) / c.repeats;
  } else {
    peer::stop("no case " + name);
  }
  peer::report(seconds, result, argv[3]);
}

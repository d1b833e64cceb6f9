// sparse_papers CASE REPEATS OUT K FILES...: the papers' sparse programs as hand-optimised loops over CSR on all cores.
// Matrices are `.raw` files of rows, columns, entries, pointers, columns (64 bits each) and values; dense operands are
// .npy with K columns. Prints the wall and CPU seconds of all steps after a warm-up; the answer is the digest of
// digest.py.

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>

#include "matrix_file.h"

namespace {

using Index = std::ptrdiff_t;
using Vector = std::vector<double>;

constexpr Index kRows = 64;  ///< rows per chunk of a thread

struct Matrix {
  Index rows = 0, columns = 0;
  std::vector<Index> at;
  std::vector<std::int32_t> column;
  Vector value;
};

Matrix read_matrix(const char* path) {
  std::FILE* const file = std::fopen(path, "rb");
  std::uint64_t size[3];
  if (file == nullptr || std::fread(size, 8, 3, file) != 3) peer::stop(std::string("cannot read ") + path);
  Matrix m{
      static_cast<Index>(size[0]), static_cast<Index>(size[1]), std::vector<Index>(size[0] + 1), {}, Vector(size[2])};
  std::vector<Index> columns(size[2]);
  if (std::fread(m.at.data(), 8, m.at.size(), file) != m.at.size() ||
      std::fread(columns.data(), 8, size[2], file) != size[2] ||
      std::fread(m.value.data(), 8, size[2], file) != size[2]) {
    peer::stop(std::string("cannot read ") + path);
  }
  std::fclose(file);
  m.column.assign(columns.begin(), columns.end());
  return m;
}

struct Case {
  int repeats = 0;
  Index k = 1;
  std::vector<Matrix> sparse;
  std::vector<const double*> dense;
};

double dot(const double* a, const double* b, Index k) {
  double sum = 0;
  for (Index l = 0; l < k; ++l) sum += a[l] * b[l];
  return sum;
}

/// Intersects row i of x with y: f(value of x, value of y, column).
template <class F>
void both(const Matrix& x, const Matrix& y, Index i, const F& f) {
  Index a = x.at[i], b = y.at[i];
  while (a < x.at[i + 1] && b < y.at[i + 1]) {
    const std::int32_t at = x.column[a], other = y.column[b];
    if (at == other) f(x.value[a], y.value[b], at);
    a += at <= other;
    b += other <= at;
  }
}

Vector cell(const Case& c) {
  const Matrix &x = c.sparse[0], &y = c.sparse[1], &z = c.sparse[2];
  double r = 0;
  for (int step = 0; step < c.repeats; ++step) {
    double sum = 0;
#pragma omp parallel for schedule(dynamic, kRows) reduction(+ : sum)
    for (Index i = 0; i < x.rows; ++i) {
      Index e = z.at[i];
      both(x, y, i, [&](double a, double b, std::int32_t at) {
        while (e < z.at[i + 1] && z.column[e] < at) ++e;
        if (e < z.at[i + 1] && z.column[e] == at) sum += a * b * z.value[e];
      });
    }
    r = 0.5 * r + (step + 1) * sum;
  }
  return {r};
}

Vector multi_aggregate(const Case& c) {
  const Matrix &x = c.sparse[0], &y = c.sparse[1], &z = c.sparse[2];
  double r = 0, t = 0;
  for (int step = 0; step < c.repeats; ++step) {
    double with_y = 0, with_z = 0;
#pragma omp parallel for schedule(dynamic, kRows) reduction(+ : with_y, with_z)
    for (Index i = 0; i < x.rows; ++i) {
      both(x, y, i, [&](double a, double b, std::int32_t) { with_y += a * b; });
      both(x, z, i, [&](double a, double b, std::int32_t) { with_z += a * b; });
    }
    r = 0.5 * r + (step + 1) * with_y;
    t = 0.5 * t + (step + 1) * with_z;
  }
  return {r, t};
}

/// to += the sum of all threads' private vectors, which `f` fills.
template <class F>
void add_from_threads(Vector& to, const F& f) {
#pragma omp parallel
  {
    Vector mine(to.size());
    f(mine);
#pragma omp critical
    for (std::size_t j = 0; j < to.size(); ++j) to[j] += mine[j];
  }
}

Vector row(const Case& c) {
  const Matrix& x = c.sparse[0];
  Vector r(c.dense[0], c.dense[0] + x.columns);
  for (int step = 0; step < c.repeats; ++step) {
    Vector next(r.size());
    add_from_threads(next, [&](Vector& mine) {
#pragma omp for schedule(dynamic, kRows) nowait
      for (Index i = 0; i < x.rows; ++i) {
        double sum = 0;
        for (Index e = x.at[i]; e < x.at[i + 1]; ++e) sum += x.value[e] * r[x.column[e]];
        for (Index e = x.at[i]; e < x.at[i + 1]; ++e) mine[x.column[e]] += x.value[e] * sum;
      }
    });
    for (std::size_t j = 0; j < r.size(); ++j) r[j] = next[j] / static_cast<double>(x.rows);
  }
  return r;
}

Vector outer(const Case& c) {
  const Matrix& x = c.sparse[0];
  double r = 0;
  for (int step = 0; step < c.repeats; ++step) {
    double sum = 0;
#pragma omp parallel for schedule(dynamic, kRows) reduction(+ : sum)
    for (Index i = 0; i < x.rows; ++i) {
      for (Index e = x.at[i]; e < x.at[i + 1]; ++e) {
        sum +=
            x.value[e] * std::log((step + 1) * dot(c.dense[0] + i * c.k, c.dense[1] + x.column[e] * c.k, c.k) + 1e-15);
      }
    }
    r = 0.5 * r + sum;
  }
  return {r};
}

Vector als(const Case& c) {
  const Matrix& w = c.sparse[0];
  Vector r(c.dense[0], c.dense[0] + w.rows * c.k);
  for (int step = 0; step < c.repeats; ++step) {
    Vector next(r.size());
#pragma omp parallel for schedule(dynamic, kRows)
    for (Index i = 0; i < w.rows; ++i) {
      for (Index e = w.at[i]; e < w.at[i + 1]; ++e) {
        const double* const v = c.dense[1] + w.column[e] * c.k;
        const double weight = w.value[e] * dot(&r[i * c.k], v, c.k);
        for (Index l = 0; l < c.k; ++l) next[i * c.k + l] += weight * v[l];
      }
    }
    for (std::size_t j = 0; j < r.size(); ++j) r[j] = next[j] / static_cast<double>(w.columns);
  }
  return r;
}

Vector pagerank(const Case& c) {
  const Matrix& x = c.sparse[0];
  const double n = static_cast<double>(x.rows);
  Vector r(c.dense[0], c.dense[0] + x.rows);
  for (int step = 0; step < c.repeats; ++step) {
    Vector next(r.size());
    add_from_threads(next, [&](Vector& mine) {
#pragma omp for schedule(dynamic, 16 * kRows) nowait
      for (Index i = 0; i < x.rows; ++i) {
        const double share = r[i] / static_cast<double>(std::max<Index>(x.at[i + 1] - x.at[i], 1));
        for (Index e = x.at[i]; e < x.at[i + 1]; ++e) mine[x.column[e]] += share;
      }
    });
    for (std::size_t j = 0; j < r.size(); ++j) r[j] = 0.15 / n + 0.85 * next[j];
  }
  return r;
}

struct Named {
  const char* name;
  Vector (*compute)(const Case&);
};
constexpr Named kCases[] = {{"cell", cell}, {"multi_aggregate", multi_aggregate},
                            {"row", row},   {"outer", outer},
                            {"als", als},   {"pagerank", pagerank}};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) return 2;
  Case c;
  c.k = std::atol(argv[4]);
  for (int k = 5; k < argc; ++k) {
    const std::string name = argv[k];
    if (name.size() > 4 && name.substr(name.size() - 4) == ".raw") {
      c.sparse.push_back(read_matrix(argv[k]));
    } else {
      std::size_t count = 0;
      c.dense.push_back(peer::all_of<double>(argv[k], count));
    }
  }
  for (const auto& [name, compute] : kCases) {
    if (argv[1] != std::string(name)) continue;
    c.repeats = 1;
    compute(c);
    c.repeats = std::atoi(argv[2]);
    const double start = peer::now();
    const std::clock_t used = std::clock();
    Vector r = compute(c);
    const double seconds = peer::now() - start;
    const double cpu = static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC;
    // The digest (digest.py) of vectors, scalars, and the matrix with c.k columns of als.
    const Index columns = std::string(name) == "als" ? c.k : 1;
    Vector digest(r.size() / static_cast<std::size_t>(columns));
    for (Index i = 0; i < static_cast<Index>(r.size()); ++i)
      digest[i / columns] += r[i] * (2 + std::cos(static_cast<double>(i % columns)));
    std::FILE* const answer = std::fopen(argv[3], "wb");
    if (answer == nullptr || std::fwrite(digest.data(), sizeof(double), digest.size(), answer) != digest.size())
      peer::stop(std::string("cannot write ") + argv[3]);
    std::fclose(answer);
    std::printf("{\"seconds\": %.9f, \"cpu\": %.9f}\n", seconds, cpu);
    return 0;
  }
  peer::stop(std::string("no case ") + argv[1]);
}

// min_plus N K M A.npy B.npy w.npy r.bin: C[i,j] = min over l of A[i,l] + B[l,j], hand-optimised: cache-sized tiles,
// four rows of C at a time, a unit-stride inner loop vectorised by the compiler, OpenMP over tiles of rows. Compiled
// with -O3 -march=native.

#include <algorithm>
#include <limits>

#include "matrix_file.h"

namespace {

/// Ignores nan, as such loops usually do.
inline double smaller(double a, double b) { return b < a ? b : a; }

constexpr std::size_t kRows = 4;
constexpr std::size_t kTileK = 128;
constexpr std::size_t kTileM = 512;

void tile(std::size_t rows, std::size_t k_lo, std::size_t k_hi, std::size_t columns, const double* a,
          std::size_t a_step, const double* b, std::size_t b_step, double* c, std::size_t c_step) {
  if (rows == kRows) {
    double* __restrict c0 = c;
    double* __restrict c1 = c + c_step;
    double* __restrict c2 = c + 2 * c_step;
    double* __restrict c3 = c + 3 * c_step;
    for (std::size_t l = k_lo; l < k_hi; ++l) {
      const double a0 = a[l], a1 = a[a_step + l], a2 = a[2 * a_step + l], a3 = a[3 * a_step + l];
      const double* __restrict row = b + l * b_step;
#pragma omp simd
      for (std::size_t j = 0; j < columns; ++j) {
        c0[j] = smaller(c0[j], a0 + row[j]);
        c1[j] = smaller(c1[j], a1 + row[j]);
        c2[j] = smaller(c2[j], a2 + row[j]);
        c3[j] = smaller(c3[j], a3 + row[j]);
      }
    }
    return;
  }
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t l = k_lo; l < k_hi; ++l) {
      const double x = a[i * a_step + l];
      const double* __restrict row = b + l * b_step;
      double* __restrict target = c + i * c_step;
#pragma omp simd
      for (std::size_t j = 0; j < columns; ++j) target[j] = smaller(target[j], x + row[j]);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 8) peer::stop("usage: min_plus N K M A.npy B.npy w.npy r.bin");
  const std::size_t n = std::strtoul(argv[1], nullptr, 10), k = std::strtoul(argv[2], nullptr, 10),
                    m = std::strtoul(argv[3], nullptr, 10);
  const peer::MatrixFile<double> a_file(argv[4], n * k), b_file(argv[5], k * m), w(argv[6], m);
  const std::vector<double> a(a_file.data(), a_file.data() + n * k), b(b_file.data(), b_file.data() + k * m);
  std::vector<double> c(n * m, std::numeric_limits<double>::infinity());
  const double start = peer::now();
#pragma omp parallel for schedule(dynamic)
  for (std::size_t i0 = 0; i0 < n; i0 += 64) {
    const std::size_t i1 = std::min(n, i0 + 64);
    for (std::size_t j = 0; j < m; j += kTileM) {
      for (std::size_t l = 0; l < k; l += kTileK) {
        for (std::size_t i = i0; i < i1; i += kRows) {
          tile(std::min(kRows, i1 - i), l, std::min(k, l + kTileK), std::min(kTileM, m - j), a.data() + i * k, k,
               b.data() + j, m, c.data() + i * m + j, m);
        }
      }
    }
  }
  const double seconds = peer::now() - start;
  peer::report(seconds, peer::squares_times(c.data(), w.data(), n, m), argv[7]);
}

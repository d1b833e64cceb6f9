// gemm TYPE N K M A.npy B.npy w.npy r.bin [new]: C = A B with the BLAS it is linked with; prints the seconds of the
// product. Operands are in memory and the library is warmed up. The result's pages are touched too, which is the peer's
// best case, unless `new` requests fresh memory, as for any first result.

#include <algorithm>
#include <memory>

#include "matrix_file.h"

extern "C" {
void dgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
            const double*, const int*, const double*, double*, const int*);
void sgemm_(const char*, const char*, const int*, const int*, const int*, const float*, const float*, const int*,
            const float*, const int*, const float*, float*, const int*);
}

namespace {

void gemm(int n, int k, int m, const double* a, const double* b, double* c) {
  const double one = 1, zero = 0;
  dgemm_("N", "N", &m, &n, &k, &one, b, &m, a, &k, &zero, c, &m);  // column-major: C' = B' A'
}
void gemm(int n, int k, int m, const float* a, const float* b, float* c) {
  const float one = 1, zero = 0;
  sgemm_("N", "N", &m, &n, &k, &one, b, &m, a, &k, &zero, c, &m);
}

template <class T>
void run(char** argv) {
  const std::size_t n = std::strtoul(argv[2], nullptr, 10), k = std::strtoul(argv[3], nullptr, 10),
                    m = std::strtoul(argv[4], nullptr, 10);
  const peer::MatrixFile<T> a_file(argv[5], n * k), b_file(argv[6], k * m), w(argv[7], m);
  const std::vector<T> a(a_file.data(), a_file.data() + n * k), b(b_file.data(), b_file.data() + k * m);
  const auto c = std::make_unique_for_overwrite<T[]>(n * m);
  if (argv[9] == nullptr) std::fill_n(c.get(), n * m, T{1});
  {
    std::vector<T> x(512 * 512, T{1}), y(512 * 512);
    gemm(512, 512, 512, x.data(), x.data(), y.data());
  }
  const double start = peer::now();
  gemm(static_cast<int>(n), static_cast<int>(k), static_cast<int>(m), a.data(), b.data(), c.get());
  const double seconds = peer::now() - start;
  peer::report(seconds, peer::squares_times(c.get(), w.data(), n, m), argv[8]);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 9 && (argc != 10 || std::string(argv[9]) != "new"))
    peer::stop("usage: gemm f64|f32 N K M A.npy B.npy w.npy r.bin [new]");
  if (std::string(argv[1]) == "f32") {
    run<float>(argv);
  } else {
    run<double>(argv);
  }
}

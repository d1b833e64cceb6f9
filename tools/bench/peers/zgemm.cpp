// zgemm N STEPS A.npy B.npy r.bin: B = A B, STEPS times, of complex matrices, with the BLAS it is linked with; prints
// the seconds of the products. Operands and results are in memory that has been touched, and the library is warmed up.

#include <algorithm>
#include <complex>
#include <string>
#include <vector>

#include "matrix_file.h"

using Element = std::complex<double>;

extern "C" void zgemm_(const char*, const char*, const int*, const int*, const int*, const Element*, const Element*,
                       const int*, const Element*, const int*, const Element*, Element*, const int*);

namespace {

void product(int n, const Element* a, const Element* b, Element* c) {
  const Element one = 1, zero = 0;
  zgemm_("N", "N", &n, &n, &n, &one, b, &n, a, &n, &zero, c, &n);  // column-major: C' = B' A'
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) peer::stop("usage: zgemm N STEPS A.npy B.npy r.bin");
  const int n = std::stoi(argv[1]), steps = std::stoi(argv[2]);
  const auto count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  const peer::MatrixFile<Element> a_file(argv[3], count), b_file(argv[4], count);
  const std::vector<Element> a(a_file.data(), a_file.data() + count);
  std::vector<Element> b(b_file.data(), b_file.data() + count), c(count, Element(1));
  {
    std::vector<Element> x(512 * 512, Element(1)), y(512 * 512);
    product(512, x.data(), x.data(), y.data());
  }
  const double start = peer::now();
  for (int t = 0; t < steps; ++t) {
    product(n, a.data(), b.data(), c.data());
    std::swap(b, c);
  }
  peer::report(peer::now() - start, b, argv[5]);
}

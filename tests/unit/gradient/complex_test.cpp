#include <string>

#include "tests/unit/gradient/check.h"

// Real losses of complex numbers with real parts as variables: all rules for complex operators, by differences.

namespace {

void check_complex(const std::string& expression) {
  tdsl::tests::GradientCheck(
      "input x: f64[n]; input y: f64[n]; input p: f64[n];\nlet z = c128(x, y); let w = c128(p, x * p);\nlet loss = " +
      expression + ";\nlet (gx, gy, gp) = grad(loss, x, y, p);\noutput d_x = gx; output d_y = gy; output d_p = gp;" +
      "output loss;\n")
      .run();
}

}  // namespace

TEST_CASE("grad: complex operators") {
  for (const std::string e : {"sum(abs(z) * p)",
                              "sum(real(z * w) + imag(z / (w + 3.0)))",
                              "sum(arg(z + 4.0) * p)",
                              "sum(real(conj(z) * w * w))",
                              "sum(abs(z ** 3) + real(z ** -2))",
                              "sum(real((z + 3.0) ** w))",
                              "sum(imag(sign(z) * w))",
                              "abs(prod(z + w)) ** 2",
                              "abs(sum(z * w)) ** 2",
                              "norm(z - w)",
                              "variance(z * w)",
                              "sum(real(z' * w - z * w'))",
                              "real(z' @ w)",
                              "abs(sum(cumsum(z) * w))",
                              "abs(sum(solve(outer(z, w) + diag(4.0 + w), z)))",
                              "abs(det(outer(z, w) + diag(4.0 + w)))",
                              "abs(sum(inv(outer(z, w) + diag(4.0 + w)) * z))",
                              "abs(sum(cumprod(z + 2.0) * w))",
                              "sum(abs(fft(z)) ** 2 * p)",
                              "sum(real(ifft(z * w, norm=ortho) * z))",
                              "sum(abs(rfft(x * y)) ** 3)",
                              "sum(irfft(z * w, n=2 * n - 1) ** 3)",
                              "sum(irfft(z + w) ** 3)",
                              "sum(real(fft(z, n=n + 2) ** 2))",
                              "sum(where(x > y, real(z * z), imag(w * z)))",
                              "sum(real(p * z) * imag(z - p))"})
    check_complex(e);
}

TEST_CASE("grad: complex functions") {
  for (const std::string f : {"exp", "expm1", "log", "log1p", "log2", "log10", "sqrt", "sin", "cos", "tan", "sinh",
                              "cosh", "tanh", "asin", "acos", "atan", "asinh", "acosh", "atanh"})
    check_complex("sum(real(" + f + "(0.2 * z + 0.1 + 0.3i) * w))");
}

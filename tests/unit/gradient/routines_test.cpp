#include <string>

#include "tests/unit/gradient/check.h"

// Derivatives through factorisations, for single results and all together, for tall, wide and square matrices.

namespace {

/// `statements` declare `loss`, from A (4 x 3), W (3 x 4), S (4 x 4), x (4), y (3), B (4 x 2), C (3 x 2).
void check(const std::string& statements) {
  tdsl::tests::GradientCheck(
      "input A: f64[n, m]; input W: f64[m, n]; input S: f64[n, n]; input x: f64[n]; input y: f64[m];"
      "input B: f64[n, k]; input C: f64[m, k];\n" +
      statements +
      "\nlet (gA, gW, gS, gx, gy, gB, gC) = grad(loss, A, W, S, x, y, B, C);\n"
      "output d_A = gA; output d_W = gW; output d_S = gS; output d_x = gx; output d_y = gy; output d_B = gB; output "
      "d_C = gC;"
      "output loss;\n")
      .run();
}

}  // namespace

TEST_CASE("grad: qr") {
  for (const std::string loss :
       {"sum(Q * (W' + 0.3))", "sum(R * R * (y + 2.0))", "sum(Q ** 3) + sum(sin(R) * (W @ A))"}) {
    check("let (Q, R) = qr(A); let loss = " + loss + ";");
  }
  check("let (Q, R) = qr(S + 2.0 * eye(n)); let loss = sum(Q * S) + sum(R * (x + 1.0)) + sum(tril(R, -1) * S);");
}

TEST_CASE("grad: eigh") {
  for (const std::string loss :
       {"sum(w * x)", "sum(V ** 3 * (x + 2.0))", "sum(w ** 2 * V[0, :]) + sum(V * A[:, 0:1])"}) {
    check("let (w, V) = eigh(S + diag(1.5 * f64(iota(n)))); let loss = " + loss + ";");
  }
  // The sum of equal eigenvalues is differentiable.
  check("let (w, _V) = eigh(S * 0.0 + eye(n)); let loss = sum(w * w) + sum(x);");
}

TEST_CASE("grad: svd") {
  for (const std::string loss : {"sum(s * y)", "sum(U ** 3 * (y + 2.0))", "sum(Vt ** 3 * (C[:, 0] + 2.0))",
                                 "sum(sin(U) * W') + sum(s ** 2 * y) + sum(exp(Vt) * (W @ A))"}) {
    check("let (U, s, Vt) = svd(A); let loss = " + loss + ";");
    check("let (U, s, Vt) = svd(A + 0.5 * W'); let loss = " + loss + ";");
  }
  check("let (U, s, Vt) = svd(W); let loss = sum(sin(U) * C[:, 0]) + sum(s ** 2 * y) + sum(exp(Vt) * A');");
  check("let (U, s, Vt) = svd(S); let loss = sum(sin(U) * x) + sum(s ** 2 * x) + sum(exp(Vt) * S);");
}

TEST_CASE("grad: lstsq") {
  check("let loss = sum(lstsq(A, x) ** 2 * y);");
  check("let loss = sum(lstsq(A, B) ** 2 * C);");
  check("let loss = sum(lstsq(W, y) ** 2 * x);");
  check("let loss = sum(lstsq(W, C) ** 2 * B);");
  check("let loss = sum(lstsq(S, B) * B);");
  // Rank 2 near every A: the rank is locally constant.
  check("let D = concat(A[:, 0:2], A[:, 0:1], axis=1); let loss = sum(lstsq(D, x) ** 2 * y);");
}

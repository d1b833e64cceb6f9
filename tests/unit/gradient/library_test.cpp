#include <string>

#include "tests/unit/gradient/check.h"

// The library's differentiable functions.

namespace {

void check(const std::string& imported, const std::string& expression) {
  tdsl::tests::GradientCheck(
      "import std." + imported +
      ";\ninput x: f64[n]; input y: f64[n]; input A: f64[n, m]; input B: f64[m, k]; input p: f64[n]; input c: i64[n];"
      "input b: f64[k]; input r: f64[m];\nlet loss = " +
      expression +
      ";\nlet (gx, gy, gA, gB, gp, gb, gr) = grad(loss, x, y, A, B, p, b, r);\n"
      "output d_x = gx; output d_y = gy; output d_A = gA; output d_B = gB; output d_p = gp; output d_b = gb;"
      "output d_r = gr; output loss;\n")
      .run();
}

}  // namespace

TEST_CASE("grad: std.nn") {
  for (const std::string e :
       {"sum(leaky_relu(x, 0.1) * y)", "sum(elu(x, 0.5) * y)", "sum(softplus(x) * silu(y))", "sum(gelu(x) * y)",
        "sum(log_sum_exp(A) * x)", "sum(softmax(A) * A)", "sum(log_softmax(A) ** 2)", "sum(linear_layer(A, B, b) ** 3)",
        "sum(relu_layer(A, B, b))", "sum(layer_norm(A, r, r, 0.1) ** 3)",
        "sum(scaled_attention(A, A * 2.0, A * A) ** 2)", "cross_entropy(softmax(A), softmax(A * 2.0))",
        "cross_entropy_of_labels(A, c)", "binary_cross_entropy(x, y)", "squared_error(A, A * A)",
        "absolute_error(A, A ** 3)", "huber_error(A, A ** 3, 0.3)", "hinge(x, y)"})
    check("nn", e);
}

TEST_CASE("grad: std.linalg and std.stats") {
  for (const std::string e :
       {"dot(x, y) * p_norm(p, 3.0)", "one_norm(A) * infinity_norm(A)", "sum(normalised(x) * y)",
        "sum(projection(x, y) ** 2)", "sum(kronecker(A, B) ** 2)", "sum(distances(A, A * A + 1.0))",
        "quadratic_form(outer(x, y), p)", "sum(symmetric_part(outer(x, y)) ** 2)", "sum(reflection(x) ** 3)",
        "sum(vandermonde(x, 4) ** 2)", "sum(matrix_power(outer(x, y), 3))"})
    check("linalg", e);
  for (const std::string e : {"variance(x) * sample_deviation(y)", "skewness(x) * kurtosis(y)", "weighted_mean(x, p)",
                              "sum(centred(A) ** 3)", "sum(standardised(A) ** 3)", "sum(covariance(A) ** 2)",
                              "sum(correlation(A) ** 2)", "pearson(x, y)", "median(x) * sum(y)"})
    check("stats", e);
}

TEST_CASE("grad: std.signal") {
  for (const std::string e : {"sum(correlate_valid(x, r) ** 2)", "sum(convolve_valid(x, r) ** 2)",
                              "sum(convolve(x, r) ** 2)", "sum(correlate2d_valid(A, B[0:2, :]) ** 2)",
                              "sum(convolve2d_valid(A, B[0:2, :]) ** 2)", "sum(moving_average(x, 2) ** 2)",
                              "sum(autocorrelation(x, 3) ** 2)", "sum(dct2d(A) ** 3)", "sum(power_spectrum(x) ** 2)"})
    check("signal", e);
}

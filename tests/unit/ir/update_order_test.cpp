#include "ir/analysis/update_order.h"

#include <doctest/doctest.h>

#include "ir/text/print.h"
#include "ir/verify/verify.h"

using namespace tdsl;
using namespace tdsl::ir;

namespace {

constexpr const char* kUpdateHead = R"(program "t"
%0:i64 "n" = dimension "n"
%1:f64[%0, %0] "A" = input "A"
%2:f64[%0] "y" = input "y"
%3:i64[%0] "p" = input "p"
%4:i64 = compute [] (3)
)";

/// For `compute …` that updates A or y.
UpdateOrder order_of(const std::string& type, const std::string& update) {
  const Program p = parse(kUpdateHead + ("%5:" + type + " = " + update + "\n"));
  REQUIRE(verify(p).empty());
  return update_order(std::get<Compute>(p.body.nodes.back().op));
}
UpdateOrder of_matrix(const std::string& update) { return order_of("f64[%0, %0]", update); }
UpdateOrder of_vector(const std::string& update) { return order_of("f64[%0]", update); }

}  // namespace

TEST_CASE("update order: a point may read elements that only it writes") {
  CHECK(of_matrix("compute [j in 0..%0] (mul(2.0, %1[%4, j])) left [%4, j] base %1") == UpdateOrder::kInPlace);
  CHECK(of_vector("compute [j in 1..%0] (mul(2.0, %2[sub(j, 1)])) left [sub(j, 1)] base %2") == UpdateOrder::kInPlace);
  CHECK(of_vector("compute [i in 0..%0, j in 0..%0] (mul(%2[i], %1[i, j])) left [i] base %2 combine sum") ==
        UpdateOrder::kStaged);
}

TEST_CASE("update order: a point may read elements that no point writes") {
  CHECK(of_matrix("compute [j in 0..%0] (%1[sub(%4, 1), j]) left [%4, j] base %1") == UpdateOrder::kInPlace);
  CHECK(of_matrix("compute [i in 4..%0, j in 0..%0] (%1[3, j]) left [i, j] base %1") == UpdateOrder::kInPlace);
  CHECK(of_matrix("compute [i in %4 + 1..%0] sum[k in 0..%4] (mul(%1[i, k], %1[%4, k])) left [i, %4] base %1") ==
        UpdateOrder::kInPlace);
  CHECK(of_vector("compute [i in 0..%4] (%2[add(i, %4)]) left [i] base %2") == UpdateOrder::kInPlace);
  CHECK(of_vector("compute [i in 0..%4] (%2[add(i, 1)]) left [i] base %2") == UpdateOrder::kStaged);
}

TEST_CASE("update order: what another point writes is read before") {
  CHECK(of_matrix("compute [j in 0..%0] (%1[2, j]) left [%4, j] base %1") == UpdateOrder::kStaged);
  CHECK(of_vector("compute [i in 0..%0] (%2[sub(sub(%0, 1), i)]) left [i] base %2") == UpdateOrder::kStaged);
  CHECK(of_vector("compute [i in 0..%0] (%2[%3[i]]) left [i] base %2") == UpdateOrder::kStaged);
  CHECK(of_matrix("compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %1[k, i])) left [i, 0] base %1") ==
        UpdateOrder::kStaged);
}

TEST_CASE("update order: guards that read elements written by other points need a copy") {
  CHECK(of_vector("compute [i in 0..%0] (1.0) where lt(%2[sub(sub(%0, 1), i)], 0.0) left [i] base %2") ==
        UpdateOrder::kCopied);
  CHECK(of_vector("compute [i in 0..%0] (1.0) where lt(%2[i], 0.0) left [i] base %2") == UpdateOrder::kInPlace);
  CHECK(of_vector("compute [i in 0..%0] sum[k in 0..%0] (%2[k]) where lt(k, i) left [i] base %2") ==
        UpdateOrder::kCopied);
}

#include "ir/analysis/diagonal.h"

#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

/// `0 1: %2[i]`: the index variables and the value on the diagonal of the body of a Compute over i, j and k.
std::string diagonal(const std::string& body) {
  const Program program = parse(
      "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"s\" = param \"s\" = 1\n"
      "%2:f64[%0] \"v\" = input \"v\"\n%3:f64[9, 9, 9] = compute [i in 0..9, j in 0..9, k in "
      "0..9] (" +
      body + ")\n");
  const Expr e = std::get<Compute>(program.body.nodes.back().op).bodies[0];
  const auto labels = diagonal_of(e);
  if (!labels) return "none";
  const auto* constant = std::get_if<Constant>(&value_on_diagonal(e)->op);
  return std::to_string((*labels)[0]) + " " + std::to_string((*labels)[1]) + (constant == nullptr ? "" : " constant");
}

}  // namespace

TEST_CASE("diagonals: conditions that fix one index variable by another") {
  CHECK(diagonal("select(eq(i, j), 1.0, 0.0)") == "0 1 constant");
  CHECK(diagonal("select(eq(k, i), %2[i], 0.0)") == "0 2");
  CHECK(diagonal("select(eq(add(2, i), j), 1.0, 0.0)") == "0 1 constant");
  CHECK(diagonal("select(eq(i, sub(3, k)), 1.0, 0.0)") == "0 2 constant");
  CHECK(diagonal("select(and(eq(i, j), lt(i, 4)), 1.0, 0.0)") == "0 1 constant");
  CHECK(diagonal("select(ne(i, j), 0.0, 2.0)") == "0 1 constant");
}

TEST_CASE("diagonals: other conditions, and values that are not 0 elsewhere") {
  CHECK(diagonal("select(eq(i, j), 1.0, 2.0)") == "none");
  CHECK(diagonal("select(ne(i, j), 1.0, 0.0)") == "none");
  CHECK(diagonal("select(le(i, j), 1.0, 0.0)") == "none");
  CHECK(diagonal("select(eq(i, 3), 1.0, 0.0)") == "none");
  CHECK(diagonal("select(eq(add(i, k), j), 1.0, 0.0)") == "none");
  CHECK(diagonal("select(eq(mul(2, i), j), 1.0, 0.0)") == "none");
  // Bounds of loops over the points need numbers.
  CHECK(diagonal("select(eq(add(i, %1), j), 1.0, 0.0)") == "none");
  CHECK(diagonal("select(eq(add(i, 2199023255552), j), 1.0, 0.0)") == "none");
  CHECK(diagonal("select(or(eq(i, j), eq(i, 0)), 1.0, 0.0)") == "none");
  CHECK(diagonal("%2[i]") == "none");
}

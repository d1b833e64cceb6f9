#include "ir/analysis/rearrangement.h"

#include <fmt/format.h>

#include "passes/sparse/iteration.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

/// A and B are compressed, S is sparse but not compressed, D is dense.
const std::string kMatrices =
    "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed 9] \"A\" = input \"A\"\n"
    "%2:f64[%0, compressed 9] \"B\" = input \"B\"\n%3:f64[%0, sparse 9] \"S\" = input \"S\"\n%4:f64[%0, 9] "
    "\"D\" = input \"D\"\n"
    "%5:i64[%0] \"p\" = input \"p\"\n%6:i64 \"s\" = param \"s\" = 1\n";

Program program_with(const std::string& node) {
  Program program = parse(kMatrices + node + "\n");
  for (const std::string& problem : verify(program)) FAIL_CHECK(problem);
  return program;
}

std::string limits(const std::vector<Extent>& list) {
  std::string text;
  for (const Extent& e : list) text += (text.empty() ? "" : " ") + (e.constant() ? std::to_string(*e.constant()) : "?");
  return text;
}

/// `A[0 x 2 + 1, p[1]] in 0..3`: factors of 1 and offsets of 0 are omitted; limits of both dimensions.
std::string parts(const std::string& node) {
  const Program program = program_with(node);
  const auto found = rearrangement(program, std::get<Compute>(program.body.nodes.back().op));
  if (!found) return "none";
  std::string text;
  for (const Rearranged& part : *found) {
    text += (text.empty() ? "" : " | ") + program.info(part.tensor).name + "[";
    for (std::size_t d = 0; d < 2; ++d) {
      const Rearranged::Subscript& s = part.at[d];
      if (s.index) {
        text += fmt::format("{}{}[{}]", d == 0 ? "" : ", ", program.info(*s.index).name, s.label);
        continue;
      }
      text += fmt::format(
          "{}{}{}{}{}", d == 0 ? "" : ", ", s.label, s.factor == 1 ? "" : fmt::format(" x {}", s.factor),
          s.offset == Extent(0) ? "" : " + " + (s.offset.constant() ? std::to_string(*s.offset.constant()) : "?"),
          s.around ? " around" : "");
    }
    text += "]";
    for (std::size_t d = 0; d < 2; ++d) {
      if (!part.range[d].from.empty() || !part.range[d].to.empty())
        text += fmt::format(" {} in {}..{}", d, limits(part.range[d].from), limits(part.range[d].to));
    }
  }
  return text;
}

using Result = SparseIteration::Result;

Result result_of(const std::string& node) {
  const Program program = program_with(node);
  const auto found = tdsl::passes::sparse_iteration(program, program.body.nodes.back());
  return found ? found->result : Result::kDense;
}

}  // namespace

TEST_CASE("rearrangement: slices, strides, flips, transposes, rotations") {
  CHECK(parts("%9:f64[3, sparse 9] = compute [i in 0..3, j in 0..9] (%1[add(2, i), j])") == "A[0 + 2, 1]");
  CHECK(parts("%9:f64[%0, sparse 4] = compute [i in 0..%0, j in 0..4] (%1[i, add(1, mul(2, j))])") ==
        "A[0, 1 x 2 + 1]");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%1[i, sub(8, j)])") == "A[0, 1 x -1 + 8]");
  CHECK(parts("%9:f64[sparse 9, %0] = compute [j in 0..9, i in 0..%0] (%1[i, j])") == "A[1, 0]");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%1[i, mod(sub(j, 2), 9)])") ==
        "A[0, 1 + -2 around]");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (add(0.0, %1[i, mod(add(j, %6), 9)]))") ==
        "A[0, 1 + ? around]");
}

TEST_CASE("rearrangement: several matrices side by side") {
  CHECK(
      parts(
          "%9:f64[%0, sparse 18] = compute [i in 0..%0, j in 0..18] (select(lt(j, 9), %1[i, j], %2[i, sub(j, 9)]))") ==
      "A[0, 1] 1 in ..9 | B[0, 1 + -9] 1 in 9..");
  CHECK(
      parts(
          "%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (select(ge(sub(j, 2), 0), %1[i, sub(j, 2)], 0.0))") ==
      "A[0, 1 + -2] 1 in 2..");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%1[i, j]) where and(gt(j, 2), not(gt(j, 5)))") ==
        "A[0, 1] 1 in 3..6");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (select(eq(j, 4), %1[i, 8], %2[i, j]))") ==
        "none");
  CHECK(
      parts(
          "%9:f64[%0, sparse 18] = compute [i in 0..%0, j in 0..18] (select(lt(j, 10), %1[i, j], %2[i, sub(j, 9)]))") ==
      "none");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (select(lt(add(i, j), 10), %1[i, j], 0.0))") ==
        "none");
}

TEST_CASE("rearrangement: rows and columns by index vectors") {
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%1[%5[i], j])") == "A[p[0], 1]");
  CHECK(parts("%9:f64[9, sparse %0] = compute [i in 0..9, j in 0..%0] (%1[add(i, 1), %5[j]])") == "A[0 + 1, p[1]]");
  CHECK(parts("%9:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] (%1[%5[j], %5[i]])") == "A[p[1], p[0]]");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (select(lt(i, 4), %1[%5[i], j], %2[i, j]))") ==
        "A[p[0], 1] 0 in ..4 | B[0, 1] 0 in 4..");
  CHECK(parts("%9:f64[4, sparse 9] = compute [i in 0..4, j in 0..9] (%1[%5[i], j])") == "none");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%1[add(%5[i], 1), j])") == "none");
  CHECK(parts("%9:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] (%1[%5[i], %5[i]])") == "none");
}

TEST_CASE("rearrangement: what computes something is none") {
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (mul(%1[i, j], 2.0))") == "none");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (add(1.0, %1[i, j]))") == "none");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%4[i, j])") == "none");
  CHECK(parts("%9:f64[9, sparse 9] = compute [i in 0..9, j in 0..9] (%1[j, j])") == "none");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%1[i, j]) fill 1.0") == "none");
  CHECK(parts("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (0.0)") == "none");
}

TEST_CASE("compressed results: loops over stored elements, rearrangements, points") {
  const std::string compressed = "%9:f64[%0, compressed 9] = compute [i in 0..%0, j in 0..9] ";
  CHECK(result_of(compressed + "(absent_mul(%1[i, j], %4[i, j]))") == Result::kOrdered);
  CHECK(result_of(compressed + "(%1[i, sub(8, j)])") == Result::kMoved);
  CHECK(result_of(compressed + "(%1[%5[i], j])") == Result::kMoved);
  CHECK(result_of(compressed + "(%3[i, sub(8, j)])") == Result::kPoints);
  CHECK(result_of(compressed + "(relu(%4[i, j]))") == Result::kPoints);
  CHECK(result_of(compressed + "(%4[i, j]) where gt(%4[i, j], 1.0)") == Result::kPoints);
  CHECK(result_of(compressed + "(add(exp(%1[i, j]), %4[i, j]))") == Result::kDense);
  CHECK(result_of(compressed + "(%4[%5[i], j])") == Result::kDense);
  CHECK(result_of(compressed + "sum[k in 0..9] (%4[i, k])") == Result::kDense);
  CHECK(result_of("%9:f64[%0, sparse 9] = compute [i in 0..%0, j in 0..9] (%4[i, j])") == Result::kDense);
}

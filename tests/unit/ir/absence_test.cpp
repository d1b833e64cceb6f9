#include "passes/passes.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

const std::string kInputs =
    "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, sparse %0] \"A\" = input \"A\"\n%2:f64[%0, sparse "
    "%0] \"B\" = input \"B\"\n"
    "%3:f64[%0, %0] \"D\" = input \"D\"\n%4:f64[%0] \"x\" = input \"x\"\n%5:i64[%0, sparse %0] \"N\" = input \"N\"\n";

/// The last node or nodes with sparse types expanded.
std::string written_out(const std::string& node) {
  tdsl::passes::PassContext context;
  const Program program = tdsl::passes::absence(parse(kInputs + node + "\n"), context);
  for (const std::string& problem : verify(program)) FAIL_CHECK(problem);
  return print(program).substr(kInputs.size());
}

}  // namespace

TEST_CASE("absence: factors and numerators") {
  const auto body = [](const std::string& expression) {
    const std::string head = "%6:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (";
    const std::string text = written_out(head + expression + ")");
    return text.substr(head.size(), text.size() - head.size() - 2);
  };
  CHECK(body("mul(%1[i, j], %4[j])") == "absent_mul(%1[i, j], %4[j])");
  CHECK(body("mul(%4[j], %1[i, j])") == "absent_mul(%1[i, j], %4[j])");
  CHECK(body("mul(%1[i, j], %2[i, j])") == "mutual_mul(%1[i, j], %2[i, j])");
  CHECK(body("mul(mul(%1[i, j], %4[j]), %4[i])") == "absent_mul(absent_mul(%1[i, j], %4[j]), %4[i])");
  CHECK(body("mul(add(%1[i, j], %2[i, j]), %4[j])") == "absent_mul(add(%1[i, j], %2[i, j]), %4[j])");
  CHECK(body("mul(add(%1[i, j], %3[i, j]), %4[j])") == "mul(add(%1[i, j], %3[i, j]), %4[j])");
  CHECK(body("mul(f64(ne(%1[i, j], 0.0)), %4[j])") == "absent_mul(f64(ne(%1[i, j], 0.0)), %4[j])");
  CHECK(body("mul(exp(%1[i, j]), %4[j])") == "mul(exp(%1[i, j]), %4[j])");
  CHECK(body("div(%1[i, j], %4[j])") == "absent_div(%1[i, j], %4[j])");
  CHECK(body("div(%4[j], %1[i, j])") == "div(%4[j], %1[i, j])");
  CHECK(body("mul(dense(%1[i, j]), %4[j])") == "mul(%1[i, j], %4[j])");
  CHECK(body("mul(sparse(%3[i, j]), %4[j])") == "absent_mul(%3[i, j], %4[j])");
  CHECK(body("mul(%3[i, j], %4[j])") == "mul(%3[i, j], %4[j])");
}

TEST_CASE("absence: integers need an absence operator only for a divisor of 0") {
  const std::string head = "%6:i64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] (";
  CHECK(written_out(head + "mul(%5[i, j], i))") == head + "mul(%5[i, j], i))\n");
  CHECK(written_out(head + "div(%5[i, j], i))") == head + "absent_div(%5[i, j], i))\n");
  CHECK(written_out(head + "div(%5[i, j], 2))") == head + "div(%5[i, j], 2))\n");
}

TEST_CASE("absence: no -0 is stored in a sparse tensor") {
  const std::string head = "%6:f64[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] ";
  CHECK(written_out(head + "(%1[i, j])") == head + "(%1[i, j])\n");
  CHECK(written_out(head + "(abs(%3[i, j]))") == head + "(abs(%3[i, j]))\n");
  CHECK(written_out(head + "(%3[i, j])") == head + "(add(%3[i, j], 0.0))\n");
  CHECK(written_out(head + "(neg(%1[i, j]))") == head + "(add(neg(%1[i, j]), 0.0))\n");
  CHECK(written_out(head + "(add(%1[i, j], %3[i, j]))") == head + "(add(%1[i, j], %3[i, j]))\n");
  CHECK(written_out(head + "sum[k in 0..%0] (neg(%1[i, k]))") == head + "sum[k in 0..%0] (neg(%1[i, k]))\n");
  CHECK(written_out(head + "max[k in 0..%0] (neg(%1[i, k]))") == head + "max[k in 0..%0] (add(neg(%1[i, k]), 0.0))\n");
  CHECK(written_out(head + "prod[k in 0..%0] (%1[i, k])") ==
        "%7:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] prod[k in 0..%0] (%1[i, k])\n"
        "%6:f64[%0, sparse %0] = compute [i0 in 0..%0, i1 in 0..%0] (add(%7[i0, i1], 0.0))\n");
  const std::string narrow = "%6:f32[%0, sparse %0] = compute [i in 0..%0, j in 0..%0] ";
  CHECK(written_out(narrow + "(f32(%1[i, j]))") == narrow + "(add(f32(%1[i, j]), 0.0:f32))\n");
  const std::string update = "%6:f64[%0, sparse %0] = compute [i in 0..%0] ";
  CHECK(written_out(update + "(%4[i]) left [i, i] base %1") == update + "(add(%4[i], 0.0)) left [i, i] base %1\n");
  CHECK(written_out(update + "(%4[i]) left [i, i] base %1 combine sum") ==
        update + "(%4[i]) left [i, i] base %1 combine sum\n");
}

TEST_CASE("absence: an absent element stays absent whatever it is multiplied by") {
  CHECK(written_out("%6:f64[%0, sparse %0] = compute [i in 0..%0] (%4[i]) left [i, i] base %1 combine prod") ==
        "%7:f64[%0, %0] = compute [i in 0..%0] (%4[i]) left [i, i] combine prod fill 1.0\n"
        "%6:f64[%0, sparse %0] = compute [i0 in 0..%0, i1 in 0..%0] (add(absent_mul(%1[i0, i1], %7[i0, i1]), 0.0))\n");
}

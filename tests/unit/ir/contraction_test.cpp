#include <doctest/doctest.h>

#include <string>

#include "ir/analysis/contraction.h"
#include "ir/text/print.h"
#include "ir/verify/verify.h"

using namespace tdsl;

namespace {

/// Index variables for rows, columns, batch and inner of the last node, as `i; j; ; k`; `none` if it is not a
/// contraction.
std::string contraction_text(const std::string& compute, const ir::OperandLabels& labels = ir::bare_labels) {
  const ir::Program program = ir::parse(
      "program \"t\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, %0] \"A\" = input \"A\"\n%2:f64[%0, %0] \"B\" = input "
      "\"B\"\n"
      "%3:f64[%0] \"x\" = input \"x\"\n%4:i64[%0, %0] \"P\" = input \"P\"\n" +
      compute + "\n");
  const std::vector<std::string> problems = ir::verify(program);
  REQUIRE_MESSAGE(problems.empty(), problems.front());
  const auto& c = std::get<ir::Compute>(program.body.nodes.back().op);
  const auto found = ir::contraction_of(c, labels);
  if (!found) return "none";
  const auto names = [&](ir::LabelSet set) {
    std::string text;
    for (std::size_t l = 0; l < c.out.size() + c.reduce.size(); ++l) {
      if ((set >> l & 1) != 0) text += l < c.out.size() ? c.out[l].name : c.reduce[l - c.out.size()].name;
    }
    return text;
  };
  return names(found->rows) + ";" + names(found->columns) + ";" + names(found->batch) + ";" + names(found->inner);
}

}  // namespace

TEST_CASE("contraction: index variables by where they stand") {
  CHECK(contraction_text(
            "%5:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %2[k, j]))") == "i;j;;k");
  CHECK(contraction_text(
            "%5:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..%0] (mul(%1[k, j], %2[i, k]))") == "j;i;;k");
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[k, i], %3[k]))") == "i;;;k");
  CHECK(contraction_text("%5:f64[%0, %0] = compute [i in 0..%0, b in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %3[k]))") ==
        "none");
  CHECK(contraction_text("%5:f64[%0, 1] = compute [i in 0..%0, b in 0..1] sum[k in 0..%0] (mul(%1[i, k], %3[k]))") ==
        "i;;;k");
}

TEST_CASE("contraction: reductions that are not matrix products") {
  // Inner products, one for each i; a sum of one factor's elements; no product; a condition; integers; another monoid;
  // the same element twice.
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %2[i, k]))") == "none");
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %3[i]))") == "none");
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] sum[k in 0..%0] (add(%1[i, k], %3[k]))") == "none");
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %3[k])) where lt(k, i)") ==
        "none");
  CHECK(contraction_text("%5:i64[%0] = compute [i in 0..%0] sum[k in 0..%0] (mul(%4[i, k], %4[k, k]))") == "none");
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] max[k in 0..%0] (mul(%1[i, k], %3[k]))") == "none");
  CHECK(contraction_text("%5:f64[%0] = compute [i in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %2[k, k]))") == "none");
  // The caller defines which reads are operands.
  const std::string shifted =
      "%5:f64[%0 - 1] = compute [i in 0..%0 - 1] sum[k in 0..%0] (mul(%1[add(i, 1), k], %3[k]))";
  CHECK(contraction_text(shifted) == "none");
  CHECK(contraction_text(shifted, [](const ir::Read& r) -> std::optional<ir::LabelSet> {
          ir::LabelSet set = 0;
          for (const ir::Expr& s : r.subscripts) set |= ir::label_set(s);
          return set;
        }) == "i;;;k");
}

#include "passes/algebra/element_reads.h"

#include <string>

#include "ir/graph/extent_facts.h"
#include "passes/algebra/costs.h"
#include "passes/rewriting.h"
#include "tests/unit/passes/support.h"

namespace {

using namespace tdsl;

/// The elements of A[n, m] that a Compute reads: "3 points, each once", "whole", … or "" if it is unknown.
std::string read_by(const std::string& compute) {
  const ir::Program program = ir::parse(
      "program \"t\"\n%0:i64 \"n\" = dimension \"n\"\n%1:i64 \"m\" = dimension \"m\"\n%2:f64[%0, %1] \"A\" = input "
      "\"A\"\n%3:i64[%0] \"p\" = input \"p\"\n" +
      compute + "\n");
  const auto& c = std::get<ir::Compute>(program.body.nodes.back().op);
  const auto reads = passes::element_reads(program, ir::ExtentFacts(program), c, {2});
  if (!reads) return "";
  std::string text;
  for (const passes::ElementRead& r : *reads) {
    text += text.empty() ? "" : "; ";
    text += r.points.to_string([](ir::ValueId v) { return v.id == 0 ? "n" : v.id == 1 ? "m" : "?"; });
    text += std::string(r.whole ? " whole" : "") + (r.each_once ? " once" : "") + (r.ascending ? "" : " descending") +
            (r.certain ? "" : " maybe");
  }
  return text;
}

}  // namespace

TEST_CASE("element reads: number of elements, and whether one is read twice") {
  CHECK(read_by("%4:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] (%2[i, j])") == "n*m whole once");
  CHECK(read_by("%4:f64[%1, %0] = compute [i in 0..%1, j in 0..%0] (%2[j, i])") == "n*m whole once");
  CHECK(read_by("%4:f64[%0] = compute [i in 0..%0] (%2[i, i])") == "n once");
  CHECK(read_by("%4:f64[%1] = compute [i in 0..%1] (%2[0, i])") == "m once");
  CHECK(read_by("%4:f64 = compute [] (%2[0, 0])") == "1 once");
  CHECK(read_by("%4:f64[%0] = compute [i in 0..%0] (%2[sub(sub(%0, 1), i), 0])") == "n once descending");
  CHECK(read_by("%4:f64[%0, 3] = compute [i in 0..%0, j in 0..3] (%2[add(i, j), i])") == "3*n once");
  CHECK(read_by("%4:f64[%0, 3] = compute [i in 0..%0, j in 0..3] (%2[add(i, j), 0])") == "3*n");
  CHECK(read_by("%4:f64[%0, %1] = compute [i in 0..%0, j in 0..%1] (add(%2[i, 0], %2[0, j]))") == "n once; m once");
  CHECK(read_by("%4:f64[%0] = compute [i in 0..%0] (%2[i, 0]) where lt(i, 2)") == "n once maybe");
  CHECK(read_by("%4:f64[%0] = compute [i in 0..%0] (select(lt(i, 2), %2[i, 0], 0.0))") == "n once maybe");
  CHECK(read_by("%4:f64[%0] = compute [i in 0..%0] (%2[%3[i], 0])").empty());
  CHECK(read_by("%4:f64[%0] = compute [i in 0..%0] (%2[mod(add(i, 1), %0), 0])").empty());
}

TEST_CASE("costs: the sign of a polynomial for all sizes from a least one on") {
  const ir::Extent n = ir::Extent::of({0}), m = ir::Extent::of({1});
  CHECK(passes::sign_of(n * n - n - n - n, 2) == std::nullopt);
  CHECK(passes::sign_of(n * n - n - n - n, 4) == 1);
  CHECK(passes::sign_of(n * m - n - m, 4) == 1);
  CHECK(passes::sign_of(n - m, 4) == std::nullopt);
  CHECK(passes::sign_of(n - n, 4) == 0);
  CHECK(passes::cheaper(n * m, n * m * n) == true);
}

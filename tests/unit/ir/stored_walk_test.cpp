#include "ir/analysis/stored_walk.h"

#include <fmt/format.h>

#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

/// A and B are compressed, S is sparse but not compressed, D, U and V are dense.
const std::string kTensors =
    "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n"
    "%2:f64[%0, compressed %0] \"B\" = input \"B\"\n%3:f64[%0, sparse %0] \"S\" = input \"S\"\n%4:f64[%0, %0] "
    "\"D\" = input \"D\"\n"
    "%5:f64[%0] \"x\" = input \"x\"\n%6:f64[%0, 8] \"U\" = input \"U\"\n%7:i64[%0] \"p\" = input \"p\"\n%8:i64[%0, "
    "compressed %0] \"N\" = input \"N\"\n";

/// `A over j, i`: the sparse iteration of the last node, followed by `=` if its result has the same pattern, and by `+`
/// if elements of its rows are combined.
std::string walk(const std::string& node) {
  const Program program = parse(kTensors + node + "\n");
  for (const std::string& problem : verify(program)) FAIL_CHECK(problem);
  const auto& c = std::get<Compute>(program.body.nodes.back().op);
  const auto found = stored_walk(program, c);
  if (!found) return "none";
  const auto name = [&](std::int32_t label) {
    const auto l = static_cast<std::size_t>(label);
    return l < c.out.size() ? c.out[l].name : c.reduce[l - c.out.size()].name;
  };
  std::string loops, operands;
  for (const int k : found->loops.front().over) {
    const StoredLoop::Meet meet = found->loops.front().meet;
    operands += operands.empty()                 ? ""
                : meet == StoredLoop::Meet::kAny ? " or "
                : meet == StoredLoop::Meet::kAll ? " and "
                                                 : " with ";
    operands += program.info(found->operands[static_cast<std::size_t>(k)].tensor).name;
  }
  for (const StoredLoop& loop : found->loops) loops += (loops.empty() ? "" : ", ") + name(loop.label);
  const bool all = c.out.size() == found->driver().labels.size();  // otherwise with sums along the last levels
  const std::string_view result = found->result == StoredWalk::Result::kInOrder       ? all ? " =" : ""
                                  : found->result == StoredWalk::Result::kAccumulated ? " +"
                                                                                      : "";
  return fmt::format("{} over {}{}", operands, loops, result);
}

const std::string kRows = "%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] ";
const std::string kMap = "%9:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] ";

}  // namespace

TEST_CASE("stored walk: sums of products with something dense") {
  CHECK(walk(kRows + "(absent_mul(%1[i, j], %5[j]))") == "A over i, j");
  CHECK(walk(kRows + "(absent_mul(%1[j, i], %5[j]))") == "A over j, i");
  CHECK(walk("%9:f64[%0, 8] = compute [i in 0..%0, k in 0..8] sum[j in 0..%0] (absent_mul(%1[i, j], %6[j, k]))") ==
        "A over i, j");
  CHECK(walk("%9:f64[8, %0] = compute [k in 0..8, j in 0..%0] sum[i in 0..%0] (absent_mul(%1[i, j], %6[i, k]))") ==
        "A over i, j");
  CHECK(walk(kRows + "(mul(%1[i, j], %5[j]))") == "none");
  CHECK(walk(kRows + "(absent_mul(%5[j], %1[i, j]))") == "none");
  CHECK(walk(kRows + "(absent_mul(%3[i, j], %5[j]))") == "none");
  CHECK(walk(kRows + "(mul(%4[i, j], %5[j]))") == "none");
}

TEST_CASE("stored walk: sums and counts") {
  CHECK(walk(kRows + "(%1[i, j])") == "A over i, j");
  CHECK(walk(kRows + "(%1[j, i])") == "A over j, i");
  CHECK(walk("%9:f64 = compute [] sum[i in 0..%0, j in 0..%0] (%1[i, j])") == "A over i, j");
  CHECK(walk("%9:i64 = compute [] sum[i in 0..%0, j in 0..%0] (i64(ne(%1[i, j], 0.0)))") == "A over i, j");
  CHECK(walk("%9:i64 = compute [] sum[i in 0..%0, j in 0..%0] (i64(lt(%1[i, j], 1.0)))") == "none");
  CHECK(walk(kRows + "(exp(%1[i, j]))") == "none");
  CHECK(walk(kRows + "(exp(%1[i, j])) where gt(%1[i, j], 2.0)") == "A over i, j");
}

TEST_CASE("stored walk: other monoids need a guard") {
  const std::string any = "%9:bool[%0] = compute [j in 0..%0] any[i in 0..%0] ";
  CHECK(walk(any + "(and(ne(%1[i, j], 0.0), gt(%5[i], 0.0)))") == "A over i, j");
  CHECK(walk(any + "(gt(%5[i], 0.0)) where ne(%1[i, j], 0.0)") == "A over i, j");
  CHECK(walk(any + "(or(ne(%1[i, j], 0.0), gt(%5[i], 0.0)))") == "none");
  const std::string smallest = "%9:f64[%0] = compute [j in 0..%0] min[i in 0..%0] ";
  CHECK(walk(smallest + "(add(%1[i, j], %5[i])) where ne(%1[i, j], 0.0)") == "A over i, j");
  CHECK(walk(smallest + "(add(%1[i, j], %5[i])) where ne(%1[i, j], 0.0) fill inf") == "A over i, j");
  CHECK(walk(smallest + "(add(%1[i, j], %5[i])) where ne(%1[i, j], 0.0) fill 0.0") == "none");
  CHECK(walk(smallest + "(%1[i, j])") == "none");
  CHECK(walk("%9:i64[%0] = compute [j in 0..%0] argmin[i in 0..%0] (%1[i, j]) where ne(%1[i, j], 0.0)") == "none");
}

TEST_CASE("stored walk: a reduction of the user's is in index order") {
  const std::string last = "user(\"last\", 0.0, $1:f64)";
  const std::string tail = " (%1[i, j]) where ne(%1[i, j], 0.0)";
  CHECK(walk("%9:f64 = compute [] " + last + "[i in 0..%0, j in 0..%0]" + tail) == "A over i, j");
  CHECK(walk("%9:f64 = compute [] " + last + "[j in 0..%0, i in 0..%0]" + tail) == "none");
  CHECK(walk("%9:f64[%0] = compute [j in 0..%0] " + last + "[i in 0..%0]" + tail) == "A over i, j");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] " + last + "[j in 0..%0, k in 0..8]" + tail) == "A over i, j");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] " + last + "[k in 0..8, j in 0..%0]" + tail) == "none");
}

TEST_CASE("stored walk: results with the walked coordinates") {
  CHECK(walk(kMap + "(%1[i, j])") == "A over i, j =");
  CHECK(walk(kMap + "(%1[j, i])") == "A over j, i");
  CHECK(walk(kMap + "(absent_div(%1[i, j], %5[i]))") == "A over i, j =");
  CHECK(walk(kMap + "sum[k in 0..8] (absent_mul(absent_mul(%1[i, j], %6[i, k]), %6[j, k]))") == "A over i, j =");
  CHECK(walk(kMap + "(%4[i, j]) where ne(%1[i, j], 0.0)") == "A over i, j =");
  CHECK(walk(kMap + "(%4[i, j]) where ne(%1[i, j], 0.0) fill 1.0") == "none");
  CHECK(walk(kMap + "(add(%1[i, j], %4[i, j]))") == "none");
  CHECK(walk(kMap + "max[k in 0..8] (%6[i, k]) where ne(%1[i, j], 0.0)") == "A over i, j");
  CHECK(walk(kMap + "sum[k in 0..8] (%6[i, k]) where ne(%1[i, j], 0.0)") == "A over i, j =");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] (%1[i, i])") == "none");
}

TEST_CASE("stored walk: elements that are not visited are 0 of the right sign") {
  CHECK(walk(kMap + "(neg(%1[i, j]))") == "none");
  CHECK(walk(kMap + "(add(neg(%1[i, j]), 0.0))") == "A over i, j =");
  CHECK(walk(kMap + "(neg(%1[i, j])) where ne(%1[i, j], 0.0)") == "A over i, j =");
  CHECK(walk(kMap + "(neg(add(%1[i, j], %2[i, j])))") == "none");
  CHECK(walk(kMap + "(add(neg(%1[i, j]), neg(%1[i, j])))") == "none");
  CHECK(walk(kMap + "(add(neg(%1[i, j]), %1[i, j]))") == "A over i, j =");
  CHECK(walk(kMap + "(sub(neg(%1[i, j]), %1[i, j]))") == "none");
  CHECK(walk(kMap + "(sub(%1[i, j], neg(%1[i, j])))") == "A over i, j =");
  CHECK(walk(kMap + "(max(%1[i, j], neg(%1[i, j])))") == "none");
  CHECK(walk(kMap + "(sqrt(abs(neg(%1[i, j]))))") == "A over i, j =");
  CHECK(walk(kMap + "(select(gt(%1[i, j], 1.0), %4[i, j], neg(%1[i, j])))") == "none");
  CHECK(walk(kRows + "(neg(%1[i, j]))") == "A over i, j");
}

TEST_CASE("stored walk: several sparse operands") {
  CHECK(walk(kMap + "(mutual_mul(%1[i, j], %2[i, j]))") == "A and B over i, j =");
  CHECK(walk(kMap + "(mutual_mul(%2[i, j], %1[i, j]))") == "B and A over i, j =");
  CHECK(walk(kMap + "(absent_mul(%2[i, j], %1[i, j]))") == "B with A over i, j =");
  CHECK(walk(kMap + "(mutual_mul(%1[i, j], %2[j, i]))") == "A over i, j =");
  CHECK(walk(kMap + "(mutual_mul(%1[i, j], %1[j, i]))") == "none");
  CHECK(walk(kMap + "(mutual_mul(%3[i, j], %1[j, i]))") == "A over j, i");
  CHECK(walk(kMap + "sum[k in 0..%0] (mutual_mul(%1[i, k], %2[k, j]))") == "A over i, k, j +");
}

TEST_CASE("stored walk: operands that are located where others are walked") {
  const std::string product = kMap + "sum[k in 0..%0] ";
  CHECK(walk(product + "(absent_mul(%2[k, j], %1[i, k]))") == "B over k, j");
  CHECK(walk(product + "(mutual_mul(%1[i, k], %1[k, j]))") == "A over i, k, j +");
  CHECK(walk(product + "(mutual_mul(mutual_mul(%1[i, k], %2[k, j]), %1[i, j]))") == "A over i, k, j +");
  CHECK(walk(product + "(mutual_mul(%1[i, k], %2[k, j])) where ne(%1[i, j], 0.0)") == "A over i, k, j +");
  CHECK(walk(product + "(mutual_mul(%1[i, k], %2[j, k]))") == "A over i, k");
  CHECK(walk(product + "(mutual_mul(%1[i, k], %1[j, k]))") == "none");
  CHECK(walk(product + "(mutual_mul(%1[k, i], %2[k, j]))") == "A over k, i");
  CHECK(walk(kMap + "min[k in 0..%0] (add(%1[i, k], %2[k, j])) where and(ne(%1[i, k], 0.0), ne(%2[k, j], 0.0))") ==
        "A over i, k, j");
  CHECK(walk(kMap + "sum[k in 0..%0, l in 0..%0] (mutual_mul(mutual_mul(%1[i, k], %2[k, l]), %1[l, j]))") ==
        "A over i, k, l, j +");
  CHECK(walk("%9:f64 = compute [] sum[i in 0..%0, j in 0..%0, k in 0..%0] (mutual_mul(mutual_mul(%1[i, j], %1[j, k]), "
             "%1[i, k]))") == "A over i, j, k");
  // A dimension order of its own.
  const std::string last = "user(\"last\", 0.0, $1:f64)";
  const std::string both = " (add(%1[i, k], %2[k, j])) where and(ne(%1[i, k], 0.0), ne(%2[k, j], 0.0))";
  CHECK(walk("%9:f64 = compute [] " + last + "[i in 0..%0, k in 0..%0, j in 0..%0]" + both) == "A over i, k, j");
  CHECK(walk("%9:f64 = compute [] " + last + "[i in 0..%0, j in 0..%0, k in 0..%0]" + both) == "none");
  CHECK(walk("%9:f64[%0] = compute [k in 0..%0] " + last + "[i in 0..%0, j in 0..%0]" + both) == "A over i, k, j");
}

TEST_CASE("stored walk: unions of operands") {
  CHECK(walk(kMap + "(add(%1[i, j], %2[i, j]))") == "A or B over i, j =");
  CHECK(walk(kMap + "(sub(%2[i, j], %1[i, j]))") == "B or A over i, j =");
  CHECK(walk(kMap + "(min(%1[i, j], %2[i, j]))") == "A or B over i, j =");
  CHECK(walk(kMap + "(add(%1[i, j], mutual_mul(%2[i, j], add(%1[i, j], 1.0))))") == "A or B over i, j =");
  CHECK(walk(kMap + "(add(%1[j, i], %2[j, i]))") == "A or B over j, i");
  CHECK(walk(kMap + "(add(%1[i, j], %2[j, i]))") == "none");
  CHECK(walk(kMap + "(add(%1[i, j], %3[i, j]))") == "none");
  CHECK(walk(kMap + "(add(absent_mul(%1[i, j], %4[i, j]), absent_mul(%2[i, j], %5[i])))") == "A or B over i, j =");
  CHECK(walk(kMap + "(select(gt(%1[i, j], 2.0), %4[i, j], %2[i, j]))") == "none");
  CHECK(walk(kMap + "(add(select(gt(%1[i, j], 2.0), %4[i, j], %2[i, j]), 0.0))") == "A or B over i, j =");
  CHECK(walk(kRows + "(add(%1[i, j], %2[i, j]))") == "A or B over i, j");
  CHECK(walk(kRows + "(max(add(%1[i, j], %2[i, j]), %5[j]))") == "none");
  CHECK(walk("%9:i64 = compute [] sum[i in 0..%0, j in 0..%0] (1) where or(ne(%1[i, j], 0.0), ne(%2[i, j], 0.0))") ==
        "A or B over i, j");
  CHECK(walk("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (lt(%1[i, j], %2[i, j]))") == "A or B over i, j =");
  CHECK(walk("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (le(%1[i, j], %2[i, j]))") == "none");
  CHECK(walk("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (and(gt(%1[i, j], 1.0), or(gt(%2[i, j], 1.0), "
             "ne(%8[i, j], 0))))") == "A with B with N over i, j =");
  CHECK(walk("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (or(gt(%1[i, j], 1.0), and(gt(%2[i, j], 1.0), "
             "ne(%8[i, j], 0))))") == "A or B or N over i, j =");
}

TEST_CASE("stored walk: vectors and tensors of more dimensions go together, too") {
  const auto of = [](const std::string& body) {
    const std::string vectors =
        "%9:f64[compressed %0] \"v\" = input \"v\"\n%10:f64[compressed %0] \"w\" = input \"w\"\n";
    const std::string tensors =
        "%11:f64[%0, compressed %0, compressed 5] \"S\" = input \"S\"\n%12:f64[%0, compressed %0, compressed 5] \"T\""
        " = input \"T\"\n";
    return walk(vectors + tensors + body);
  };
  const std::string vector = "%13:f64[%0] = compute [i in 0..%0] ",
                    tensor = "%13:f64[%0, %0, 5] = compute [i in 0..%0, j in 0..%0, k in 0..5] ";
  CHECK(of(vector + "(add(%9[i], %10[i]))") == "v or w over i =");
  CHECK(of(vector + "(mutual_mul(%9[i], %10[i]))") == "v and w over i =");
  CHECK(of(vector + "(absent_mul(%9[i], exp(%10[i])))") == "v with w over i =");
  CHECK(of("%13:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] (add(%9[i], %10[j]))") == "none");
  CHECK(of("%13:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] (mutual_mul(%1[i, j], add(%9[i], %10[i])))") ==
        "A over i, j =");
  CHECK(of(tensor + "(sub(%11[i, j, k], %12[i, j, k]))") == "S or T over i, j, k =");
  CHECK(of(tensor + "(mutual_mul(%11[i, j, k], %12[i, j, k]))") == "S and T over i, j, k =");
  CHECK(of("%13:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..5] (add(%11[i, j, k], %12[i, j, k]))") ==
        "S or T over i, j, k");
  CHECK(of("%13:f64 = compute [] sum[i in 0..%0, j in 0..%0, k in 0..5] (add(%11[i, j, k], %1[i, j]))") == "none");
}

TEST_CASE("stored walk: ranges, subscripts and stores that it does not follow") {
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] sum[j in 1..%0] (%1[i, j])") == "none");
  CHECK(walk("%9:f64[3] = compute [i in 2..5] sum[j in 0..%0] (%1[i, j])") == "none");
  CHECK(walk(kRows + "(absent_mul(%1[i, j], %5[%7[j]]))") == "none");
  CHECK(walk(kRows + "(absent_mul(%1[i, sub(j, 1)], %5[j])) where gt(j, 0)") == "none");
  CHECK(walk(kRows + "(absent_mul(%1[i, j], %5[sub(j, 1)])) where gt(j, 0)") == "A over i, j");
  // Read panel by panel; if conditional, fetched whole.
  CHECK(walk(kRows + "(absent_mul(%1[i, j], %5[min(j, 2)]))") == "none");
  CHECK(walk(kRows + "(absent_mul(%1[i, j], add(%5[min(j, 2)], %5[max(j, 2)])))") == "none");
  CHECK(walk(kRows + "(absent_mul(%1[i, j], select(gt(j, 0), %5[max(sub(j, 1), 0)], 0.0)))") == "A over i, j");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) base %5 combine sum") == "none");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) base %5") == "none");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) combine max") == "none");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) left [i]") == "none");
  CHECK(walk("%9:f64[%0] = compute [i in 0..%0, j in 0..%0] (%1[i, j]) left [i] combine sum") == "none");
  CHECK(walk("%9:i64[%0] = compute [i in 0..%0] sum[j in 0..%0] (absent_div(%8[i, j], %7[j]))") == "none");
  CHECK(walk("%9:i64[%0] = compute [i in 0..%0] sum[j in 0..%0] (mul(%8[i, j], %7[j]))") == "N over i, j");
}

TEST_CASE("stored walk: compressed dimensions") {
  CHECK(verify(parse("program \"test\"\n%0:f64[compressed 3] \"a\" = input \"a\"\n")).empty());
  const std::string good = "program \"test\"\n%0:f64[3, compressed 3] \"A\" = input \"A\"\n";
  CHECK(verify(parse(good)).empty());
  CHECK(print(parse(good)) == good);
}

#include "passes/sparse/iteration.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "ir/analysis/iteration_rules.h"
#include "passes/rewriting.h"
#include "tests/unit/ir/eval_support.h"

using namespace tdsl::ir;
using namespace tdsl::tests;

namespace {

/// A and B are compressed, S is sparse but not compressed, D, U and V are dense.
const std::string kOfTensors =
    "program \"test\"\n%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n"
    "%2:f64[%0, compressed %0] \"B\" = input \"B\"\n%3:f64[%0, sparse %0] \"S\" = input \"S\"\n%4:f64[%0, %0] "
    "\"D\" = input \"D\"\n"
    "%5:f64[%0] \"x\" = input \"x\"\n%6:f64[%0, 8] \"U\" = input \"U\"\n%7:i64[%0] \"p\" = input \"p\"\n%8:i64[%0, "
    "compressed %0] \"N\" = input \"N\"\n";

/// Checks the choice for the last node by the verifier, unless it needs dense copies of other operands, and its text.
void check_choice(Program program, const SparseIteration& choice) {
  auto& c = std::get<Compute>(program.body.nodes.back().op);
  const std::set<ValueId> read = tdsl::passes::values_read(c);
  const bool complete =
      std::ranges::all_of(read, [&](ValueId v) { return !program.type(v).is_compressed() || visits(c, choice, v); });
  c.iteration = choice;
  const std::string text = print(program);
  INFO(text);
  if (complete) CHECK(verify(program).empty());
  CHECK(print(parse(text)) == text);
}

/// `A over j, i`: the sparse iteration of the last node, followed by `=` if its result has the same pattern, and by `+`
/// if elements of its rows are combined.
std::string iteration_of(const std::string& node) {
  const Program program = parse(kOfTensors + node + "\n");
  for (const std::string& problem : verify(program)) FAIL_CHECK(problem);
  const auto& c = std::get<Compute>(program.body.nodes.back().op);
  auto found = tdsl::passes::sparse_iteration(program, c, false);
  if (!found) return "none";
  check_choice(program, *found);
  Program compressed = program;
  compressed.values.back().type.format.levels.assign(c.out.size(), Format::Level::kCompressed);
  const auto made = tdsl::passes::sparse_iteration(compressed, c, true);
  if (made && made->result != SparseIteration::Result::kDense) check_choice(compressed, *made);
  if (made && !made->loops.empty()) found = made;
  const auto name = [&](std::int32_t label) {
    const auto l = static_cast<std::size_t>(label);
    return l < c.out.size() ? c.out[l].name : c.reduce[l - c.out.size()].name;
  };
  std::string loops, operands;
  for (const int k : found->loops.front().over)
    operands += (operands.empty() ? "" : fmt::format(" {} ", name_of(found->loops.front().merge))) +
                program.info(found->operands[static_cast<std::size_t>(k)].tensor).name;
  for (const StoredLoop& loop : found->loops) loops += (loops.empty() ? "" : ", ") + name(loop.label);
  const bool all = c.out.size() == found->driver().labels.size();  // otherwise with sums along the last levels
  const std::string_view result = found->result == SparseIteration::Result::kOrdered       ? all ? " =" : ""
                                  : found->result == SparseIteration::Result::kAccumulated ? " +"
                                                                                           : "";
  return fmt::format("{} over {}{}", operands, loops, result);
}

const std::string kRowSums = "%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] ";
const std::string kOfPoints = "%9:f64[%0, %0] = compute [i in 0..%0, j in 0..%0] ";

}  // namespace

TEST_CASE("iteration: sums of products with something dense") {
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, j], %5[j]))") == "A over i, j");
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[j, i], %5[j]))") == "A over j, i");
  CHECK(iteration_of(
            "%9:f64[%0, 8] = compute [i in 0..%0, k in 0..8] sum[j in 0..%0] (absent_mul(%1[i, j], %6[j, k]))") ==
        "A over i, j");
  CHECK(iteration_of(
            "%9:f64[8, %0] = compute [k in 0..8, j in 0..%0] sum[i in 0..%0] (absent_mul(%1[i, j], %6[i, k]))") ==
        "A over i, j");
  CHECK(iteration_of(kRowSums + "(mul(%1[i, j], %5[j]))") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%5[j], %1[i, j]))") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%3[i, j], %5[j]))") == "none");
  CHECK(iteration_of(kRowSums + "(mul(%4[i, j], %5[j]))") == "none");
}

TEST_CASE("iteration: sums and counts") {
  CHECK(iteration_of(kRowSums + "(%1[i, j])") == "A over i, j");
  CHECK(iteration_of(kRowSums + "(%1[j, i])") == "A over j, i");
  CHECK(iteration_of("%9:f64 = compute [] sum[i in 0..%0, j in 0..%0] (%1[i, j])") == "A over i, j");
  CHECK(iteration_of("%9:i64 = compute [] sum[i in 0..%0, j in 0..%0] (i64(ne(%1[i, j], 0.0)))") == "A over i, j");
  CHECK(iteration_of("%9:i64 = compute [] sum[i in 0..%0, j in 0..%0] (i64(lt(%1[i, j], 1.0)))") == "none");
  CHECK(iteration_of(kRowSums + "(exp(%1[i, j]))") == "none");
  CHECK(iteration_of(kRowSums + "(exp(%1[i, j])) where gt(%1[i, j], 2.0)") == "A over i, j");
}

TEST_CASE("iteration: other monoids need a guard") {
  const std::string any = "%9:bool[%0] = compute [j in 0..%0] any[i in 0..%0] ";
  CHECK(iteration_of(any + "(and(ne(%1[i, j], 0.0), gt(%5[i], 0.0)))") == "A over i, j");
  CHECK(iteration_of(any + "(gt(%5[i], 0.0)) where ne(%1[i, j], 0.0)") == "A over i, j");
  CHECK(iteration_of(any + "(or(ne(%1[i, j], 0.0), gt(%5[i], 0.0)))") == "none");
  const std::string smallest = "%9:f64[%0] = compute [j in 0..%0] min[i in 0..%0] ";
  CHECK(iteration_of(smallest + "(add(%1[i, j], %5[i])) where ne(%1[i, j], 0.0)") == "A over i, j");
  CHECK(iteration_of(smallest + "(add(%1[i, j], %5[i])) where ne(%1[i, j], 0.0) fill inf") == "A over i, j");
  CHECK(iteration_of(smallest + "(add(%1[i, j], %5[i])) where ne(%1[i, j], 0.0) fill 0.0") == "none");
  CHECK(iteration_of(smallest + "(%1[i, j])") == "none");
  CHECK(iteration_of("%9:i64[%0] = compute [j in 0..%0] argmin[i in 0..%0] (%1[i, j]) where ne(%1[i, j], 0.0)") ==
        "none");
}

TEST_CASE("iteration: a reduction of the user's is in index order") {
  const std::string last = "user(\"last\", 0.0, $1:f64)";
  const std::string tail = " (%1[i, j]) where ne(%1[i, j], 0.0)";
  CHECK(iteration_of("%9:f64 = compute [] " + last + "[i in 0..%0, j in 0..%0]" + tail) == "A over i, j");
  CHECK(iteration_of("%9:f64 = compute [] " + last + "[j in 0..%0, i in 0..%0]" + tail) == "none");
  CHECK(iteration_of("%9:f64[%0] = compute [j in 0..%0] " + last + "[i in 0..%0]" + tail) == "A over i, j");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] " + last + "[j in 0..%0, k in 0..8]" + tail) == "A over i, j");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] " + last + "[k in 0..8, j in 0..%0]" + tail) == "none");
}

TEST_CASE("iteration: results with the visited coordinates") {
  CHECK(iteration_of(kOfPoints + "(%1[i, j])") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(%1[j, i])") == "A over j, i");
  CHECK(iteration_of(kOfPoints + "(absent_div(%1[i, j], %5[i]))") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "sum[k in 0..8] (absent_mul(absent_mul(%1[i, j], %6[i, k]), %6[j, k]))") ==
        "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(%4[i, j]) where ne(%1[i, j], 0.0)") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(%4[i, j]) where ne(%1[i, j], 0.0) fill 1.0") == "none");
  CHECK(iteration_of(kOfPoints + "(add(%1[i, j], %4[i, j]))") == "none");
  CHECK(iteration_of(kOfPoints + "max[k in 0..8] (%6[i, k]) where ne(%1[i, j], 0.0)") == "A over i, j");
  CHECK(iteration_of(kOfPoints + "sum[k in 0..8] (%6[i, k]) where ne(%1[i, j], 0.0)") == "A over i, j =");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] (%1[i, i])") == "none");
}

TEST_CASE("iteration: elements that are not visited are 0 of the right sign") {
  CHECK(iteration_of(kOfPoints + "(neg(%1[i, j]))") == "none");
  CHECK(iteration_of(kOfPoints + "(add(neg(%1[i, j]), 0.0))") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(neg(%1[i, j])) where ne(%1[i, j], 0.0)") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(neg(add(%1[i, j], %2[i, j])))") == "none");
  CHECK(iteration_of(kOfPoints + "(add(neg(%1[i, j]), neg(%1[i, j])))") == "none");
  CHECK(iteration_of(kOfPoints + "(add(neg(%1[i, j]), %1[i, j]))") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(sub(neg(%1[i, j]), %1[i, j]))") == "none");
  CHECK(iteration_of(kOfPoints + "(sub(%1[i, j], neg(%1[i, j])))") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(max(%1[i, j], neg(%1[i, j])))") == "none");
  CHECK(iteration_of(kOfPoints + "(sqrt(abs(neg(%1[i, j]))))") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(select(gt(%1[i, j], 1.0), %4[i, j], neg(%1[i, j])))") == "none");
  CHECK(iteration_of(kRowSums + "(neg(%1[i, j]))") == "A over i, j");
}

TEST_CASE("iteration: several sparse operands") {
  CHECK(iteration_of(kOfPoints + "(mutual_mul(%1[i, j], %2[i, j]))") == "A and B over i, j =");
  CHECK(iteration_of(kOfPoints + "(mutual_mul(%2[i, j], %1[i, j]))") == "B and A over i, j =");
  CHECK(iteration_of(kOfPoints + "(absent_mul(%2[i, j], %1[i, j]))") == "B with A over i, j =");
  CHECK(iteration_of(kOfPoints + "(mutual_mul(%1[i, j], %2[j, i]))") == "A over i, j =");
  CHECK(iteration_of(kOfPoints + "(mutual_mul(%1[i, j], %1[j, i]))") == "none");
  CHECK(iteration_of(kOfPoints + "(mutual_mul(%3[i, j], %1[j, i]))") == "A over j, i");
  CHECK(iteration_of(kOfPoints + "sum[k in 0..%0] (mutual_mul(%1[i, k], %2[k, j]))") == "A over i, k, j +");
}

TEST_CASE("iteration: operands located at coordinates of others") {
  const std::string product = kOfPoints + "sum[k in 0..%0] ";
  CHECK(iteration_of(product + "(absent_mul(%2[k, j], %1[i, k]))") == "B over k, j");
  CHECK(iteration_of(product + "(mutual_mul(%1[i, k], %1[k, j]))") == "A over i, k, j +");
  CHECK(iteration_of(product + "(mutual_mul(mutual_mul(%1[i, k], %2[k, j]), %1[i, j]))") == "A over i, k, j +");
  CHECK(iteration_of(product + "(mutual_mul(%1[i, k], %2[k, j])) where ne(%1[i, j], 0.0)") == "A over i, k, j +");
  CHECK(iteration_of(product + "(mutual_mul(%1[i, k], %2[j, k]))") == "A over i, k");
  CHECK(iteration_of(product + "(mutual_mul(%1[i, k], %1[j, k]))") == "none");
  CHECK(iteration_of(product + "(mutual_mul(%1[k, i], %2[k, j]))") == "A over k, i");
  CHECK(iteration_of(kOfPoints +
                     "min[k in 0..%0] (add(%1[i, k], %2[k, j])) where and(ne(%1[i, k], 0.0), ne(%2[k, j], 0.0))") ==
        "A over i, k, j");
  CHECK(
      iteration_of(kOfPoints + "sum[k in 0..%0, l in 0..%0] (mutual_mul(mutual_mul(%1[i, k], %2[k, l]), %1[l, j]))") ==
      "A over i, k, l, j +");
  CHECK(iteration_of(
            "%9:f64 = compute [] sum[i in 0..%0, j in 0..%0, k in 0..%0] (mutual_mul(mutual_mul(%1[i, j], %1[j, k]), "
            "%1[i, k]))") == "A over i, j, k");
  // A dimension order of its own.
  const std::string last = "user(\"last\", 0.0, $1:f64)";
  const std::string both = " (add(%1[i, k], %2[k, j])) where and(ne(%1[i, k], 0.0), ne(%2[k, j], 0.0))";
  CHECK(iteration_of("%9:f64 = compute [] " + last + "[i in 0..%0, k in 0..%0, j in 0..%0]" + both) ==
        "A over i, k, j");
  CHECK(iteration_of("%9:f64 = compute [] " + last + "[i in 0..%0, j in 0..%0, k in 0..%0]" + both) == "none");
  CHECK(iteration_of("%9:f64[%0] = compute [k in 0..%0] " + last + "[i in 0..%0, j in 0..%0]" + both) ==
        "A over i, k, j");
}

TEST_CASE("iteration: unions of operands") {
  CHECK(iteration_of(kOfPoints + "(add(%1[i, j], %2[i, j]))") == "A or B over i, j =");
  CHECK(iteration_of(kOfPoints + "(sub(%2[i, j], %1[i, j]))") == "B or A over i, j =");
  CHECK(iteration_of(kOfPoints + "(min(%1[i, j], %2[i, j]))") == "A or B over i, j =");
  CHECK(iteration_of(kOfPoints + "(add(%1[i, j], mutual_mul(%2[i, j], add(%1[i, j], 1.0))))") == "A or B over i, j =");
  CHECK(iteration_of(kOfPoints + "(add(%1[j, i], %2[j, i]))") == "A or B over j, i");
  CHECK(iteration_of(kOfPoints + "(add(%1[i, j], %2[j, i]))") == "none");
  CHECK(iteration_of(kOfPoints + "(add(%1[i, j], %3[i, j]))") == "none");
  CHECK(iteration_of(kOfPoints + "(add(absent_mul(%1[i, j], %4[i, j]), absent_mul(%2[i, j], %5[i])))") ==
        "A or B over i, j =");
  CHECK(iteration_of(kOfPoints + "(select(gt(%1[i, j], 2.0), %4[i, j], %2[i, j]))") == "none");
  CHECK(iteration_of(kOfPoints + "(add(select(gt(%1[i, j], 2.0), %4[i, j], %2[i, j]), 0.0))") == "A or B over i, j =");
  CHECK(iteration_of(kRowSums + "(add(%1[i, j], %2[i, j]))") == "A or B over i, j");
  CHECK(iteration_of(kRowSums + "(max(add(%1[i, j], %2[i, j]), %5[j]))") == "none");
  CHECK(iteration_of(
            "%9:i64 = compute [] sum[i in 0..%0, j in 0..%0] (1) where or(ne(%1[i, j], 0.0), ne(%2[i, j], 0.0))") ==
        "A or B over i, j");
  CHECK(iteration_of("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (lt(%1[i, j], %2[i, j]))") ==
        "A or B over i, j =");
  CHECK(iteration_of("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (le(%1[i, j], %2[i, j]))") == "none");
  CHECK(iteration_of("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (and(gt(%1[i, j], 1.0), or(gt(%2[i, j], 1.0), "
                     "ne(%8[i, j], 0))))") == "A with B with N over i, j =");
  CHECK(iteration_of("%9:bool[%0, %0] = compute [i in 0..%0, j in 0..%0] (or(gt(%1[i, j], 1.0), and(gt(%2[i, j], 1.0), "
                     "ne(%8[i, j], 0))))") == "A or B or N over i, j =");
}

TEST_CASE("iteration: vectors, and tensors of more dimensions") {
  const auto of = [](const std::string& body) {
    const std::string vectors =
        "%9:f64[compressed %0] \"v\" = input \"v\"\n%10:f64[compressed %0] \"w\" = input \"w\"\n";
    const std::string tensors =
        "%11:f64[%0, compressed %0, compressed 5] \"S\" = input \"S\"\n%12:f64[%0, compressed %0, compressed 5] \"T\""
        " = input \"T\"\n";
    return iteration_of(vectors + tensors + body);
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

TEST_CASE("iteration: unsupported ranges, subscripts and stores") {
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] sum[j in 1..%0] (%1[i, j])") == "none");
  CHECK(iteration_of("%9:f64[3] = compute [i in 2..5] sum[j in 0..%0] (%1[i, j])") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, j], %5[%7[j]]))") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, sub(j, 1)], %5[j])) where gt(j, 0)") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, j], %5[sub(j, 1)])) where gt(j, 0)") == "A over i, j");
  // Read panel by panel; if conditional, fetched whole.
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, j], %5[min(j, 2)]))") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, j], add(%5[min(j, 2)], %5[max(j, 2)])))") == "none");
  CHECK(iteration_of(kRowSums + "(absent_mul(%1[i, j], select(gt(j, 0), %5[max(sub(j, 1), 0)], 0.0)))") ==
        "A over i, j");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) base %5 combine sum") == "none");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) base %5") == "none");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) combine max") == "none");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) left [i]") == "none");
  CHECK(iteration_of("%9:f64[%0] = compute [i in 0..%0, j in 0..%0] (%1[i, j]) left [i] combine sum") == "none");
  CHECK(iteration_of("%9:i64[%0] = compute [i in 0..%0] sum[j in 0..%0] (absent_div(%8[i, j], %7[j]))") == "none");
  CHECK(iteration_of("%9:i64[%0] = compute [i in 0..%0] sum[j in 0..%0] (mul(%8[i, j], %7[j]))") == "N over i, j");
}

TEST_CASE("iteration: compressed dimensions") {
  CHECK(verify(parse("program \"test\"\n%0:f64[compressed 3] \"a\" = input \"a\"\n")).empty());
  const std::string good = "program \"test\"\n%0:f64[3, compressed 3] \"A\" = input \"A\"\n";
  CHECK(verify(parse(good)).empty());
  CHECK(print(parse(good)) == good);
}

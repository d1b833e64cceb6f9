#include "ir/verify/verify.h"

#include <doctest/doctest.h>

#include <string>

#include "ir/text/print.h"

using namespace tdsl::ir;

namespace {

/// All problems of the program with these nodes, one per line.
std::string problems_with(const std::string& nodes) {
  std::string text;
  for (const std::string& problem : verify(parse("program \"\"\n" + nodes))) text += problem + "\n";
  return text;
}

bool mentions(const std::string& nodes, const std::string& what) {
  const std::string found = problems_with(nodes);
  INFO(found);
  return found.find(what) != std::string::npos;
}

const std::string kStart = "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n";

}  // namespace

TEST_CASE("verify: a well-formed program has no problems") {
  CHECK(problems_with(kStart + "%2:f64[%0] = compute [i in 0..%0] (mul(2.0, %1[i])) where gt(i, 0)\n"
                               "%3:f64 = compute [] sum[i in 0..%0] (%2[i])\n"
                               "%4:i64 = compute [] (0)\n"
                               "%5:f64 = for %4..%0 by 1 with (%3) do (%6:i64, %7:f64) {\n"
                               "  %8:f64 = compute [] (add(%7, %1[%6]))\n"
                               "  yield %8\n"
                               "}\n"
                               "output \"s\" %5\n") == "");
}

TEST_CASE("verify: definitions and scopes") {
  CHECK(mentions(kStart + "%1:f64 = compute [] (1.0)", "a second time"));
  CHECK(mentions("%2:i64 = compute [] (1)\n%1:i64 = compute [] (2)\noutput \"x\" %0", "uses %0"));
  CHECK(mentions(kStart + "%2:bool = compute [] (true)\nif %2 then () {\n%3:f64 = compute [] (1.0)\n} else () {\n}\n"
                          "output \"x\" %3",
                 "uses %3"));
}

TEST_CASE("verify: carried values have the same storage") {
  const auto loop = [](const std::string& argument, const std::string& result, const std::string& head) {
    return "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n%2:i64 = compute [] "
           "(0)\n"
           "%3:f64[%0, " +
           result + " %0] = for %2..%0 by 1 with (%1)" + head + " do (%4:i64, %5:f64[%0, " + argument +
           " %0]) {\n  yield %5\n}\noutput \"s\" %3\n";
  };
  CHECK(problems_with(loop("compressed", "compressed", "")) == "");
  CHECK(mentions(loop("sparse", "sparse", ""), "differ in type"));
  CHECK(mentions(loop("compressed", "sparse", ""), "differ in type"));
  CHECK(
      mentions("%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n%2:f64[%0, "
               "sparse %0] \"B\" = input \"B\"\n"
               "%3:bool = compute [] (true)\n%4:f64[%0, compressed %0] = if %3 then () {\n  yield %1\n} else () "
               "{\n  yield %2\n}\noutput \"s\" %4\n",
               "differ in type"));
}

TEST_CASE("verify: sparse iterations") {
  const auto sum = [](const std::string& body, const std::string& iteration) {
    return "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n%2:f64[%0, compressed %0] "
           "\"B\" = input \"B\"\n%3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (" +
           body + ") " + iteration + "\noutput \"s\" %3\n";
  };
  const std::string of_a = "stored [i over %1[i, j], j over %1[i, j]]";
  const std::string both = "stored [i over %1[i, j] or %2[i, j], j over %1[i, j] or %2[i, j]]";
  CHECK(problems_with(sum("%1[i, j]", of_a)) == "");
  CHECK(problems_with(sum("add(%1[i, j], %2[i, j])", both)) == "");
  CHECK(problems_with(sum("mutual_mul(%1[i, j], %2[i, j])", of_a + " lookup [mask %2[i, j]]")) == "");
  CHECK(mentions(sum("exp(%1[i, j])", of_a), "skips points with an effect where elements of %1 are absent"));
  CHECK(mentions(sum("add(%1[i, j], %2[i, j])", of_a + " lookup [%2[i, j]]"), "skips points with an effect"));
  CHECK(mentions(sum("absent_mul(%1[i, j], %2[j, i])", of_a), "reads %2 where it is not visited"));
  CHECK(mentions(sum("absent_mul(%1[i, j], exp(%2[i, j]))", of_a + " lookup [mask %2[i, j]]"), "has %2 as a mask"));
  CHECK(mentions(sum("%1[i, j]", "stored [j over %1[i, j], i over %1[i, j]]"), "does not begin with loops over all"));
  CHECK(mentions(sum("%1[i, j]", "stored [i over %1[i, j]]"), "does not begin with loops over all"));
  CHECK(mentions(sum("%1[i, j]", "stored [j over %1[j, i], i over %1[j, i]]"), "does not read the levels of %1"));
  CHECK(mentions(sum("%1[i, j]", of_a + " result ordered"), "do not make a result that is ordered"));
  CHECK(mentions(sum("%1[i, j]", "stored [] result moved"), "makes no compressed result as `moved`"));
}

TEST_CASE("verify: types, ranks and labels") {
  CHECK(mentions(kStart + "%2:f64 = compute [] (%1)", "rank 1 with 0 subscripts"));
  CHECK(mentions(kStart + "%2:f64[%0] = compute [i in 0..%0] (%1[#4])", "#4 does not exist"));
  CHECK(mentions(kStart + "%2:i64[%0] = compute [i in 0..%0] (%1[i])", "element type is not the body's"));
  CHECK(mentions(kStart + "%2:f64 = compute [i in 0..%0] (%1[i])", "rank is not the number of out labels"));
  CHECK(mentions(kStart + "%2:f64[%0 + 1] = compute [i in 0..%0] (%1[i])", "extents are not those"));
  CHECK(mentions(kStart + "%2:f64[%1] = compute [i in 0..%0] (%1[i])", "not an integer scalar"));
  CHECK(mentions(kStart + "%2:f64[%0] = compute [i in 0..%0] (%1[i]) where i", "guard is not bool"));
  CHECK(mentions(kStart + "%2:f64 = compute [] (1.0)\nassert %2 \"\"", "not a bool scalar"));
}

TEST_CASE("verify: reductions and regions") {
  Program p = parse("program \"\"\n" + kStart + "%2:f64 = compute [] sum[i in 0..%0] (%1[i])\n");
  std::get<Compute>(p.body.nodes[2].op).monoid.reset();
  CHECK(verify(p).size() == 1);
  CHECK(mentions(kStart + "%2:f64 = compute [] any[i in 0..%0] (%1[i])", "reduce bools"));
  CHECK(mentions(kStart + "%2:i64 = compute [] (0)\n%3:f64[%0] = for %2..%0 by 1 with (%1) do (%4:i64, %5:f64[2]) "
                          "{\nyield %5\n}\n",
                 "differ in type"));
  CHECK(mentions(kStart + "%2:i64 = compute [] (0)\n%3:i64 = while with (%2) do (%4:i64) {\nyield %4\n} do (%5:i64, "
                          "%6:i64) {\nyield %6\n}\n",
                 "does not yield one bool"));
}

TEST_CASE("verify: chains and choices") {
  const std::string start =
      "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, %0] \"A\" = input \"A\"\n%2:f64[%0] \"x\" = input \"x\"\n";
  CHECK(problems_with(start + "%3:f64[%0] = chain [%0, %0, %0, 1] (%1, %1', %2)\n") == "");
  CHECK(mentions(start + "%3:f64[%0, %0] = chain [%0, %0, %0] (%1, %1)\n", "less than three factors"));
  CHECK(mentions(start + "%3:f64[%0, %0] = chain [%0, %0, %0] (%1, %1, %1)\n", "one size more"));
  CHECK(mentions(start + "%3:f64[%0, %0 + 1] = chain [%0, %0, %0, %0] (%1, %1, %1)\n", "the first and the last size"));
  CHECK(mentions(start + "%3:f64[%0, %0] = chain [%0, %0, %0, %0] (%1, %1, %2)\n", "is no matrix"));
  CHECK(mentions(start + "%3:f32[%0, %0] = chain [%0, %0, %0, %0] (%1, %1, %1)\n", "element type"));
  const std::string ordered = start + "%3:f64[%0] = compute in any order [i in 0..%0] sum[j in 0..%0, k in 0..%0] ";
  CHECK(problems_with(ordered + "(mul(mul(%1[i, j], %1[j, k]), %2[k]))\n") == "");
  for (const char* body : {"(mul(%1[i, j], %1[j, k]))\n", "(mul(mul(%1[i, j], %1[j, j]), %2[k]))\n",
                           "(mul(add(%1[i, j], %1[j, k]), %2[k]))\n"}) {
    CHECK(mentions(ordered + body, "no sum of products"));
  }
  const std::string form = "%4:f64[%0] = compute [i in 0..%0] (%2[i])\nyield %4\n";
  CHECK(problems_with(start + "%3:f64[%0] = choose either \"a\" () {\n" + form + "} or \"b\" () {\nyield %2\n}\n") ==
        "");
  CHECK(mentions(start + "%3:f64[%0] = choose either \"a\" () {\n" + form + "} or \"b\" () {\nyield %1\n}\n",
                 "a form's yields"));
  CHECK(mentions(start + "%3:f64[%0] = choose either \"a\" () {\nprint \"x\"\nyield %2\n}\n", "has effects"));
}

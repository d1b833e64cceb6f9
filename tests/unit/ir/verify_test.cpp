#include "ir/verify/verify.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ir/graph/procedure.h"
#include "ir/text/print.h"

// Every rule of ir/verify is violated once (tests/project/rules.py).

namespace tdsl::tests::ir_rules {

using namespace ir;

namespace {

/// All problems of the program, one per line.
std::string problems_of(const Program& program) {
  std::string text;
  for (const std::string& problem : verify(program)) text += problem + "\n";
  return text;
}

Program program_with(const std::string& nodes) { return parse("program \"\"\n" + nodes); }

std::string problems_with(const std::string& nodes) { return problems_of(program_with(nodes)); }

void expect(const std::string& problems, const std::string& nodes, const std::string& sentence) {
  CHECK_MESSAGE(problems.find(sentence) != std::string::npos, nodes << "\nhas the problems\n"
                                                                    << problems << "not\n"
                                                                    << sentence);
}

/// Nodes after common ones, and a problem that they have.
using Violations = std::vector<std::pair<std::string, std::string>>;
void expect_all(const std::string& start, const Violations& violations) {
  for (const auto& [nodes, sentence] : violations) expect(problems_with(start + nodes), nodes, sentence);
}

/// For programs without a text form: the last node is changed.
template <class T, class F>
void expect_after(const std::string& nodes, const F& change, const std::string& sentence) {
  Program program = program_with(nodes);
  change(std::get<T>(program.body.nodes.back().op));
  expect(problems_of(program), nodes, sentence);
}

Expr made(Scalar type, ExprOp op) { return Expr(std::make_shared<const ExprNode>(ExprNode{{}, type, std::move(op)})); }

const std::string kVector = "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0] \"x\" = input \"x\"\n";
const std::string kMatrix = "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, %0] \"A\" = input \"A\"\n";

}  // namespace

TEST_CASE("verify: a well-formed program has no problems") {
  CHECK(problems_with(kVector + "%2:f64[%0] = compute [i in 0..%0] (mul(2.0, %1[i])) where gt(i, 0)\n"
                                "%3:f64 = compute [] sum[i in 0..%0] (%2[i])\n"
                                "%4:i64 = compute [] (0)\n"
                                "%5:f64 = for %4..%0 by 1 with (%3) do (%6:i64, %7:f64) {\n"
                                "  %8:f64 = compute [] (add(%7, %1[%6]))\n"
                                "  yield %8\n"
                                "}\n"
                                "output \"s\" %5\n") == "");
}

TEST_CASE("verify: definitions and scopes") {
  const std::string condition = "%2:bool = compute [] (true)\n";
  expect_all(kVector,
             {{"yield %1", "the program: has arguments or yields"},
              {"%1:f64 = compute [] (1.0)", "compute %1 at line 0: defines %1 a second time"},
              {"%3:i64 = compute [] (1)\noutput \"x\" %2", "uses %2, which is not defined before it or not in scope"},
              {condition + "if %2 then () {\n%3:f64 = compute [] (1.0)\n} else () {\n}\noutput \"x\" %3",
               "uses %3, which is not defined before it or not in scope"},
              {"%2:f64[%1] = compute [i in 0..%0] (%1[i])", "the extent's value %1 is not an integer scalar"},
              {condition + "if %2 then () {\noutput \"x\" %1\n} else () {\n}", "stands inside a loop or branch"},
              {"output \"x\" %1\noutput \"x\" %1", "`x` is an output already"}});
  Program unknown = program_with(kVector);
  unknown.body.nodes[1].results[0].id = 99;
  expect(problems_of(unknown), "a result %99", "input %99 at line 0: defines an unknown value");
  Program deep = program_with(kVector);
  deep.values[1].type.format.levels.resize(2);
  expect(problems_of(deep), "a vector of two levels", "%1: the format has too many levels");
  expect_after<For>(
      kVector + "for %0..%0 by 1 with () do (%2:i64) {\n}", [](For& f) { f.body.arguments[0].id = 99; },
      "defines the unknown value %99");
}

TEST_CASE("verify: series of records") {
  const std::string begun = "%2:f64[0, %0] = compute [i in 0..0, j in 0..%0] (0.0)\noutput \"x\" %2 begins\n";
  const std::string number = "%3:i64 = compute [] (0)\n", truth = "%4:bool = compute [] (true)\n";
  const std::string appends = "if %4 then () {\noutput \"x\" %1 record %3\n} else () {\n}\n";
  CHECK(problems_with(kVector + begun + number + truth + appends) == "");
  expect_all(kVector + number + truth,
             {{begun + "output \"x\" %1", "`x` is an output already"},
              {"if %4 then () {\n" + begun + "} else () {\n}", "stands inside a loop or branch"},
              {"output \"x\" %3 begins", "a series begins with a tensor of no records"},
              {begun + "output \"x\" %1 record %4", "the number of a record is not an i64 scalar"},
              {appends + begun, "the series `x` has not begun"},
              {"output \"x\" %1\n" + appends, "the series `x` has not begun"},
              {begun + "output \"x\" %2 record %3", "a record has the type of its series"},
              {"%5:i64[0, %0] = compute [i in 0..0, j in 0..%0] (0)\noutput \"x\" %5 begins\n" + appends,
               "a record has the type of its series"}});
}

TEST_CASE("verify: results and operands of simple nodes") {
  expect_all(
      kVector,
      {{"input \"y\"", "needs one result"},
       {"%2:f64 = dimension \"m\"", "needs one i64 scalar as result"},
       {"%2:i64 = found %1 estimate %0 \"m\"", "the count is not an i64 scalar"},
       {"%2:f64[%0] = param \"p\"", "needs one scalar as result"},
       {"%2:f64 = param \"p\" = %0 text \"n\"", "the default is not a scalar of the param's type"},
       {"%2:i64[%0] = uniform site 1 []", "needs one float tensor as result"},
       {"%2:f64[%0] = uniform site 1 [%1]", "an iteration number is not an i64 scalar"},
       {"%2:f64[%0, sparse %0] = sparse_uniform site 1 []", "has no density"},
       {"%2:f64 = compute [] (0.5)\n%3:f64[%0] = sparse_uniform site 1 [%2]", "needs an f64 matrix as result"},
       {"%2:f64[%0, compressed %0] = uniform site 1 []", "%2 is compressed, but not made element by element"},
       {"%2:f64[%0, coded %0] = compute [i in 0..%0, j in 0..%0] (1.0)", "%2 is coded, but no matrix from a file"},
       {"%2:f64[%0, compressed %0, coded %0] \"A\" = input \"A\"", "%2 is coded, but no matrix from a file"},
       {"%2:i64 = print \"x\"", "has a result"},
       {"%2:f64 = compute [] (1.0)\nassert %2 \"\"", "assert at line 0: the condition is not a bool scalar"},
       {"check %0 == %0 if %1 \"m\"", "the guard is not a bool scalar"}});
  expect_after<Param>(
      kVector + "%2:f64 = compute [] (1.0)\n%3:f64 = param \"p\" = %2 text \"1\"",
      [](Param& p) { p.default_value = Literal(1.0); }, "has two defaults");
  expect_after<Param>(
      "%0:f64 = param \"p\" = 1.0", [](Param& p) { p.default_value = Literal(true); },
      "the default is not of the param's type");
}

TEST_CASE("verify: carried values have the same storage") {
  const auto loop = [](const std::string& argument, const std::string& result, const std::string& mark) {
    return "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n%2:i64 = compute [] "
           "(0)\n"
           "%3:f64[%0, " +
           result + " %0] = for %2..%0 by 1" + mark + " with (%1) do (%4:i64, %5:f64[%0, " + argument +
           " %0]) {\n  yield %5\n}\noutput \"s\" %3\n";
  };
  CHECK(problems_with(loop("compressed", "compressed", "")) == "");
  expect_all("",
             {{loop("sparse", "sparse", ""), "initial values and carried values: %1 and %5 differ in type"},
              {loop("compressed", "sparse", ""), "initial values and results: %1 and %3 differ in type"},
              {loop("compressed", "compressed", " serial"), "runs as one task, and carries %5, which is compressed"},
              {"%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n%2:f64[%0, "
               "sparse %0] \"B\" = input \"B\"\n"
               "%3:bool = compute [] (true)\n%4:f64[%0, compressed %0] = if %3 then () {\n  yield %1\n} else () "
               "{\n  yield %2\n}\noutput \"s\" %4\n",
               "results and the second branch's yields: %4 and %2 differ in type"}});
}

TEST_CASE("verify: sparse iterations") {
  const std::string start =
      "%0:i64 \"n\" = dimension \"n\"\n%1:f64[%0, compressed %0] \"A\" = input \"A\"\n%2:f64[%0, compressed %0] "
      "\"B\" = input \"B\"\n";
  const auto over = [](const std::string& reduce, const std::string& body, const std::string& iteration) {
    return "%3:f64[%0] = compute [i in 0..%0] sum[" + reduce + "] (" + body + ") " + iteration + "\noutput \"s\" %3\n";
  };
  const auto sum = [&](const std::string& body, const std::string& iteration) {
    return over("j in 0..%0", body, iteration);
  };
  const std::string of_a = "stored [i over %1[i, j], j over %1[i, j]]";
  const std::string both = "stored [i over %1[i, j] or %2[i, j], j over %1[i, j] or %2[i, j]]";
  const std::string more = "stored [i over %1[i, j], j over %1[i, j], ";
  const std::string jk = "j in 0..%0, k in 0..%0";
  const std::string jkl = jk + ", l in 0..%0";
  CHECK(problems_with(start + sum("%1[i, j]", of_a)) == "");
  CHECK(problems_with(start + sum("add(%1[i, j], %2[i, j])", both)) == "");
  CHECK(problems_with(start + sum("mutual_mul(%1[i, j], %2[i, j])", of_a + " lookup [mask %2[i, j]]")) == "");
  expect_all(
      start,
      {{sum("exp(%1[i, j])", of_a), "skips points with an effect where elements of %1 are absent"},
       {sum("add(%1[i, j], %2[i, j])", of_a + " lookup [%2[i, j]]"),
        "skips points with an effect where elements of %1 are absent"},
       {sum("absent_mul(%1[i, j], %2[j, i])", of_a), "reads %2 where it is not visited"},
       {sum("absent_mul(%1[i, j], exp(%2[i, j]))", of_a + " lookup [mask %2[i, j]]"),
        "has %2 as a mask, without whose elements points have an effect"},
       {sum("%1[i, j]", "stored [j over %1[i, j], i over %1[i, j]]"),
        "does not begin with loops over all levels of its first operand"},
       {sum("%1[i, j]", "stored [i over %1[i, j]]"), "does not begin with loops over all levels of its first operand"},
       {sum("%1[i, j]", "stored [j over %1[j, i], i over %1[j, i]]"), "does not read the levels of %1"},
       {sum("%1[i, j]", "stored [i over %1[i, j], i over %1[i, j]]"), "iterates over an index variable twice"},
       {sum("%1[i, j]", of_a + " result ordered"), "its loops do not make a result that is ordered"},
       {sum("%1[i, j]", "stored [] result moved"), "makes no compressed result as `moved`"},
       {sum("%1[i, j]", "fill 1.0 " + of_a), "iterates over stored elements, which its stores or reads do not allow"},
       {over(jkl, "mul(%1[i, j], %2[k, l])", more + "l over %2[k, l]]"),
        "iterates over a level of %2 without those above it"},
       {over(jkl, "mul(%1[i, j], %2[k, l])", more + "k over %2[k, l]]"), "does not iterate over all levels of %2"},
       {over(jk, "mul(%1[i, j], add(%2[j, k], %1[j, k]))", more + "k over %2[j, k] or %1[j, k]]"),
        "merges operands other than the driver's companions"},
       {"%3:f64 = compute [] user(\"m\", 0.0, add($0:f64, $1:f64))[i in 0..%0, j in 0..%0] (%1[j, i]) "
        "stored [j over %1[j, i], i over %1[j, i]]",
        "combines values in another order than a user's reduction requires"}});
  const std::string nodes = start + "%3:f64[%0] = compute [i in 0..%0] sum[j in 0..%0] (%1[i, j]) " + of_a;
  expect_after<Compute>(
      nodes, [](Compute& c) { c.iteration->loops[0].over = {7}; }, "has a loop over unknown operands");
  expect_after<Compute>(
      nodes, [](Compute& c) { c.iteration->masks = {7}; }, "has an unknown mask");
}

TEST_CASE("verify: expressions") {
  const std::string procedure = "%2:f64 = compute [] (apply procedure \"f\" 0 [\"i\":i64] ";
  const std::string user = "%2:f64 = compute [] user(\"m\", ";
  expect_all(kVector, {{"%2:f64 = compute [] (%1)", "reads %1 of rank 1 with 0 subscripts"},
                       {"%2:f64 = compute [] (%1[1.0])", "a subscript of %1 is not i64"},
                       {"%2:f64[%0] = compute [i in 0..%0] (%1[#4])", "the index variable #4 does not exist here"},
                       {"%2:f64[%0] = compute [i in 0..%0] (%1[i]) fill %1[0]", "a constant expression reads a tensor"},
                       {"%2:f64 = compute [] ($0:f64)", "an argument stands outside a combine expression"},
                       {user + "0.0, $0:i64)[i in 0..%0] (%1[i])", "an argument has the wrong type"},
                       {user + "0.0, $2:f64)[i in 0..%0] (%1[i])", "an argument has a wrong number"},
                       {user + "0, $0:f64)[i in 0..%0] (%1[i])", "the reduction's type is not that of its operands"},
                       {"%2:f64 = compute [] (select(1, 2.0, 3.0))", "a condition is not bool"},
                       {"%2:f64 = compute [] (select(true, 2.0, 3))", "the branches of a select differ in type"},
                       {procedure + "{ for $0 in 0 .. 1.0 by 1 { } } return 1.0 ())",
                        "procedure f: not so: an expression has the type its place needs"},
                       {procedure + "{ for $0 in 0 .. 3 by 0 { } } return 1.0 ())",
                        "procedure f: not so: a loop's step is not 0"},
                       {procedure + "{ $0 = 1.0; } return 1.0 ())",
                        "procedure f: not so: a variable exists and has its value's type"}});
  const Expr one = constant(Scalar::kF64, 1.0);
  auto function = std::make_shared<Procedure>();
  function->name = "f";
  function->parameters = 1;
  function->result = one;
  const auto longer = std::make_shared<Procedure>(*function);
  longer->variables = {{"a", Scalar::kF64}};
  const std::vector<std::pair<Expr, std::string>> bodies = {
      {Expr(), "an expression is missing"},
      {read(Scalar::kF64, {99}, {}), "reads the unknown value %99"},
      {read(Scalar::kI64, {1}, {index_ref(0)}), "reads %1 of f64 as i64"},
      {made(Scalar::kF64, Constant{true}), "a constant's literal is not of its type"},
      {made(Scalar::kF64, IndexRef{0}), "an index variable is not i64"},
      {made(Scalar::kI64, Unary{UnaryOp::kNeg, one}), "neg of f64 is not i64"},
      {made(Scalar::kI64, Binary{BinaryOp::kAdd, one, one}), "add of f64 and f64 is not i64"},
      {made(Scalar::kF64, Apply{function, {}}), "procedure f: not so: parameters are variables"},
      {made(Scalar::kF64, Apply{longer, {}}), "procedure f: not so: there is one argument per parameter"},
      {made(Scalar::kF64, Apply{longer, {constant_i64(1)}}),
       "procedure f: not so: an argument has its parameter's type"}};
  for (const auto& rule : bodies)
    expect_after<Compute>(
        kVector + "%2:f64[%0] = compute [i in 0..%0] (%1[i])", [&](Compute& c) { c.bodies[0] = rule.first; },
        rule.second);
}

TEST_CASE("verify: types, ranks and labels of Computes") {
  const std::string map = "%2:f64[%0] = compute [i in 0..%0] (%1[i]) ";
  expect_all(
      kVector,
      {{"%2:i64[%0] = compute [i in 0..%0] (%1[i])", "the result's element type is not the body's"},
       {"%2:f64 = compute [i in 0..%0] (%1[i])", "the result's rank is not the number of out labels"},
       {"%2:f64[%0 + 1] = compute [i in 0..%0] (%1[i])", "the result's extents are not those of the out labels"},
       {map + "where i", "the guard is not bool"},
       {map + "left [1.0]", "a left subscript is not i64"},
       {map + "left [i, i]", "the result's rank is not the number of left subscripts"},
       {map + "base %0", "base and result differ in type"},
       {map + "combine argmin", "elements cannot be combined by argmin or argmax"},
       {map + "fill 1", "fill is not a constant of the result's type"},
       {"%2:f64[%0], %3:f64[%0] = compute [i in 0..%0] (%1[i], %1[i]) base %1", "a node with a base has one result"},
       {"%2:f64 = compute [] (1.0, 2.0)", "bodies and results differ in number"},
       {"%2:f64 = compute [] sum[] (1.0)", "a reduction needs exactly reduce labels and a monoid"},
       {"%2:f64 = compute [] any[i in 0..%0] (%1[i])", "any and all reduce bools"},
       {"%2:bool = compute [] sum[i in 0..%0] (gt(%1[i], 0.0))", "bools meet in any and all only"},
       {"%2:i64 = compute [] argmin[i in 0..%0, j in 0..%0] (%1[i])", "argmin and argmax take one reduce label"}});
  const std::string ordered = "%2:f64[%0] = compute in any order [i in 0..%0] sum[j in 0..%0, k in 0..%0] ";
  CHECK(problems_with(kMatrix + ordered + "(mul(mul(%1[i, j], %1[j, k]), %1[i, k]))\n") == "");
  for (const char* body : {"(mul(%1[i, j], %1[j, k]))\n", "(mul(mul(%1[i, j], %1[j, j]), %1[i, k]))\n",
                           "(mul(add(%1[i, j], %1[j, k]), %1[i, k]))\n"})
    expect_all(kMatrix, {{ordered + body, "a node computed in any order is no sum of products"}});
  const std::string searched = "%2:i64[%0] = compute by search [i in 0..%0] sum[j in 0..%0] ";
  CHECK(problems_with(kVector + searched + "(i64(le(%1[j], %1[i])))\n") == "");
  for (const char* body : {"(i64(ge(%1[j], %1[i])))\n", "(i64(lt(%1[i], %1[j])))\n", "(i64(le(%1[j], f64(j))))\n"})
    expect_all(kVector, {{searched + body, "a node computed by search is no count of elements up to a value"}});
}

TEST_CASE("verify: loops and branches") {
  const std::string vector = "%5:f64[%0] = ", one = "for %0..%0 by 1 ", yields = " {\nyield %3\n}";
  const std::string truth = "%2:bool = compute [] (true)\n";
  expect_all(
      kVector,
      {{"for %1..%0 by 1 with () do (%2:i64) {\n}", "the bounds are not i64 scalars"},
       {"for %0..%0 by 0 with () do (%2:i64) {\n}", "the step is 0"},
       {one + "with () do (%2:f64) {\n}", "the index is not an i64 scalar"},
       {one + "serial with () do (%2:i64) {\nprint \"x\"\n}", "a loop is marked serial, but it prints"},
       {vector + one + "with (%1) do (%2:i64, %3:f64[2])" + yields,
        "initial values and carried values: %1 and %3 differ in type"},
       {vector + one + "with (%1) do (%2:i64, %3:f64[2])" + yields,
        "initial values and yields: %1 and %3 differ in type"},
       {one + "with (%1) do (%2:i64, %3:f64[%0])" + yields, "initial values and results differ in number"},
       {vector + "while with (%1) do (%2:f64[2]) {\n%3:bool = compute [] (true)\nyield %3\n} do (%4:i64, %6:f64[%0]) "
                 "{\nyield %6\n}",
        "initial values and the condition's arguments: %1 and %2 differ in type"},
       {vector + "while with (%1) do (%2:f64[%0]) {\nyield %2\n} do (%4:i64, %3:f64[%0])" + yields,
        "the condition does not yield one bool scalar"},
       {vector + "while with (%1) do (%2:f64[%0]) {\nyield %2\n} do (%4:f64, %3:f64[%0])" + yields,
        "the iteration number is not an i64 scalar"},
       {"if %0 then () {\n} else () {\n}", "if at line 0: the condition is not a bool scalar"},
       {truth + "if %2 then (%3:i64) {\n} else () {\n}", "a branch has arguments"},
       {truth + "%3:f64 = if %2 then () {\nyield %0\n} else () {\nyield %1\n}",
        "results and the first branch's yields: %3 and %0 differ in type"},
       {truth + "%3:f64 = if %2 then () {\nyield %0\n} else () {\nyield %1\n}",
        "results and the second branch's yields: %3 and %1 differ in type"}});
}

TEST_CASE("verify: chains, choices and derivatives") {
  const std::string start = kMatrix + "%2:f64[%0] \"x\" = input \"x\"\n";
  const std::string form = "%4:f64[%0] = compute [i in 0..%0] (%2[i])\nyield %4\n";
  const std::string choice = "%3:f64[%0] = choose either \"a\" () {\nyield %2\n}";
  CHECK(problems_with(start + "%3:f64[%0] = chain [%0, %0, %0, 1] (%1, %1', %2)\n") == "");
  CHECK(problems_with(start + "%3:f64[%0] = choose either \"a\" () {\n" + form + "} or \"b\" () {\nyield %2\n}\n") ==
        "");
  expect_all(start,
             {{"%3:i64[%0, %0] = chain [%0, %0, %0, %0] (%1, %1, %1)", "needs one float tensor as result"},
              {"%3:f64[%0, %0] = chain [%0, %0, %0] (%1, %1)", "has less than three factors"},
              {"%3:f64[%0, %0] = chain [%0, %0, %0] (%1, %1, %1)", "does not have one size more than factors"},
              {"%3:f64[%0, %0 + 1] = chain [%0, %0, %0, %0] (%1, %1, %1)",
               "the result's extents are not the first and the last size"},
              {"%3:f64[%0] = chain [%0, %0, %0, 2] (%1, %1, %2)", "the last size of a product with a vector is not 1"},
              {"%3:f64[%0, %0] = chain [%0, %0, %0, %0] (%1, %1, %2)", "a factor is no matrix"},
              {"%3:f32[%0, %0] = chain [%0, %0, %0, %0] (%1, %1, %1)", "a factor's element type is not the result's"},
              {"%3:f64[%0] = choose either \"a\" () {\n" + form + "} or \"b\" () {\nyield %1\n}",
               "results and a form's yields: %3 and %1 differ in type"},
              {"%3:f64[%0] = choose either \"a\" () {\nprint \"x\"\nyield %2\n}", "a form has effects"},
              {"%3:f64[%0] = choose either \"a\" (%4:i64) {\nyield %2\n}", "a form has arguments"},
              {"%3:f64[%0] = gradient %2 (%2)", "the loss is not a float scalar"},
              {"%3:f64 = compute [] (1.0)\n%4:i64 = gradient %3 (%0)",
               "differentiates with respect to a value that is no float"},
              {"%3:f64 = compute [] (1.0)\n%4:f64 = gradient %3 (%2)",
               "derivatives and variables: %4 and %2 differ in type"}});
  expect_after<Choose>(
      start + choice, [](Choose& c) { c.names.emplace_back("b"); }, "forms and their names differ in number");
  expect_after<Choose>(
      start + choice, [](Choose& c) { c = {}; }, "has nothing to choose from");
}

TEST_CASE("verify: routines") {
  const std::string foreign = "routine foreign \"k.hpp\" \"f\" (\"x\" : f64 ";
  expect_all(
      kVector,
      {{"%2:f64[%0] = routine cumsum (%1, %1) axis 0", "cumsum has 1 operands and 1 results"},
       {"%2:f64[%0] = routine cumsum (%1) axis 1", "the axis does not exist"},
       {"%2:f64 = routine cumsum (%1) axis 0", "result 0 has not the rank 1"},
       {"%2:f64[%0 + 1] = routine cumsum (%1) axis 0", "dimension 0 of result 0 cannot have the extent it should have"},
       {"%2:bool[%0] \"b\" = input \"b\"\n%3:bool[%0] = routine cumsum (%2) axis 0",
        "cumsum and cumprod combine i64, u64, floats or complex numbers"},
       {"%2:f64[%0] = routine argsort (%1) axis 0", "result 0 is not i64"},
       {"%2:f64[%0] = routine inv (%1)", "the operand is not a matrix of floats"},
       {"%2:f32[%0, %0] \"A\" = input \"A\"\n%3:f32[%0] = routine solve (%2, %1)", "the right side has another type"},
       {"%2:f64[%0] = " + foreign + "0) f64 operations 1 (%1)", "a foreign routine names no kernel"},
       {"%2:f64[%0] = " + foreign + "2, \"y\" : out f64 1) kernel operations 1 (%1)",
        "`x` has another type than the kernel declares"}});
}

TEST_CASE("verify: fused operators") {
  const std::string first = "%3:f64[%0] = compute [i in 0..%0] (mul(2.0, %1[i]))\n";
  const std::string second = "%4:f64[%0] = compute [i in 0..%0] (add(%3[i], 1.0))\n";
  const auto fused = [](const std::string& head, const std::string& nodes, const std::string& yields) {
    return "%2:f64[%0] = fused " + head + " {\n" + nodes + "yield " + yields + "\n}\n";
  };
  const std::string at = "[i in 0..%0] at ([0], [0]) ()";
  CHECK(problems_with(kVector + fused(at, first + second, "%4")) == "");
  expect_all(
      kVector,
      {{fused("[] at ([], []) ()", first + second, "%4"), "shares no index variable"},
       {fused("[i in 0..%0] at ([0], [0]) (%5:i64)", first + second, "%4"), "its region has arguments"},
       {fused("[i in 0..%0] at ([0]) ()", first + second, "%4"), "labels and nodes differ in number"},
       {fused("[i in 0..%0] at ([0], [0, 1]) ()", first + second, "%4"), "a node does not say which labels are shared"},
       {fused("[i in 0..%0] at ([0], [5]) ()", first + second, "%4"), "a shared label does not exist"},
       {fused("[i in 0..%0, j in 0..%0] at ([0, 0], [0, 0]) ()", first + second, "%4"), "a label is shared twice"},
       {fused("[i in 0..2] at ([0], [0]) ()", first + second, "%4"), "a shared label has another range"},
       {fused(at, "%3:i64 = dimension \"m\"\n%4:f64[%0] = compute [i in 0..%0] (%1[i])\n", "%4"),
        "a node is no compute of one result"},
       {fused(at, first + "%4:f64[%0] = compute [i in 0..%0] (%3[i]) base %1\n", "%4"), "a node writes into a tensor"},
       {fused(at, "%3:f64 = compute [] sum[i in 0..%0] (%1[i])\n%4:f64[%0] = compute [i in 0..%0] (add(%1[i], %3))\n",
              "%4"),
        "reads %3, which is not complete"},
       {fused(at, first + "%4:f64[%0] = compute [i in 0..%0] (%3[0])\n", "%4"),
        "reads %3 at another place than its own"},
       {fused(at, first + second, "%3, %4"), "results and yields differ in number"},
       {fused(at, first + second, "%1"), "yields %1, which it does not compute"},
       {fused(at, first + "%4:i64[%0] = compute [i in 0..%0] (i)\n", "%4"), "results and yields differ in type"}});
}

TEST_CASE("verify: products with an epilogue") {
  const auto epilogue = [](const std::string& head, const std::string& nodes, const std::string& yields) {
    return "%2:f64[%0, %0] = epilogue [i in 0..%0, j in 0..%0] at (" + head + ") () {\n" + nodes + "yield " + yields +
           "\n}\n";
  };
  const std::string point = ":f64[%0, %0] = compute [i in 0..%0, j in 0..%0] ";
  const std::string product = "%3" + point + "sum[k in 0..%0] (mul(%1[i, k], %1[k, j]))\n";
  const std::string after = "%4" + point + "(add(%3[i, j], 1.0))\n", straight = "[0, 1], [0, 1]";
  CHECK(problems_with(kMatrix + epilogue(straight, product + after, "%4")) == "");
  expect_all(
      kMatrix,
      {{epilogue("[0, 1]", product, "%3"), "an epilogue has other nodes than a product and what follows it"},
       {epilogue(straight, "%3" + point + "(%1[i, j])\n" + after, "%4"), "its first node is no product of matrices"},
       {epilogue(straight, product + "%4" + point + "(%3[i, j]) where gt(i, 0)\n", "%4"),
        "what follows the product is not element-wise"},
       {epilogue(straight, product + after, "%3"), "an epilogue yields something else than its last node"},
       {epilogue("[1, 0], [1, 0]", product + after, "%4"),
        "an epilogue does not share all index variables of the result, in order"},
       {epilogue(straight, product + "%4" + point + "(%1[i, j])\n", "%4"), "an epilogue does not read its product"}});
  expect_all("%0:i64 \"n\" = dimension \"n\"\n%1:f32[%0, %0] \"A\" = input \"A\"\n",
             {{epilogue(straight,
                        "%3:f32[%0, %0] = compute [i in 0..%0, j in 0..%0] sum[k in 0..%0] (mul(%1[i, k], %1[k, j]))\n"
                        "%4" +
                            point + "(f64(%3[i, j]))\n",
                        "%4"),
               "an epilogue changes the element type"}});
}

}  // namespace tdsl::tests::ir_rules

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ir/algebra/rules/paper_cost.h"
#include "ir/algebra/rules/reachable.h"
#include "ir/algebra/rules/rebuild.h"
#include "tests/unit/algebra/random.h"
#include "tests/unit/thinned.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

/// An expression on sites between inputs X and Y of 3 x 3 blocks of 2 x 2, with additional text.
Expr with_inputs(Pool& pool, std::string_view x, std::string_view y, std::string_view text) {
  return parse_one(pool, fmt::format("%0 = input \"X\" keys [3, 3] block [2, 2] {}\n"
                                     "%1 = input \"Y\" keys [3, 3] block [2, 2] {}\n{}",
                                     x, y, text));
}

/// The results of a rule at the root, each executed on sites and compared with the expression.
std::vector<Expr> checked(Pool& pool, std::string_view rule, const Expr& e) {
  const std::vector<Expr> results = applied(rule_named(rule), pool, e);
  const Data data = random_inputs(e, 1);
  for (const Expr& result : results) {
    CAPTURE(print(result));
    for (const Sites& sites : {Sites{Mesh{{3}}, 0}, Sites{Mesh{{4}}, 9}}) {
      const std::vector<Expr> both{e, result};
      const SitesRun run = run_on_sites(both, data, sites);
      if (!e->type.pieces) CHECK(gathered(run.values.at(result->id)) == gathered(run.values.at(e->id)));
    }
  }
  return results;
}
void check_result(Pool& pool, std::string_view rule, std::string_view x, std::string_view y, const std::string& from,
                  const std::string& to) {
  CAPTURE(from);
  const std::vector<Expr> results = checked(pool, rule, with_inputs(pool, x, y, from));
  const Expr expected = with_inputs(pool, x, y, to);
  CAPTURE(print(expected));
  CHECK(std::ranges::count(results, expected) == 1);
}
void check_refused(Pool& pool, std::string_view rule, std::string_view x, std::string_view y, const std::string& from) {
  CAPTURE(from);
  // Tests the rule's own condition, not the check of its result's type.
  std::vector<Expr> results;
  rule_named(rule).apply(pool, with_inputs(pool, x, y, from), results);
  CHECK(results.empty());
}

}  // namespace

TEST_CASE("algebra rules: filters and maps merge and swap") {
  Pool pool;
  check_result(pool, "R1-1", "part [0]", "all",
               "%2 = local filter %0 where k0 <= k1 %3 = local filter %2 where k1 < 2 result \"\" %3",
               "%2 = local filter %0 where k1 < 2 and k0 <= k1 result \"\" %2");
  check_result(
      pool, "R1-2", "part [0]", "all",
      "%2 = local map %0 rekey [k1, k0] by relu %3 = local map %2 rekey [3*k0 + k1] by scale(2) result \"\" %3",
      "%2 = local map %0 rekey [3*k1 + k0] by relu then scale(2) result \"\" %2");
  check_refused(pool, "R1-2", "part [0]", "all",
                "%2 = local flatmap %0 count 2 keys [k0, k1, t] %3 = local map %2 by relu result \"\" %3");
  const std::string filter_first = "%2 = local filter %0 where k0 <= k1 %3 = local map %2 by relu result \"\" %3";
  const std::string map_first = "%2 = local map %0 by relu %3 = local filter %2 where k0 <= k1 result \"\" %3";
  check_result(pool, "R1-3", "loose", "all", filter_first, map_first);
  check_result(pool, "R1-3", "loose", "all", map_first, filter_first);
  check_refused(pool, "R1-3", "loose", "all",
                "%2 = local rekey %0 [k1, k0] %3 = local filter %2 where k0 <= k1 result \"\" %3");
}

TEST_CASE("algebra rules: R1-4 maps a group's result once, or each input if the map distributes") {
  Pool pool;
  const std::string sum = "%2 = local aggregate %0 keep [0] by add ";
  check_result(pool, "R1-4", "part [0]", "all", sum + "%3 = local map %2 by relu result \"\" %3",
               "%2 = local aggregate %0 keep [0] by add then relu result \"\" %2");
  check_result(pool, "R1-4 distributive", "part [0]", "all", sum + "%3 = local map %2 by sum(1) result \"\" %3",
               "%2 = local map %0 by sum(1) %3 = local aggregate %2 keep [0] by add result \"\" %3");
  check_result(pool, "R1-4 distributive", "part [0]", "all",
               "%2 = local aggregate %0 keep [0] by max %3 = local map %2 by relu result \"\" %3",
               "%2 = local map %0 by relu %3 = local aggregate %2 keep [0] by max result \"\" %3");
  check_refused(pool, "R1-4 distributive", "part [0]", "all", sum + "%3 = local map %2 by relu result \"\" %3");
  check_refused(pool, "R1-4 distributive", "part [0]", "all",
                "%2 = local aggregate %0 keep [0] by max %3 = local map %2 by scale(-2) result \"\" %3");

  // Composed into the binary operator, as printed, doubling the sum of 1, 2 and 3 would give 2 (2 (1 + 2) + 3) = 18.
  const Expr twice = parse_one(pool, R"(%0 = input "X" keys [3] block [] part []
                                        %1 = local aggregate %0 keep [] by add
                                        %2 = local map %1 by scale(2)
                                        result "" %2)");
  Data data;
  for (Index k = 0; k < 3; ++k) data.inputs["X"].emplace(Key{k}, Block{array_of({}, {static_cast<double>(k + 1)})});
  const Tuples twelve{{{}, {array_of({}, {12})}}};
  CHECK(evaluate(twice, data) == twelve);
  for (const std::string_view rule : {"R1-4", "R1-4 distributive"}) {
    const std::vector<Expr> results = applied(rule_named(rule), pool, twice);
    CHECK(results.size() == 1);
    CHECK(run_plan(results.at(0), data, {Mesh{{2}}}).value == twelve);
  }
}

TEST_CASE("algebra rules: R1-5 filters groups before they are aggregated") {
  Pool pool;
  check_result(pool, "R1-5", "part [1]", "all",
               "%2 = local aggregate %0 keep [1] by max then relu %3 = local filter %2 where k0 < 2 result \"\" %3",
               "%2 = local filter %0 where k1 < 2 %3 = local aggregate %2 keep [1] by max then relu result \"\" %3");
}

TEST_CASE("algebra rules: R1-6 filters both operands by a joined key") {
  Pool pool;
  check_result(pool, "R1-6", "part [1]", "part [0]",
               "%2 = local join %0, %1 on [1], [0] by matmul %3 = local filter %2 where k1 < 2 result \"\" %3",
               "%2 = local filter %0 where k1 < 2 %3 = local filter %1 where k0 < 2 "
               "%4 = local join %2, %3 on [1], [0] by matmul result \"\" %4");
  check_refused(pool, "R1-6", "part [1]", "part [0]",
                "%2 = local join %0, %1 on [1], [0] by matmul %3 = local filter %2 where k0 < 2 result \"\" %3");
}

TEST_CASE("algebra rules: R1-7 maps the joined blocks, or both operands if the map distributes") {
  Pool pool;
  const std::string sum = "%2 = local join %0, %1 on [0, 1], [1, 0] by add ";
  check_result(pool, "R1-7", "part [0]", "part [1]", sum + "%3 = local map %2 rekey [k1, k0] by relu result \"\" %3",
               "%2 = local join %0, %1 on [0, 1], [1, 0] by add then relu rekey [k1, k0] result \"\" %2");
  check_result(pool, "R1-7 distributive", "part [0]", "part [1]",
               sum + "%3 = local map %2 rekey [k1, k0] by diag result \"\" %3",
               "%2 = local map %0 by diag %3 = local map %1 by diag "
               "%4 = local join %2, %3 on [0, 1], [1, 0] by add rekey [k1, k0] result \"\" %4");
  check_refused(pool, "R1-7 distributive", "part [0]", "part [1]", sum + "%3 = local map %2 by relu result \"\" %3");
  check_refused(pool, "R1-7 distributive", "part [0]", "part [1]",
                "%2 = local join %0, %1 on [0, 1], [1, 0] by matmul %3 = local map %2 by scale(2) result \"\" %3");
}

TEST_CASE("algebra rules: R2-1 to R2-3, redistributions alone, and with filters and maps") {
  Pool pool;
  check_result(pool, "R2-1", "loose", "all", "%2 = shuf %0 part [1] %3 = bcast %2 result \"\" %3",
               "%2 = bcast %0 result \"\" %2");
  check_result(pool, "R2-1", "loose", "all", "%2 = bcast %0 %3 = shuf %2 part [1] result \"\" %3",
               "%2 = shuf %0 part [1] result \"\" %2");
  check_result(pool, "R2-1 in place", "part [1]", "all", "%2 = shuf %0 part [1] result \"\" %2", "result \"\" %0");
  check_result(pool, "R2-1 in place", "part [1]", "all", "%2 = bcast %1 result \"\" %2", "result \"\" %1");
  check_refused(pool, "R2-1 in place", "part [1, 0]", "all", "%2 = shuf %0 part [0, 1] result \"\" %2");
  for (const std::string to : {"bcast %{}", "shuf %{} part [1]"}) {
    const auto at = [&](int operand) { return fmt::format(fmt::runtime(to), operand); };
    for (const std::string op : {"filter %{} where k0 <= k1", "map %{} by relu"}) {
      const auto local = [&](int operand) { return "local " + fmt::format(fmt::runtime(op), operand); };
      const std::string moved_last = "%2 = " + local(0) + " %3 = " + at(2) + " result \"\" %3";
      const std::string moved_first = "%2 = " + at(0) + " %3 = " + local(2) + " result \"\" %3";
      const std::string_view rule = op[0] == 'f' ? "R2-2" : "R2-3";
      check_result(pool, rule, "loose", "all", moved_last, moved_first);
      check_result(pool, rule, "loose", "all", moved_first, moved_last);
    }
  }
  check_result(pool, "R2-3", "loose", "all", "%2 = local rekey %0 [k1, k0] %3 = bcast %2 result \"\" %3",
               "%2 = bcast %0 %3 = local rekey %2 [k1, k0] result \"\" %3");
  check_refused(pool, "R2-3", "loose", "all", "%2 = local rekey %0 [k1, k0] %3 = shuf %2 part [1] result \"\" %3");
}

TEST_CASE("algebra rules: R2-4 drops a shuffle before an aggregation whose groups are together") {
  Pool pool;
  const std::string shuffled = "%2 = shuf %0 part [0] %3 = local aggregate %2 keep [0, 1] by add result \"\" %3";
  const std::string direct = "%2 = local aggregate %0 keep [0, 1] by add result \"\" %2";
  check_result(pool, "R2-4", "part [1]", "all", shuffled, direct);
  // R is at dimension 1, which is not kept: the aggregation would be partial.
  const std::string by_0 = "%2 = shuf %0 part [0] %3 = local aggregate %2 keep [0] by add result \"\" %3";
  check_result(pool, "R2-4", "part [0]", "all", by_0, "%2 = local aggregate %0 keep [0] by add result \"\" %2");
  check_refused(pool, "R2-4", "part [1]", "all", by_0);
  check_refused(pool, "R2-4", "loose", "all", by_0);
  // The paper's condition only concerns the removed shuffle's dimensions, which gives partial results here.
  const Expr wrong = with_inputs(pool, "part [1]", "all", "%2 = local aggregate %0 keep [0] by add result \"\" %2");
  CHECK(wrong->type.pieces.has_value());
  CHECK(verify(wrong).size() == 1);
}

TEST_CASE("algebra rules: R2-5 aggregates in two phases") {
  Pool pool;
  // Shuffled by dimension 0 of keep [1, 0], which is position 1 in the keys of the partial results.
  check_result(pool, "R2-5", "loose", "all",
               "%2 = shuf %0 part [0] %3 = local aggregate %2 keep [1, 0] by add then relu result \"\" %3",
               "%2 = local aggregate %0 keep [1, 0] by add %3 = shuf %2 part [1] "
               "%4 = local aggregate %3 keep [0, 1] by add then relu result \"\" %4");
  check_result(pool, "R2-5", "part [0]", "all",
               "%2 = shuf %0 part [1] %3 = local aggregate %2 keep [1] by max result \"\" %3",
               "%2 = local aggregate %0 keep [1] by max %3 = shuf %2 part [0] "
               "%4 = local aggregate %3 keep [0] by max result \"\" %4");
  // Each copy would be aggregated; and without a shuffle to the groups' sites nothing is combined.
  check_refused(pool, "R2-5", "all", "all",
                "%2 = shuf %0 part [1] %3 = local aggregate %2 keep [1] by add result \"\" %3");
  check_refused(pool, "R2-5", "loose", "all",
                "%2 = shuf %0 part [0] %3 = local aggregate %2 keep [1] by add result \"\" %3");
  // The shuffle moves partial results, one per site with a member of the group.
  const Expr two_phases = with_inputs(pool, "part [0]", "all",
                                      "%2 = local aggregate %0 keep [1] by add %3 = shuf %2 part [0] "
                                      "%4 = local aggregate %3 keep [0] by add result \"\" %4");
  const Index result = 3 * 4;
  CHECK(paper_cost(two_phases, 2) == 2 * result);
  CHECK(paper_cost(two_phases, 3) == 3 * result);
  CHECK(paper_cost(two_phases, 8) == 3 * result);
}

TEST_CASE("algebra rules: R2-6 joins by broadcasting either side or by shuffling both") {
  Pool pool;
  const Expr first = with_inputs(pool, "part [1]", "loose",
                                 "%2 = bcast %0 %3 = local join %2, %1 on [0, 1], [1, 0] by add result \"\" %3");
  CHECK(checked(pool, "R2-6", first).size() == 4);
  const std::string from = "%2 = bcast %0 %3 = local join %2, %1 on [0, 1], [1, 0] by add result \"\" %3";
  check_result(pool, "R2-6", "part [1]", "loose", from,
               "%2 = bcast %1 %3 = local join %0, %2 on [0, 1], [1, 0] by add result \"\" %3");
  check_result(pool, "R2-6", "part [1]", "loose", from,
               "%2 = shuf %0 part [0, 1] %3 = shuf %1 part [1, 0] %4 = local join %2, %3 on [0, 1], [1, 0] by add "
               "result \"\" %4");
  check_result(
      pool, "R2-6", "part [1]", "loose", from,
      "%2 = shuf %0 part [1] %3 = shuf %1 part [0] %4 = local join %2, %3 on [0, 1], [1, 0] by add result \"\" %4");
  // The reverse direction.
  check_result(
      pool, "R2-6", "part [1]", "loose",
      "%2 = shuf %0 part [1] %3 = shuf %1 part [0] %4 = local join %2, %3 on [0, 1], [1, 0] by add result \"\" %4",
      from);
}

TEST_CASE("algebra rules: R2-7 drops a shuffle after a join that has brought its tuples together") {
  Pool pool;
  const std::string joined =
      "%2 = shuf %0 part [1] %3 = shuf %1 part [0] %4 = local join %2, %3 on [1], [0] by matmul ";
  check_result(pool, "R2-7", "loose", "loose", joined + "%5 = shuf %4 part [0, 1] result \"\" %5",
               joined + "result \"\" %4");
  // The paper's condition is reversed: with shuffles by both joined dimensions, tuples with the same value of dimension
  // 0 are on several sites.
  const std::string both =
      "%2 = shuf %0 part [0, 1] %3 = shuf %1 part [0, 1] %4 = local join %2, %3 on [0, 1], [0, 1] by mul %5 = shuf %4 "
      "part [0] ";
  check_refused(pool, "R2-7", "loose", "loose", both + "result \"\" %5");
  const Expr needs_shuffle =
      with_inputs(pool, "loose", "loose", both + "%6 = local aggregate %5 keep [0] by add result \"\" %6");
  CHECK(verify(needs_shuffle).empty());
  const Expr shuffle = needs_shuffle->operands[0];
  CHECK(verify(replace(pool, needs_shuffle, shuffle, shuffle->operands[0])).size() == 1);
}

TEST_CASE("algebra rules: a layout stays where a consumer relies on it") {
  // Without the first shuffle (R2-4) the sums would be at dimension 1, where the join does not look.
  Pool pool;
  const Expr e = with_inputs(pool, "part [1]", "part [0]",
                             "%2 = shuf %0 part [0] %3 = local aggregate %2 keep [0, 1] by add "
                             "%4 = local join %3, %1 on [0], [0] by add result \"\" %4");
  const Expr sum = e->operands[0];
  const std::vector<Expr> dropped = applied(rule_named("R2-4"), pool, sum);
  CHECK(dropped.size() == 1);
  CHECK_FALSE(replace(pool, e, sum, dropped[0])->sound);
  for (const Found& found : reachable(pool, e).plans) CHECK(verify(found.plan) == std::vector<std::string>{});
}

TEST_CASE("algebra rules: every rule holds wherever it applies in random plans, on random sites") {
  Pool pool;
  std::map<std::string_view, int> used;
  for (const Rule& rule : rules()) used[rule.name] = 0;
  for (std::uint64_t seed = 0; seed < (kInstrumented ? 400 : 1000); ++seed) {
    CAPTURE(seed);
    RandomAlgebra random(pool, seed);
    const Expr e = random.expression(5);
    const Expr first =
        seed % 2 == 0
            ? random.plan(e, seed % 4 == 0 ? 1 : 2)
            : compile(pool, e, [&](const Input& input) { return random.layout(input.frontier.size(), 1, true); });
    if (!first->sound || first->type.pieces) continue;
    const Data data = random_inputs(e, seed);
    const Tuples meaning = evaluate(e, data);
    const std::vector<Index> sizes = first->type.layout->axes() == 1 ? std::vector<Index>{3} : std::vector<Index>{2, 2};
    // Each plan of the search is one rule away from an earlier one.
    const Reachable found = reachable(pool, first, 60);
    for (const Found& f : found.plans) {
      CAPTURE(f.rule);
      CAPTURE(print(f.plan));
      CHECK(verify(f.plan) == std::vector<std::string>{});
      CHECK(run_plan(f.plan, data, {Mesh{sizes}, seed}).value == meaning);
      if (f.from >= 0) ++used[f.rule];
    }
  }
  for (const auto& [name, times] : used) {
    const std::string_view rule = name;
    const int count = times;
    CAPTURE(rule);
    // The search applies R2-1 implicitly, without a step of its own.
    CHECK((count >= 5 || rule == "R2-1"));
  }
}

TEST_CASE("algebra rules: names") {
  CHECK(rules().size() == 17);
  CHECK_THROWS_WITH(static_cast<void>(rule_named("R3-1")), "no rule is called R3-1");
}

}  // namespace tdsl::tests::relations

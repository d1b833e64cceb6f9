#include <numeric>

#include "ir/algebra/block.h"
#include "ir/algebra/places.h"
#include "ir/algebra/rules/reachable.h"
#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

TEST_CASE("algebra: an opaque operator is called with whole arrays, wherever its operands are") {
  Pool pool;
  const std::string text = R"(%0 = input "A" keys [2, 2] block [2, 1] part [0] ; 8 floats
%1 = input "b" keys [2] block [2] part [0] ; 4 floats
%2 = bcast %1 ; keys [2] block [2] all
%3 = opaque %0, %2 "total by row" keys [2] block [2] part [0] ; 4 floats
result "t" %3
)";
  const Program program = parse(pool, text);
  CHECK(print(program) == text);
  CHECK(verify(program) == std::vector<std::string>{});
  Data data;
  data.inputs["A"] = tuples_of({array_of({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}, {2, 2});
  data.inputs["b"] = tuples_of({array_of({4}, {10, 20, 30, 40})}, {2});
  data.calls["total by row"] = [](const Block& whole) {
    Array rows{{4}, {}};
    for (std::size_t i = 0; i < 4; ++i)
      rows.elements.push_back(whole[0].elements[2 * i] + whole[0].elements[2 * i + 1] + whole[1].elements[i]);
    return Block{rows};
  };
  const Expr e = program.results[0].value;
  const Tuples expected = tuples_of({array_of({4}, {13, 27, 41, 55})}, {2});
  CHECK(evaluate(e, data) == expected);
  for (const Index sites : {1, 2, 3}) {
    const PlanRun run = run_plan(e, data, {Mesh{{sites}}});
    CHECK(run.value == expected);
    CHECK(run.paper == 4 * sites);
  }
  // The rules work around it.
  for (const Found& found : reachable(pool, e).plans) CHECK(run_plan(found.plan, data, {Mesh{{2}}}).value == expected);
  CHECK_THROWS_WITH(static_cast<void>(evaluate(e, Data{data.inputs, {}})),
                    "there is no opaque operator `total by row` to call");
}

TEST_CASE("algebra: an opaque operator wants whole operands, all on sites or none") {
  Pool pool;
  const Expr pieces = parse_one(pool, R"(%0 = input "A" keys [2, 2] block [1, 1] part [0]
                                         %1 = local aggregate %0 keep [1] by add
                                         %2 = opaque %1 "f" keys [1] block [1] part [0]
                                         result "" %2)");
  CHECK(verify(pieces) ==
        std::vector<std::string>{
            "opaque %1 \"f\" keys [1] block [1] part [0]: partial results are read by an opaque operator"});
  CHECK_THROWS(static_cast<void>(parse_one(
      pool, "%0 = input \"A\" keys [2] block [1] part [0] %1 = opaque %0 \"f\" keys [1] block [1] result \"\" %1")));
}

TEST_CASE("algebra sites: near-equal shares are those of the planner") {
  // 7 keys on 2 x 2 sites: by t 7 / 4 the shares would be 0, 1 2, 3 4, 5 6.
  const Sites sites{Mesh{{2, 2}}, 0, true};
  const Key frontier{7};
  for (const auto& axes : {std::vector<int>{0, 1}, std::vector<int>{1, 0}}) {
    const Layout layout(2, {{axes, {0}}}, {});
    const Places places(layout, frontier, sites);
    for (Index k = 0; k < 7; ++k) {
      Index share = 3;
      while (share * 7 / 4 > k) --share;
      const Index first = places.cut_coordinate(layout.cuts()[0], axes[0], {k});
      const Index second = places.cut_coordinate(layout.cuts()[0], axes[1], {k});
      CHECK(2 * first + second == share);
    }
  }
}

TEST_CASE("algebra sites: predicted arrivals equal the counts of a run") {
  Pool pool;
  const std::vector<std::string> layouts{"mesh ab part [0:ab]",
                                         "mesh ab part [0:ba]",
                                         "mesh ab part [0:a] part [1:b]",
                                         "mesh ab part [0:b] part [1:a]",
                                         "mesh ab part [1:a]",
                                         "mesh ab",
                                         "mesh ab part [:ab]",
                                         "mesh ab part [0:a] part [:b]"};
  const Sites sites{Mesh{{2, 3}}, 0, true};
  const auto check = [&](const Expr& e) {
    CAPTURE(print(e));
    const std::vector<Expr> roots{e};
    const SitesRun run = run_on_sites(roots, random_inputs(e, 3), sites);
    for (const Traffic& t : run.traffic) {
      const std::vector<Layout> to{*t.at->type.layout};
      CHECK(arrivals(t.at->operands[0]->type, to, sites.mesh) == t.arrived);
    }
  };
  for (const std::string& from : layouts) {
    for (const std::string& to : layouts) {
      if (from == to) continue;
      const std::string input = "%0 = input \"A\" keys [6, 7] block [2, 1] " + from;
      check(parse_one(pool, input + " %1 = shuf %0 " + to + " result \"\" %1"));
    }
  }
  // Pieces of row sums, one per coordinate along a.
  check(parse_one(pool, R"(%0 = input "A" keys [6, 7] block [1, 1] mesh ab part [0:a] part [1:b]
                           %1 = local aggregate %0 keep [1] by add
                           %2 = shuf %1 mesh ab part [0:ba]
                           %3 = local aggregate %2 keep [0] by add
                           result "" %3)"));
  // Two moves of one relation: data needed by both arrives once.
  const Expr input = parse_one(pool, R"(%0 = input "A" keys [6, 6] block [1, 1] mesh ab part [0:ab] result "" %0)");
  const std::vector<Layout> both{Layout(2, {{{0}, {0}}}, {}), Layout(2, {{{0}, {1}}}, {})};
  const std::vector<Index> once = arrivals(input->type, both, sites.mesh);
  // Half of the rows and half of the columns are 18 + 18 - 9 blocks, of which a row, 6, is already local.
  for (const Index floats : once) CHECK(floats == 27 - 6);
}

TEST_CASE("algebra sites: operands that are cut along later axes first meet") {
  Pool pool;
  const Expr e = parse_one(pool, R"(%0 = input "A" keys [4, 4] block [1, 1] mesh ab part [0:ba]
                                    %1 = input "B" keys [4, 4] block [1, 1] mesh ab part [0:ba]
                                    %2 = local join %0, %1 on [0, 1], [0, 1] by add
                                    result "" %2)");
  CHECK(verify(e) == std::vector<std::string>{});
  CHECK(layout_text(*e->type.layout) == "mesh ab part [0:ba]");
}

}  // namespace tdsl::tests::relations

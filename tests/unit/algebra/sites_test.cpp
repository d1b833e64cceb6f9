#include <fmt/format.h>

#include "ir/algebra/rules/paper_cost.h"
#include "runtime/check.h"
#include "tests/unit/algebra/support.h"

namespace tdsl::tests::relations {

using namespace ir::algebra;

namespace {

/// 4 x 6 blocks of 2 x 3: 144 floats.
Expr moved(Pool& pool, std::string_view from, std::string_view to) {
  return parse_one(pool, fmt::format("%0 = input \"A\" keys [4, 6] block [2, 3] {} %1 = {} result \"\" %1", from, to));
}

struct Counts {
  Index paper, moved;
  friend bool operator==(const Counts&, const Counts&) = default;
};
Counts counted(std::string_view from, std::string_view to, const Mesh& mesh) {
  Pool pool;
  const Expr e = moved(pool, from, to);
  const PlanRun run = run_plan(e, random_inputs(e, 1), {mesh});
  CHECK(run.value == evaluate(e, random_inputs(e, 1)));
  const std::vector<Expr> roots{e};
  CHECK(paper_cost(roots, mesh) == run.paper);
  return {run.paper, run.moved};
}

}  // namespace

TEST_CASE("algebra sites: bcast costs floats times sites, shuf costs floats; local data does not move") {
  const Mesh two{{2}};
  const Mesh three{{3}};
  CHECK(counted("part [0]", "bcast %0", two) == Counts{288, 144});
  CHECK(counted("part [1]", "bcast %0", three) == Counts{432, 288});
  CHECK(counted("all", "bcast %0", three) == Counts{432, 0});
  CHECK(counted("all", "shuf %0 part [1]", three) == Counts{144, 0});
  CHECK(counted("part [1]", "shuf %0 part [1]", three) == Counts{144, 0});
  CHECK(counted("part []", "shuf %0 part [1]", three) == Counts{144, 96});
  CHECK(counted("part [0]", "shuf %0 part [1]", two) == Counts{144, 72});
  CHECK(counted("part [0]", "shuf %0 part [1]", Mesh{{1}}) == Counts{144, 0});
}

TEST_CASE("algebra sites: meshes, axis by axis") {
  const Mesh mesh{{2, 3}};
  // Rows over a, replicated along b.
  CHECK(counted("mesh ab part [0:a] part [1:b]", "shuf %0 mesh ab part [0:a]", mesh) == Counts{3 * 144, 2 * 144});
  CHECK(counted("mesh ab part [0:a]", "shuf %0 mesh ab part [0:a] part [1:b]", mesh) == Counts{144, 0});
  CHECK(counted("mesh ab part [1:ab]", "bcast %0", mesh) == Counts{6 * 144, 5 * 144});
  // An additional axis refines a layout. The order of axes within a dimension matters: of 6 tuples 2 remain.
  CHECK(counted("mesh ab part [1:a]", "shuf %0 mesh ab part [1:ab]", mesh) == Counts{144, 0});
  CHECK(counted("mesh ab part [1:ab]", "shuf %0 mesh ab part [1:ba]", mesh) == Counts{144, 96});
}

TEST_CASE("algebra sites: products in two and three dimensions of a mesh") {
  const std::string inputs =
      "%0 = input \"A\" keys [4, 4] block [2, 2] {}\n"
      "%1 = input \"B\" keys [4, 4] block [2, 2] {}\n";
  Pool pool;
  // Two dimensions: A's rows and B's columns are combined; operands are replicated along the other axis. 4 sites.
  const Expr planar = parse_one(
      pool, fmt::format(fmt::runtime(inputs), "mesh ab part [0:a] part [1:b]", "mesh ab part [0:a] part [1:b]") + R"(
    %2 = shuf %0 mesh ab part [0:a]
    %3 = shuf %1 mesh ab part [1:b]
    %4 = local join %2, %3 on [1], [0] by matmul
    %5 = local aggregate %4 keep [0, 2] by add
    result "C" %5)");
  CHECK(verify(planar) == std::vector<std::string>{});
  CHECK(layout_text(*planar->type.layout) == "mesh ab part [0:a] part [1:b]");
  const Data data = random_inputs(planar, 3);
  const PlanRun two = run_plan(planar, data, {Mesh{{2, 2}}});
  CHECK(two.value == evaluate(planar, data));
  CHECK(two.paper == 2 * 2 * 64);
  CHECK(two.moved == 2 * 64);
  // Three dimensions: the summed label over c gives partial results, one per coordinate. 8 sites.
  const Expr cube = parse_one(
      pool, fmt::format(fmt::runtime(inputs), "mesh abc part [0:a] part [1:c]", "mesh abc part [1:b] part [0:c]") + R"(
    %2 = local join %0, %1 on [1], [0] by matmul
    %3 = local aggregate %2 keep [0, 2] by add
    %4 = shuf %3 mesh abc part [0:ac] part [1:b]
    %5 = local aggregate %4 keep [0, 1] by add
    result "C" %5)");
  CHECK(verify(cube) == std::vector<std::string>{});
  const Expr partial = cube->operands[0]->operands[0];
  CHECK(type_text(partial->type) ==
        "keys [4, 4] block [2, 2] mesh abc part [0:a] part [1:b] loose c, in up to 4 pieces by add");
  const PlanRun three = run_plan(cube, data, {Mesh{{2, 2, 2}}});
  CHECK(three.value == two.value);
  CHECK(three.paper == 2 * 64);
  CHECK(three.moved == 64);
}

TEST_CASE("algebra sites: cuts that part after a common axis leave the last one loose") {
  Pool pool;
  const Expr e = parse_one(pool, R"(%0 = input "A" keys [3, 8] block [1, 1] mesh abc part [1:ab]
                                    %1 = input "B" keys [8, 3] block [1, 1] mesh abc part [0:ac]
                                    %2 = local join %0, %1 on [1], [0] by matmul
                                    result "" %2)");
  CHECK(verify(e) == std::vector<std::string>{});
  CHECK(layout_text(*e->type.layout) == "mesh abc part [1:ab] loose c");
  const Data data = random_inputs(e, 2);
  CHECK(run_plan(e, data, {Mesh{{2, 2, 2}}}).value == evaluate(e, data));
}

TEST_CASE("algebra sites: a wrong place, a missing copy and a tuple too many are seen") {
  Pool pool;
  const Expr e = moved(pool, "part [0]", "bcast %0");
  const Sites sites{Mesh{{2}}};
  const std::vector<Expr> roots{e};
  const SitesRun run = run_on_sites(roots, random_inputs(e, 1), sites);
  std::vector<Tuples> copies = run.values.at(e->id);
  CHECK(misplaced(copies, e->type, sites).empty());
  copies[1].erase(copies[1].begin());
  CHECK(misplaced(copies, e->type, sites) == "sites 0 and 1 should hold copies");
  const Expr input = e->operands[0];
  std::vector<Tuples> rows = run.values.at(input->id);
  CHECK(misplaced(rows, input->type, sites).empty());
  rows[0].insert(*rows[0].begin());
  CHECK(misplaced(rows, input->type, sites) == "2 tuples have key [0, 0]");
  std::swap(rows[0], rows[1]);
  CHECK(misplaced(rows, input->type, sites) == "key [1, 0] is at site 0, against part [0]");
  rows = run.values.at(input->id);
  rows[0].erase(rows[0].begin());
  CHECK(misplaced(rows, input->type, sites) == "the keys are not those of the type");
  copies = run.values.at(e->id);
  copies[1].begin()->second[0].elements[0] += 1;
  CHECK_THROWS_AS(static_cast<void>(gathered(copies)), tdsl::rt::InternalError);
}

}  // namespace tdsl::tests::relations

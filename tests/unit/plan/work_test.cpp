#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/panel_cuts.h"
#include "runtime/plan/schedules/program_plans.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/target_regions.h"

// Operation counts of planning, because seconds differ between machines.

using namespace tdsl::plan;
using namespace tdsl::tests::regions;
using tdsl::tests::Recorder;
using tdsl::tests::RegionWriter;

namespace {

/// Products, sums and transposes of square matrices, each using recent results.
Region random_graph(int operations, Index n) {
  RegionWriter r({{'i', n}, {'j', n}, {'k', n}});
  std::mt19937 random(1);
  std::vector<TensorId> made;
  for (int k = 0; k < 4; ++k) made.push_back(r.load("M" + std::to_string(k), "ij"));
  const auto recent = [&] { return made[made.size() - 1 - random() % std::min<std::size_t>(made.size(), 8)]; };
  for (int k = 0; k < operations; ++k) {
    const TensorId a = recent(), b = recent();
    const std::string name = "T" + std::to_string(k);
    switch (random() % 5) {
      case 0:
      case 1: made.push_back(r.op(name, "ik", {{a, "ij"}, {b, "jk"}})); break;
      case 2: made.push_back(r.op(name, "ik", {{a, "ji"}, {b, "jk"}})); break;
      case 3: made.push_back(r.op(name, "ij", {{a, "ij"}, {b, "ij"}})); break;
      default: made.push_back(r.op(name, "ij", {{a, "ji"}})); break;
    }
  }
  return r.finish({made.end() - 8, made.end()});
}

}  // namespace

TEST_CASE("plan work: 500 operations on 4096 ranks") {
  const Region region = random_graph(500, 65536);
  PlanInputs inputs;
  inputs.ranks = 4096;
  CostTables tables;
  const MeshPlans plans = search_meshes(region, inputs, {.copies = false, .tables = &tables});
  REQUIRE(!plans.found.empty());
  CHECK(plans.found.front().fits);
  // Similar operations share their tables: pairs of layouts are priced for about ten kinds of operands on four meshes.
  CHECK(tables.made() < 200'000);
  // 3 million entries per mesh, in a thousand tables, are read about twenty times.
  CHECK(plans.work < 200'000'000);
}

TEST_CASE("plan work: copies add layouts, not pairs of everything with everything") {
  const Region region = random_graph(60, 6400);
  PlanInputs inputs;
  inputs.ranks = 64;
  CostTables with, without;
  (void)search_meshes(region, inputs, {.copies = false, .tables = &without});
  const MeshPlans plans = search_meshes(region, inputs, {.copies = true, .tables = &with});
  CHECK(with.made() < 3 * without.made());
  CHECK(plans.work < 80'000'000);
}

TEST_CASE("plan work: a longer program reuses the cost tables of a shorter one") {
  const Region chain_of_60 = random_graph(60, 6400), more = random_graph(61, 6400);
  PlanInputs inputs;
  inputs.ranks = 64;
  CostTables tables;
  (void)search_meshes(chain_of_60, inputs, {.copies = false, .most_meshes = 1, .tables = &tables});
  const Index before = tables.made();
  (void)search_meshes(more, inputs, {.copies = false, .most_meshes = 1, .tables = &tables});
  CHECK(before > 0);
  CHECK(tables.made() == before);
}

TEST_CASE("plan work: few ranks stand for many, both ends among them") {
  for (const Index ranks : {1, 2, 16, 17, 64, 100, 4096}) {
    for (const Index most : {8, 16, 64}) {
      const std::vector<Index> sample = rank_sample(ranks, most);
      CHECK(sample.front() == 0);
      CHECK(sample.back() == ranks - 1);
      CHECK(static_cast<Index>(sample.size()) == std::min(ranks, most));
      CHECK(std::is_sorted(sample.begin(), sample.end()));
      CHECK(std::adjacent_find(sample.begin(), sample.end()) == sample.end());
    }
  }
  const Mesh mesh = few_meshes(4096, 1).front();
  CHECK(mesh_sample(mesh, false).size() == 9);
  CHECK(mesh_sample(few_meshes(32, 1).front(), false).size() == 32);
  for (const Mesh& nodes : few_meshes(4096, 16)) {
    const std::vector<Index> sample = mesh_sample(nodes, true);
    CHECK(sample.size() % 16 == 0);
    for (std::size_t k = 0; k < sample.size(); ++k)
      CHECK(sample[k] == sample[k / 16 * 16] + static_cast<Index>(k % 16));
    for (std::size_t k = 0; k < sample.size(); k += 16) CHECK(sample[k] % 16 == 0);
  }
}

namespace {

/// The panels of `extent` values that subscript a dimension from `first` on, counted one by one.
void check_panels(const Tiling& panels, Index first, const Tiling& tiles) {
  using namespace counting;
  Op op;
  OpPlan plan;
  DimAccess dim = at(0, first);
  const RankView v{op, plan, {}, {Intervals{{0, panels.extent()}}}, {}, {}, true, true, 1, {}, {&panels}};
  const auto cuts = PanelCuts::of(v, dim, tiles.extent());
  REQUIRE(cuts);
  const Intervals listed = touched(v, dim, tiles.extent());
  REQUIRE(listed.size() == static_cast<std::size_t>(panels.tiles()));
  CHECK(Intervals{cuts->elements()} == merged(listed));
  bool cross = false, equal = true;
  Index longest = 0;
  for (const Interval& panel : listed) {
    const Interval met = tiles.tiles_meeting(panel);
    longest = std::max(longest, panel.size());
    cross = cross || met.size() > 1;
    equal = equal && panel == tiles.tile(met.lo);
  }
  CHECK(cuts->longest() == longest);
  CHECK(cuts->cross(tiles) == cross);
  CHECK(cuts->are_tiles(tiles) == equal);
  for (const Interval inside : {Interval{0, tiles.extent()}, Interval{tiles.extent() / 3, 2 * tiles.extent() / 3}}) {
    Index pieces = 0;
    for (const Interval& panel : listed) pieces += tiles.tiles_meeting(intersect(panel, inside)).size();
    CHECK(cuts->pieces(inside, tiles) == pieces);
  }
}

}  // namespace

TEST_CASE("plan work: panels are counted without a list of them") {
  for (const Index extent : {7, 24, 60}) {
    for (const Index rest : {0, 3}) {
      for (Index count = 2; count <= extent; count += 1 + count / 4) {
        for (const Tiling& panels : {Tiling::near_equal(extent, count), Tiling::fixed(extent, count)}) {
          for (const Index edge : {1, 4, 5, 24, 100}) {
            CAPTURE(extent);
            CAPTURE(count);
            CAPTURE(edge);
            check_panels(panels, rest, Tiling::fixed(extent + 2 * rest, edge));
            check_panels(panels, rest, Tiling::near_equal(extent + 2 * rest, edge));
          }
        }
      }
    }
  }
}

TEST_CASE("plan work: a million panels cost as much time as few") {
  PlanInputs inputs;
  inputs.ranks = 16;
  Recorder recorder(inputs);
  const Index wide = 4'000'000, deep = 1'000'000;
  const TensorId a = recorder.source("A", {wide, deep}), b = recorder.source("B", {deep, wide});
  recorder.product(a, false, b, false, wide, wide, deep);
  const auto planned = recorder.run();
  const PlannedOp& product = *planned.back();
  REQUIRE(product.op.op_class == OpClass::kContraction);
  REQUIRE(product.plan.reduce.size() == 1);
  OpPlan thin = product.plan;
  thin.reduce[0] = Tiling::near_equal(deep, deep);
  const auto cost = [&](const OpPlan& plan) {
    return cost_of(product.op, plan, recorder.planner.lookup(), 5, inputs.machine, 1);
  };
  CHECK(cost(thin).received_elements.hi == cost(product.plan).received_elements.hi);
  CHECK(cost(thin).step_bytes.hi < cost(product.plan).step_bytes.hi);
  CHECK(counting::view_of(product.op, thin, 5).label[static_cast<std::size_t>(product.op.reduce[0].label)].size() == 1);
}

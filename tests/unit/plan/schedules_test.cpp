#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "runtime/check.h"
#include "runtime/plan/region/plan_request.h"
#include "runtime/plan/schedules/combined_pieces.h"
#include "runtime/plan/schedules/lshs.h"
#include "runtime/plan/schedules/pattern.h"
#include "runtime/plan/schedules/placed_tasks.h"
#include "runtime/plan/schedules/program_plans.h"
#include "runtime/plan/value/imposed.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/target_regions.h"

using namespace tdsl::plan;
using tdsl::tests::bytes_only;
using tdsl::tests::RegionWriter;
using namespace tdsl::tests::regions;

namespace {

PlanInputs tiled(Index ranks, std::vector<Index> tile) {
  PlanInputs inputs = bytes_only(ranks, 1.2);
  inputs.tile = std::move(tile);
  return inputs;
}

std::vector<std::int32_t> owners_of(const Workflow& workflow, std::size_t op) {
  std::vector<std::int32_t> owners;
  for (const TaskNumber n : workflow.ops[op].result) owners.push_back(workflow.task(n).process);
  return owners;
}

}  // namespace

// --- pattern ---------------------------------------------------------------------------------------------------------

TEST_CASE("pattern: processes of blocks on 7 ranks") {
  // A grid of 2 x 3, shifted by one rank per level.
  const auto grid = [](Index i, Index j, Index level) { return pattern_process({i, j}, PatternRule::kGrid, level, 7); };
  CHECK(grid(0, 0, 0) == 0);
  CHECK(grid(0, 2, 0) == 2);
  CHECK(grid(1, 0, 0) == 3);
  CHECK(grid(1, 2, 0) == 5);
  CHECK(grid(2, 3, 0) == 0);
  CHECK(grid(3, 4, 0) == 4);
  CHECK(grid(1, 2, 1) == 6);
  CHECK(grid(1, 2, 2) == 0);
  CHECK(pattern_process({9}, PatternRule::kGrid, 0, 7) == 2);
  CHECK(pattern_process({9}, PatternRule::kGrid, 6, 7) == 1);
  CHECK(pattern_process({4, 5}, PatternRule::kRowsOnly, 1, 7) == 5);
  CHECK(pattern_process({4, 5}, PatternRule::kColumnsOnly, 1, 7) == 6);
  CHECK(pattern_process({}, PatternRule::kGrid, 8, 7) == 1);
  CHECK(pattern_process({1, 2, 6}, PatternRule::kGrid, 0, 7) == 5);
  std::vector<int> counts(7, 0);
  for (Index k = 0; k < 10000; ++k)
    ++counts[static_cast<std::size_t>(
        pattern_process({k % 10, k / 10 % 10, k / 100 % 10, k / 1000}, PatternRule::kGrid, 3, 7))];
  CHECK(*std::min_element(counts.begin(), counts.end()) > 1000);
}

TEST_CASE("pattern: a product of products on 7 ranks") {
  RegionWriter r({{'i', 60}, {'k', 60}, {'j', 60}, {'l', 60}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj"), C = r.load("C", "jl");
  const TensorId AB = r.op("AB", "ij", {{A, "ik"}, {B, "kj"}});
  const Region region = r.finish({r.op("ABC", "il", {{AB, "ij"}, {C, "jl"}})});
  const PlanInputs inputs = tiled(7, {10});
  Workflow workflow = workflow_of(region, inputs, {});
  CHECK(workflow.ops[3].level == 0);
  CHECK(workflow.ops[4].level == 1);
  schedule_pattern(region, inputs, workflow);
  for (std::size_t op : {std::size_t{3}, std::size_t{4}}) {
    const Index level = static_cast<Index>(op) - 3;
    for (Index block = 0; block < 36; ++block) {
      const Index i = block / 6, j = block % 6;
      CHECK(owners_of(workflow, op)[static_cast<std::size_t>(block)] == (i % 2 * 3 + j % 3 + level) % 7);
    }
  }
  for (const WorkflowTask& task : workflow.tasks) {
    CHECK(task.process >= 0);
    if (task.kind == TaskKind::kApply)
      CHECK(task.process ==
            workflow.task(workflow.ops[static_cast<std::size_t>(task.op)].result[static_cast<std::size_t>(task.block)])
                .process);
  }
  const PlanValue plan = plan_of(region, inputs, workflow, "pattern");
  CHECK(plan.at.at(4).work == "cyclic 6x6 on 2x3");
  CHECK(plan.at.at(5).work == "cyclic 6x6 on 2x3 from 1");
  CHECK(plan.at.at(1).work == "table 6x6: 0 1 2 3 4 5 6 0 1 2 3 4 5 6 0 1 2 3 4 5 6 0 1 2 3 4 5 6 0 1 2 3 4 5 6 0");
}

TEST_CASE("pattern: blocks that have one reader each lie as rows or columns") {
  RegionWriter r({{'i', 80}, {'k', 60}, {'j', 10}, {'l', 10}});
  const TensorId A = r.load("A", "ki"), B = r.load("B", "kj"), C = r.load("C", "lk"), v = r.load("v", "k");
  const TensorId AB = r.op("AB", "ij", {{A, "ki"}, {B, "kj"}});
  const TensorId CA = r.op("CA", "li", {{C, "lk"}, {A, "ki"}});
  const TensorId Av = r.op("Av", "i", {{A, "ki"}, {v, "k"}});
  const Region region = r.finish({AB, CA, Av});
  const PlanInputs inputs = tiled(4, {10});
  Workflow workflow = workflow_of(region, inputs, {});
  schedule_pattern(region, inputs, workflow);
  for (const std::size_t op : {std::size_t{4}, std::size_t{5}, std::size_t{6}}) {
    CHECK(owners_of(workflow, op) == std::vector<std::int32_t>{0, 1, 2, 3, 0, 1, 2, 3});
  }
}

TEST_CASE("pattern: a level that its operands' place serves better takes that") {
  // The inner label is long and the result a single block: assignment by coordinates would send all of A and B to one
  // rank.
  RegionWriter r({{'i', 100}, {'j', 100}, {'k', 100000}});
  const TensorId A = r.load("A", "ki"), B = r.load("B", "kj");
  const Region region = r.finish({r.op("C", "ij", {{A, "ki"}, {B, "kj"}})});
  const PlanInputs inputs = bytes_only(4, 1.2);
  const Alternative pattern = plan_by(schedules::kPattern, region, inputs);
  const PlanValue& plan = *pattern.plan;
  CHECK(plan.at.at(3).work == "cyclic 1x1x4 on 1x1x4");
  CHECK(plan.at.at(3).result == "cyclic 4x1 on 4x1");
  CHECK(pattern.price.bytes_received == 3 * 100 * 100 * 8 / 4);
}

// --- lshs ------------------------------------------------------------------------------------------------------------

TEST_CASE("lshs: the hierarchical layout") {
  const std::vector<std::int32_t> nodes = hierarchical_layout({4, 4}, {{2, 2}, 1});
  CHECK(nodes == std::vector<std::int32_t>{0, 1, 0, 1, 2, 3, 2, 3, 0, 1, 0, 1, 2, 3, 2, 3});
  const std::vector<std::int32_t> workers = hierarchical_layout({4, 4}, {{2, 2}, 4});
  CHECK(workers[2 * 4 + 3] == 4 * 1 + 3);  // block (2, 3) is the fourth of node 1
  CHECK(hierarchical_layout({3}, {{2, 2}, 1}) == std::vector<std::int32_t>{0, 2, 0});
  CHECK(hierarchical_layout({1, 1, 2}, {{2, 1}, 1}) == std::vector<std::int32_t>{0, 0});
}

TEST_CASE("lshs: NumS's loads of X + Y and X'Y") {
  // 100 blocks of 5 x 5 on 10 nodes: 500 elements per node, then 250 for the sums or products.
  const auto largest = [](const std::vector<double>& bytes) {
    return *std::max_element(bytes.begin(), bytes.end()) / 8;
  };
  for (const bool sum : {true, false}) {
    RegionWriter r({{'i', 500}, {'j', 5}, {'k', 5}});
    const TensorId X = r.load("X", "ij"), Y = r.load("Y", sum ? "ij" : "ik");
    const TensorId Z = sum ? r.op("Z", "ij", {{X, "ij"}, {Y, "ij"}}) : r.op("Z", "jk", {{X, "ij"}, {Y, "ik"}});
    const Region region = r.finish({Z});
    Workflow workflow = workflow_of(region, tiled(10, {5}), {{10, 1}, 10});
    if (!sum) {  // the products alone
      workflow.tasks.pop_back();
      workflow.ops[2].end -= 1;
      workflow.ops[2].result.clear();
    }
    const LshsLoads loads = schedule_lshs(region, {{10, 1}, 1}, workflow);
    for (const double memory : loads.created.memory) CHECK(memory / 8 == 500);
    for (const double memory : loads.scheduled.memory) CHECK(memory / 8 == 750);
    CHECK(largest(loads.scheduled.in) == 0);
    CHECK(largest(loads.scheduled.out) == 0);
    if (sum) CHECK(owners_of(workflow, 2) == hierarchical_layout({100, 1}, {{10, 1}, 1}));
  }
}

TEST_CASE("lshs: products stay with their blocks, and one sum of every rank meets") {
  RegionWriter r({{'i', 500}, {'j', 5}, {'k', 5}});
  const TensorId X = r.load("X", "ij"), Y = r.load("Y", "ik");
  const Region region = r.finish({r.op("C", "jk", {{X, "ij"}, {Y, "ik"}})});
  const PlanInputs inputs = tiled(10, {5});
  Workflow workflow = workflow_of(region, inputs, {{10, 1}, 10});
  const LshsLoads loads = schedule_lshs(region, {{10, 1}, 1}, workflow);
  // Ten products per rank are added locally. All ten sums are transferred, the last two to the result's location.
  CHECK(std::accumulate(loads.scheduled.in.begin(), loads.scheduled.in.end(), 0.0) / 8 == 10 * 25);
  const PlanValue plan = plan_of(region, inputs, workflow, "lshs");
  CHECK(plan.at.at(3).work == "cyclic 1x1x100 on 1x1x10");
  CHECK(plan.at.at(3).result == "home 0");
}

TEST_CASE("lshs: a sum of 60000 blocks is added by the ranks that have them") {
  RegionWriter r({{'i', 60000}});
  const Region region = r.finish({r.op("s", "", {{r.load("x", "i"), "i"}})});
  Workflow workflow = workflow_of(region, tiled(4, {1}), {{4, 1}, 4});
  const LshsLoads loads = schedule_lshs(region, {{4, 1}, 1}, workflow);
  CHECK(std::accumulate(loads.scheduled.in.begin(), loads.scheduled.in.end(), 0.0) ==
        4 * 8);  // the last two sums are transferred to the result
  std::vector<Index> applies(4, 0);
  for (const WorkflowTask& task : workflow.tasks) {
    if (task.kind == TaskKind::kApply) ++applies[static_cast<std::size_t>(task.process)];
  }
  CHECK(applies == std::vector<Index>(4, 15000));
}

TEST_CASE("lshs: X'Y of large blocks is combined in pieces by all ranks") {
  RegionWriter r({{'i', 160000}, {'j', 256}, {'k', 256}});
  const TensorId X = r.load("X", "ij"), Y = r.load("Y", "ik");
  const Region region = r.finish({r.op("C", "jk", {{X, "ij"}, {Y, "ik"}})});
  const Alternative lshs = plan_by(schedules::kLshs, region, bytes_only(16, 1.2));
  CHECK(lshs.plan->at.at(3).work == "cyclic 1x1x16 on 1x1x16");
  CHECK(lshs.plan->at.at(3).result == "cyclic 16x1 on 16x1");
  CHECK(lshs.price.bytes_received == 15 * 256 * 256 * 8 / 16);
}

TEST_CASE("pieces: of the blocks' longest dimension, where the busiest rank receives in less time") {
  const auto combined = [](Index rows, Index columns, BlockOwners whole, const std::vector<std::int32_t>& processes,
                           double latency = 1e-9) {
    Op op = OpBuilder(OpClass::kContraction, "C", 1, 1).out("i", rows).out("j", columns).reduce("k", 8).op();
    op.outputs.push_back({0, {8, "f64"}, {rows, columns}, "C"});
    PlanInputs inputs;
    inputs.machine = {latency, 1};
    const BlockOwners found = combined_in_pieces(op, std::move(whole), processes, inputs);
    std::string text;
    for (const Index n : found.blocks) text += std::to_string(n) + " ";
    for (const std::int32_t owner : found.owners) text += " " + std::to_string(owner);
    return text;
  };
  CHECK(combined(10, 30, {{1, 1}, {2}}, {3, 2, 3, 1}) == "1 3  1 2 3");
  CHECK(combined(40, 10, {{2, 1}, {0, 3}}, {0, 1, 2, 1, 2, 3}) == "6 1  0 1 2 1 2 3");
  CHECK(combined(10, 40, {{1, 2}, {0, 5}}, {0, 1, 2, 5, 5, 1}) == "1 6  0 1 2 1 5 1");
  CHECK(combined(40, 10, {{2, 1}, {0, 1}}, {0, 1, 2, 1, 2, 3}) == "2 1  0 1");  // rank 1 would receive as much
  CHECK(combined(10, 30, {{1, 1}, {2}}, {2, 1}) == "1 1  2");                   // a reader would receive as much
  CHECK(combined(2, 2, {{1, 1}, {0}}, {0, 1, 2, 3}) == "1 1  0");               // too small
  CHECK(combined(10, 30, {{1, 1}, {2}}, {3, 2, 3, 1}, 1e6) == "1 1  2");        // messages cost more than bytes
  CHECK(combined(10, 30, {{1, 1}, {0}}, {3, 2, 3, 1}) == "1 3  1 2 3");         // the owner has no part
}

// --- all of them -----------------------------------------------------------------------------------------------------

namespace {

/// Names of sites that differ from their decision; empty if there are none.
std::string not_as_planned(const Region& region, const PlanInputs& inputs, const PlanValue& plan) {
  Planner planner(inputs);
  planner.impose(std::make_unique<ImposedPlan>(std::make_shared<const PlanValue>(plan)));
  std::string others;
  for (const RegionOp& recorded : region.ops) {
    const Index before = planner.unplanned();
    const PlannedSegment planned = planner.plan({{recorded.op}, {}});
    if (planner.unplanned() > before) others += recorded.op.name + ' ';
    for (const auto& op : planned.ops) {
      const bool source = op->op.op_class == OpClass::kLoad || op->op.op_class == OpClass::kSource;
      // Sources are placed by their readers.
      if (!source || !plan.at.contains(op->op.site)) continue;
      const auto wanted = parse_layout(plan.at.at(op->op.site).work, slot_names(op->op), plan.mesh);
      if (!wanted || !wanted->map) continue;
      const Distribution& space = op->plan.space;
      space.for_each_owned(0, [&](const Coord& tile) {
        std::vector<Index> block;
        for (int d = 0; d < tile.rank; ++d)
          block.push_back(tile[d] * wanted->map->blocks[idx(d)] / space.tiling(d).tiles());
        if (wanted->map->owner(block, inputs.ranks) != 0) others += op->op.name + " (tile) ";
      });
    }
  }
  return others;
}

/// The first figure contradicted by the steps of the planned operations, or an empty string; all figures are exact.
std::string wrongly_predicted(const Region& region, const PlanInputs& inputs, const PlanValue& plan) {
  Planner planner(inputs);
  planner.impose(std::make_unique<ImposedPlan>(std::make_shared<const PlanValue>(plan)));
  for (const RegionOp& recorded : region.ops) {
    for (const auto& op : planner.plan({{recorded.op}, {}}).ops) {
      for (Index rank = 0; rank < inputs.ranks; ++rank) {
        const Cost cost = cost_of(op->op, op->plan, planner.lookup(), rank, inputs.machine, inputs.threads);
        const std::string wrong =
            tdsl::tests::outside(cost, tdsl::tests::count(op->op, op->plan, planner.lookup(), rank), op->op);
        if (!wrong.empty()) return op->op.name + ": " + wrong;
        if (cost.bytes_received.lo != cost.bytes_received.hi) return op->op.name + " is not exact";
      }
    }
  }
  return {};
}

/// Those that `auto` chooses from.
constexpr std::array kAll = {&schedules::kSearch, &schedules::kEinDecomp, &schedules::kPattern, &schedules::kLshs,
                             &schedules::kGreedy};

void compare(const std::string& name, const Region& region, Index ranks) {
  const PlanInputs inputs = bytes_only(ranks, 1.2);
  const ProgramPlans all = plan_program(region, inputs, nullptr);
  REQUIRE(all.alternatives.size() == kAll.size());
  CHECK(all.left_out.empty());
  std::cout << "  schedules, " << name << " at p = " << ranks << ":";
  double least = 1e300;
  for (const Schedule* schedule : kAll) {
    const Alternative plan = plan_by(*schedule, region, inputs);
    const std::string text = plan.plan == nullptr ? "" : print(*plan.plan);
    INFO(name, " at p = ", ranks, " by ", plan.name, '\n', text);
    std::cout << ' ' << plan.name << ' ' << plan.price.bytes_received << (plan.fits ? "" : " (too much memory)");
    CHECK((plan.plan == nullptr) == (schedule == &schedules::kGreedy));
    if (plan.plan != nullptr) {
      CHECK(parse_plan(text) == *plan.plan);
      CHECK(plan.plan->schedule == schedule->name);
      CHECK(not_as_planned(region, inputs, *plan.plan) == "");
      if (ranks <= 7) CHECK(wrongly_predicted(region, inputs, *plan.plan) == "");
    }
    if (plan.fits) least = std::min(least, plan.price.seconds);
  }
  std::cout << std::endl;
  const Alternative& chosen = all.alternatives.front();
  if (least < 1e300) CHECK(chosen.fits);
  if (!chosen.fits) return;
  CHECK(chosen.price.seconds <= least * 1.01);
  for (const Alternative& other : all.alternatives) {  // it receives least among equally fast ones
    if (other.fits && other.price.seconds <= least * 1.01)
      CHECK(chosen.price.bytes_received <= other.price.bytes_received);
  }
}

}  // namespace

TEST_CASE("lshs: the user's grid of nodes") {
  PlanInputs inputs = bytes_only(4, 1.2);
  const Region region = product(4000, 4000, 4000);
  const auto owners_of_A = [&](std::vector<Index> grid) {
    inputs.node_grid = std::move(grid);
    const Workflow workflow = scheduled_workflow(&schedules::kLshs, region, inputs);
    return owners_of(workflow, 0);
  };
  CHECK(owners_of_A({4, 1}) == hierarchical_layout({4, 1}, {{4, 1}, 1}));
  CHECK(owners_of_A({1, 4}) == hierarchical_layout({2, 3}, {{1, 4}, 1}));
  inputs.node_grid = {2, 4};
  CHECK(plan_program(region, inputs, &schedules::kLshs).refused ==
        "lshs: --node-grid 2x4 has 8 nodes, but there are 4");
}

// --- loops -----------------------------------------------------------------------------------------------------------

TEST_CASE("pattern: decisions in a loop turn with the level, as the workflow says") {
  RegionWriter r({{'i', 700}, {'k', 700}, {'j', 700}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj");
  const int body = r.next_site();
  const TensorId first = r.op("A", "ij", {{A, "ik"}, {B, "kj"}});
  r.weigh(6, body);
  const Region region = r.finish({r.op("A", "ij", {{first, "ik"}, {B, "kj"}})});
  const PlanInputs inputs = tiled(7, {100});
  Workflow workflow = workflow_of(region, inputs, {});
  schedule_pattern(region, inputs, workflow);
  const PlanValue plan = plan_of(region, inputs, workflow, "pattern");
  CHECK(plan.at.at(body).work == "cyclic 7x7 on 2x3");
  CHECK(plan.at.at(body).turn == 1);
  CHECK(print(plan).find(" \"A\" cyclic 7x7 on 2x3 turn 1\n") != std::string::npos);
  CHECK(parse_plan(print(plan)) == plan);
  PlanInputs limited = inputs;
  limited.window = Index{1} << 40;
  CHECK(plan_of(region, limited, workflow, "pattern").at.at(body).turn == 0);
  CHECK(plan_of(region, limited, workflow, "pattern").at.at(body).work == "cyclic 7x7 on 2x3 from 1");
  Planner planner(inputs);
  planner.impose(std::make_unique<ImposedPlan>(std::make_shared<const PlanValue>(plan)));
  for (const std::size_t k : {std::size_t{0}, std::size_t{1}}) (void)planner.plan({{region.ops[k].op}, {}});
  std::vector<double> flops(7, 0);
  TensorId now = A;
  for (std::size_t t = 0; t < 7; ++t) {
    Op op = region.ops[2].op;
    op.reads.front().tensor = now;
    now = op.outputs.front().id = 100 + static_cast<TensorId>(t);
    for (const auto& planned : planner.plan({{op}, {}}).ops) {
      if (planned->op.op_class != OpClass::kReduce) continue;
      const Distribution& space = planned->plan.space;
      for (Index rank = 0; rank < 7; ++rank) {
        const Cost cost = cost_of(planned->op, planned->plan, planner.lookup(), rank, inputs.machine, inputs.threads);
        flops[static_cast<std::size_t>(rank)] += cost.flops.hi;
        if (t > 1) continue;  // beyond the survey
        space.for_each_owned(rank, [&](const Coord& tile) {
          CHECK(workflow.task(workflow.ops[2 + t].result[static_cast<std::size_t>(space.linear(tile))]).process ==
                rank);
        });
      }
    }
  }
  CHECK(planner.unplanned() == 0);
  const double mean = std::accumulate(flops.begin(), flops.end(), 0.0) / 7;
  for (const double mine : flops) CHECK(mine == doctest::Approx(mean));
}

TEST_CASE("layouts: a turned layout has the same blocks on other ranks") {
  const Mesh mesh = meshes_of(7, 1).front();
  const auto text = [&](const std::string& layout, Index shift) {
    return text_of(turned(*parse_layout(layout, {"i", "j"}, mesh), shift, 7), {"i", "j"});
  };
  CHECK(text("cyclic 3x4 on 2x3 from 6", 2) == "cyclic 3x4 on 2x3 from 1");
  CHECK(text("table 2x2: 0 6 3 0", 1) == "table 2x2: 1 0 4 1");
  CHECK(text("home 6", 1) == "home 0");
  CHECK(text("i:a", 1) == "i:a");
  CHECK(text("everywhere", 1) == "everywhere");
}

// --- eindecomp -------------------------------------------------------------------------------------------------------

TEST_CASE("eindecomp: partition vectors as decisions") {
  PlanInputs inputs = bytes_only(4, 1.2);
  // A long inner label: the vector cuts it, and every caller of the block combines a piece.
  const Alternative inner = plan_by(schedules::kEinDecomp, product(40, 40000, 40), inputs);
  CHECK(inner.plan->at.at(3).work == "cyclic 1x1x4 on 1x1x4");
  CHECK(inner.plan->at.at(3).result == "cyclic 4x1 on 4x1");
  const Alternative long_inner = plan_by(schedules::kEinDecomp, product(4000, 6000, 2000), inputs);
  CHECK(long_inner.plan->at.at(3).work == "cyclic 2x1x2 on 2x1x2");
  CHECK(long_inner.plan->at.at(3).result == "cyclic 2x1 on 2x2");
  const Alternative square = plan_by(schedules::kEinDecomp, product(4000, 4000, 4000), inputs);
  CHECK(square.plan->at.at(3).work == "cyclic 2x2 on 2x2");
  CHECK(square.plan->at.at(3).result == "");
  const Alternative sqrt = plan_by(schedules::kSqrt, product(4000, 4000, 4000), inputs);
  CHECK(sqrt.plan->at.at(3).work == "cyclic 2x2 on 2x2");
  // A power of two of seven ranks, and whole tiles.
  inputs.ranks = 7;
  inputs.tile = {1000};
  const Region region = product(3000, 3000, 3000);
  const PlanValue plan = *plan_by(schedules::kEinDecomp, region, inputs).plan;
  CHECK(plan.ranks == 7);
  CHECK(not_as_planned(region, inputs, plan) == "");
}

TEST_CASE("schedules: every plan is realised as it says, and the cheapest that fits is chosen") {
  compare("newton", newton(20000, 32, 5), 4);
  compare("newton", newton(20000, 32, 5), 12);
  compare("nearest", nearest(12000, 200), 3);
  compare("sum and gram", sum_and_gram(20000, 64), 2);
  compare("sum and gram", sum_and_gram(20000, 64), 8);
  compare("skewed chain", chain(800, 80, 8000), 7);
  compare("network", network_step(200, 160, 2000, 10), 4);
  compare("network", network_step(200, 160, 2000, 10), 7);
  compare("mttkrp", mttkrp(80, 20), 6);
  compare("transformer", transformer(256, 128, 4, 32, 512), 4);
}

TEST_CASE("schedules: what cannot be applied is refused, and what can runs") {
  PlanInputs inputs = bytes_only(4, 1.2);
  inputs.tile = {8};
  const Region region = product(1000, 1000, 1000);
  const ProgramPlans all = plan_program(region, inputs, nullptr);
  REQUIRE(all.left_out.size() == 2);
  CHECK(all.left_out[0] == "pattern: the task workflow has more than 2000 tasks; a larger --tile gives fewer");
  CHECK(all.left_out[1].starts_with("lshs: the task workflow has more than 2000 tasks"));
  CHECK(all.refused == "");
  CHECK(all.alternatives.size() == 3);
  for (const Schedule* schedule : {&schedules::kPattern, &schedules::kLshs}) {
    CHECK_THROWS_AS((void)plan_by(*schedule, region, inputs), NoPlan);
    const ProgramPlans plans = plan_program(region, inputs, schedule);
    CHECK(plans.alternatives.empty());
    CHECK(plans.refused ==
          std::string(schedule->name) + ": the task workflow has more than 1000000 tasks; a larger --tile gives fewer");
    PlanRequest request;
    request.schedule = schedule;
    CHECK_THROWS_AS((void)plans_for(region, inputs, request), tdsl::rt::RunError);
  }
  // More than a rank's share is not too much, and neither is more than --memory: whether that suffices is decided with
  // tensors on disk in view.
  const Region network = network_step(200, 160, 2000, 10);
  inputs = bytes_only(4, 1.2);
  const auto chosen = [&](const Schedule* schedule) {
    const ProgramPlans plans = plan_program(network, inputs, schedule);
    REQUIRE(!plans.alternatives.empty());
    CHECK(plans.refused == "");
    CHECK(plans.alternatives.front().name == schedule->name);
    return plans.alternatives.front();
  };
  const Alternative lshs = chosen(&schedules::kLshs);
  CHECK(lshs.held_bytes > memory_limit(network, inputs));
  CHECK(lshs.plan != nullptr);
  CHECK(excess_of(lshs, inputs) == 0);
  for (const Schedule* schedule : {&schedules::kPattern, &schedules::kSearch, &schedules::kEinDecomp})
    CHECK(chosen(schedule).plan != nullptr);
  inputs.memory = Index{1} << 20;
  CHECK(excess_of(chosen(&schedules::kLshs), inputs) > 0);
}

TEST_CASE("schedules: a little less memory is not worth a slower plan unless memory is limited") {
  for (const Region& region : {product(1000, 100, 1000), network_step(200, 160, 2000, 10), sum_and_gram(20000, 64)}) {
    PlanInputs inputs = bytes_only(4, 0.01);
    inputs.least_slack = -(Index{1} << 40);  // the preferred memory is less than a rank's share
    std::vector<Alternative> all = plan_program(region, inputs, nullptr).alternatives;
    const Alternative chosen = all.front();
    CHECK_FALSE(chosen.fits);
    double least = chosen.held_bytes;
    for (const Alternative& other : all) least = std::min(least, other.held_bytes);
    for (const Alternative& other : all) {
      const bool counts = other.held_bytes <= 1.25 * least && schedule_named(other.name)->workflow == nullptr;
      if (counts) CHECK_MESSAGE(chosen.price.seconds <= 1.01 * other.price.seconds, chosen.name << ", " << other.name);
    }
    inputs.memory = 1;
    all = plan_program(region, inputs, nullptr).alternatives;
    for (const Alternative& other : all) {
      if (schedule_named(other.name)->workflow == nullptr) CHECK(all.front().held_bytes <= other.held_bytes);
    }
  }
}

TEST_CASE("schedules: a requested schedule of tasks cuts smaller blocks to fit a limit") {
  // Of the eight blocks of A and B the first of seven ranks loads two, and of C it computes two: three quarters of a
  // matrix together.
  PlanInputs inputs = bytes_only(7, 1.2);
  const Region region = product(7000, 7000, 7000);
  inputs.memory = Index{1} << 40;
  const Alternative coarse = plan_by(schedules::kPattern, region, inputs);
  const std::size_t tasks = scheduled_workflow(&schedules::kPattern, region, inputs).tasks.size();
  CHECK(coarse.price.peak_bytes == 0.75 * 8 * 7000 * 7000);
  inputs.memory = static_cast<Index>(0.9 * coarse.held_bytes);
  const Alternative fine = plan_by(schedules::kPattern, region, inputs);
  CHECK(fine.fits);
  CHECK(fine.held_bytes <= static_cast<double>(inputs.memory));
  CHECK(scheduled_workflow(&schedules::kPattern, region, inputs).tasks.size() > tasks);
  // --tile is kept.
  inputs.tile = {3500};
  CHECK(plan_by(schedules::kPattern, region, inputs).held_bytes > static_cast<double>(inputs.memory));
}

TEST_CASE("schedules: the one that was asked for comes first, the others behind it") {
  const PlanInputs inputs = bytes_only(3, 3);
  for (const Schedule* schedule : kAll) {
    CAPTURE(schedule->name);
    const ProgramPlans plans = plan_program(newton(2000, 32, 5), inputs, schedule, Compare::kAll);
    REQUIRE(plans.alternatives.size() == all_schedules().size());
    CHECK(plans.alternatives.front().name == schedule->name);
    CHECK(plan_program(newton(2000, 32, 5), inputs, schedule).alternatives.size() == 1);
  }
}

TEST_CASE("schedules: nothing to sum, and nothing at all") {
  for (const auto& [n, k, m] : {std::array<Index, 3>{50, 0, 50}, {0, 50, 50}, {50, 50, 0}, {1, 1, 1}}) {
    PlanInputs inputs = bytes_only(3, 1.2);
    inputs.tile = {7};
    const Region region = product(n, k, m);
    for (const Schedule* schedule : kAll) {
      CAPTURE(schedule->name);
      const Alternative plan = plan_by(*schedule, region, inputs);
      if (plan.plan != nullptr) CHECK(wrongly_predicted(region, inputs, *plan.plan) == "");
    }
    CHECK_FALSE(print(workflow_of(region, inputs, {}), region).empty());
  }
}

TEST_CASE("schedules: names") {
  for (const Schedule* schedule : all_schedules()) CHECK(schedule_named(schedule->name) == schedule);
  CHECK(schedule_named("random") == nullptr);
  CHECK(schedule_names() == "auto, search, eindecomp, sqrt, pattern, lshs, greedy");
}

TEST_CASE("schedules: a plan of tasks whose steps put whole shares together is not taken") {
  // D reads 60 blocks of P and 32 of F in a single step, by patterns: 108 MB more than the rank holds otherwise, in the
  // same time.
  PlanInputs inputs;
  inputs.ranks = 4;
  const Region region = nearest(60000, 450);
  const ProgramPlans plans = plan_program(region, inputs, nullptr, Compare::kAll);
  const Alternative pattern = plan_by(schedules::kPattern, region, inputs);
  const Alternative& chosen = plans.alternatives.front();
  CHECK(pattern.price.bytes_received <= chosen.price.bytes_received);
  CHECK(pattern.price.largest_step > 10 * chosen.price.largest_step);
}

TEST_CASE("schedules: one rank has nothing to decide, and --reproducible keeps to the greedy plan") {
  PlanInputs inputs = bytes_only(1, 1.2);
  CHECK(plan_program(product(100, 100, 100), inputs, nullptr).alternatives.empty());
  inputs = bytes_only(4, 1.2);
  inputs.reproducible = true;
  for (const Schedule* schedule : std::initializer_list<const Schedule*>{nullptr, &schedules::kPattern}) {
    const ProgramPlans plans = plan_program(product(100, 100, 100), inputs, schedule);
    REQUIRE(plans.alternatives.size() == (schedule == nullptr ? 1 : 0));
    if (schedule == nullptr) CHECK(plans.alternatives.front().plan == nullptr);
    CHECK((plans.refused == "") == (schedule == nullptr));
  }
}

TEST_CASE("schedules: a plan's peak memory equals the search's prediction") {
  for (const Index ranks : {2, 3, 4, 8}) {
    const auto check = [&](const std::string& name, const Region& region) {
      const PlanInputs inputs = bytes_only(ranks, 1.2);
      const FoundPlan found = search(region, inputs, {});
      const PlanPrice price = price_of(region, inputs, std::make_shared<PlanValue>(found.plan));
      CHECK_MESSAGE(price.peak_bytes == doctest::Approx(found.peak_bytes).epsilon(1e-12), name << " at p = " << ranks
                                                                                               << '\n'
                                                                                               << print(found.plan));
      CHECK(price.peak_bytes <= memory_limit(region, inputs));
    };
    check("newton", newton(20000, 32, 5));
    check("nearest", nearest(12000, 200));
    check("sum and gram", sum_and_gram(20000, 64));
    check("skewed chain", chain(800, 80, 8000));
    check("network", network_step(200, 160, 2000, 10));
    check("mttkrp", mttkrp(80, 20));
    check("transformer", transformer(256, 128, 4, 32, 512));
  }
}

TEST_CASE("schedules: blocks are those of --tile and of --reproducible, and threads share them") {
  for (const Schedule* schedule : {&schedules::kPattern, &schedules::kLshs}) {
    for (const int form : {0, 1, 2}) {
      PlanInputs inputs = bytes_only(6, 1.2);
      if (form == 0) inputs.tile = {50, 40};
      if (form == 1) inputs.reproducible = true;
      if (form == 2) inputs.threads = 3;
      const auto check = [&](const std::string& name, const Region& region) {
        const PlanValue plan = *plan_by(*schedule, region, inputs).plan;
        INFO(name, ", ", std::string(schedule->name), ", form ", form, '\n', print(plan));
        // With --reproducible sums are split according to extents.
        CHECK(not_as_planned(region, inputs, plan) ==
              (form == 1 && name == "mttkrp" && schedule == &schedules::kPattern ? "M " : ""));
        CHECK(wrongly_predicted(region, inputs, plan) == "");
      };
      check("newton", newton(2000, 32, 5));
      check("sum and gram", sum_and_gram(20000, 64));
      check("skewed chain", chain(800, 80, 1600));
      check("network", network_step(200, 160, 2000, 10));
      check("mttkrp", mttkrp(80, 20));
    }
  }
}

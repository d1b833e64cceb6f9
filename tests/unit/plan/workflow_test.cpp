#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>

#include "runtime/plan/schedules/combined_pieces.h"
#include "runtime/plan/schedules/lshs.h"
#include "runtime/plan/schedules/pattern.h"
#include "runtime/plan/schedules/placed_tasks.h"
#include "runtime/plan/schedules/program_plans.h"
#include "runtime/plan/value/imposed.h"
#include "runtime/plan/workflow/workflow.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/target_regions.h"

using namespace tdsl::plan;
using tdsl::tests::bytes_only;
using tdsl::tests::RegionWriter;
using namespace tdsl::tests::regions;

namespace {

using Grid = std::vector<Index>;

/// C[i, j] = sum[k](A[i, k] * B[k, j])
Region tiled_product(Index n, Index k, Index m) {
  RegionWriter r({{'i', n}, {'k', k}, {'j', m}});
  const TensorId A = r.load("A", "ik"), B = r.load("B", "kj");
  return r.finish({r.op("C", "ij", {{A, "ik"}, {B, "kj"}})});
}

PlanInputs tiled(std::vector<Index> tile) {
  PlanInputs inputs;
  inputs.tile = std::move(tile);
  return inputs;
}

std::vector<TaskNumber> blocks_of(const Workflow& workflow, TaskNumber apply) {
  std::vector<TaskNumber> blocks;
  for (const TaskInput& input : workflow.blocks_of(workflow.task(apply))) blocks.push_back(input.task);
  return blocks;
}

std::map<TaskKind, int> counted(const Workflow& workflow) {
  std::map<TaskKind, int> count;
  for (const WorkflowTask& task : workflow.tasks) ++count[task.kind];
  return count;
}

}  // namespace

TEST_CASE("block grid: NumS's automatic grids") {
  CHECK(automatic_grid({{1000000000, 250}, 8, {1, 1}, 64}) == Grid{64, 1});
  CHECK(automatic_grid({{1000000000, 250}, 8, {16, 1}, 1024}) == Grid{1024, 1});
  CHECK(automatic_grid({{10000, 10000}, 8, {1, 1}, 64}) == Grid{8, 8});
  CHECK(automatic_grid({{10000, 10000}, 8, {1, 1}, 6}) == Grid{3, 2});
  CHECK(automatic_grid({{10000, 10000}, 8, {1, 1}, 7}) == Grid{4, 2});
  CHECK(automatic_grid({{1000, 1000, 1000}, 8, {1}, 64}) == Grid{4, 4, 4});
  CHECK(automatic_grid({{3000, 4000}, 8, {1, 1}, 64}) == Grid{1, 1});  // 96 MB
  CHECK(automatic_grid({{3000, 4000}, 8, {1, 1}, 64, 64000}) == Grid{5, 12});
  CHECK(automatic_grid({{}, 8, {4, 1}, 4}).empty());
  CHECK(automatic_grid({{0, 5}, 8, {4, 1}, 4, 0}) == Grid{1, 1});
}

TEST_CASE("workflow: a product of 2 x 2 blocks") {
  const Region region = tiled_product(4, 4, 4);
  const Workflow workflow = workflow_of(region, tiled({2}), {});
  CHECK(counted(workflow) ==
        std::map<TaskKind, int>{
            {TaskKind::kLoad, 8}, {TaskKind::kPair, 8}, {TaskKind::kApply, 8}, {TaskKind::kReduce, 4}});
  const std::string text = print(workflow, region);
  CHECK(text.substr(0, text.find('\n')) == "workflow of 28 tasks");
  for (const char* line : {"\n0 load A[0, 0]\n", "\n7 load B[1, 1]\n", "\n8 pair C[0, 0] panel [0] of 0 4\n",
                           "\n9 apply C[0, 0] panel [0] of 8\n", "\n10 pair C[0, 0] panel [1] of 1 6\n",
                           "\n24 reduce C[0, 0] of 9 11\n", "\n27 reduce C[1, 1] of 21 23\n"}) {
    CHECK_MESSAGE(text.find(line) != std::string::npos, text);
  }
  CHECK(workflow.ops[2].result == std::vector<TaskNumber>{24, 25, 26, 27});
  CHECK(workflow.task(9).flops == 8);
  CHECK(workflow.task(8).bytes == 64);
  const std::string dot = print_dot(workflow, region);
  CHECK(dot.find("  t9 [label=\"apply C[0, 0] panel [0]\"];\n") != std::string::npos);
  CHECK(dot.find("  t8 -> t9;\n") != std::string::npos);
}

TEST_CASE("workflow: operands are paired from the left, every block once") {
  RegionWriter r({{'i', 4}, {'j', 4}, {'k', 4}});
  const TensorId X = r.load("X", "ki"), w = r.constant("w", ""), v = r.load("v", "k");
  const TensorId G = r.op("G", "ij", {{X, "ki"}, {v, "k"}, {X, "kj"}, {w, ""}});
  const TensorId H = r.whole("H", "ij", {G});
  const Region region = r.finish({H});
  const Workflow workflow = workflow_of(region, tiled({2}), {});
  const WorkflowOp& gram = workflow.ops[3];
  CHECK(gram.joins == 3);
  const auto blocks = [&](Index block, Index panel) {
    for (TaskNumber n = gram.first; n < gram.end; ++n) {
      const WorkflowTask& task = workflow.task(n);
      if (task.kind == TaskKind::kApply && task.block == block && task.panel == panel) return blocks_of(workflow, n);
    }
    return std::vector<TaskNumber>{};
  };
  CHECK(blocks(1, 1) == std::vector<TaskNumber>{2, 6, 3, 4});  // X[1, 0], v[1], X[1, 1], w
  CHECK(blocks(0, 1) == std::vector<TaskNumber>{2, 6, 4});     // on the diagonal X[1, 0] is read once
  // One task reads all blocks.
  const WorkflowOp& whole = workflow.ops[4];
  CHECK(whole.result.size() == 1);
  CHECK(blocks_of(workflow, whole.result[0]) == gram.result);
  CHECK(gram.level == 0);
  CHECK(whole.level == 1);
}

TEST_CASE("workflow: neighbours, bases and strides") {
  std::vector<TensorId> ids;
  Region region;
  const auto record = [&](OpBuilder builder, std::vector<Index> shape) {
    builder.op().outputs = {
        {static_cast<TensorId>(region.ops.size()), {8, "f64"}, std::move(shape), builder.op().name}};
    region.ops.push_back({builder.op(), 1, 0, {}});
  };
  record(std::move(OpBuilder(OpClass::kLoad, "a", 1, 1).out("i", Index{9})), {9});
  record(std::move(OpBuilder(OpClass::kMap, "b", 2, 1).out("i", Interval{1, 8}).read(0, {near(0, -1, 2)})), {7});
  record(std::move(
             OpBuilder(OpClass::kMap, "c", 3, 1).label("i", {0, 2}).write({9}, {{0, 1, 0}}).base(0).read(1, {at(0)})),
         {9});
  const Workflow workflow = workflow_of(region, tiled({3}), {});
  const auto blocks = [&](std::size_t op, std::size_t block) {
    return blocks_of(workflow, workflow.ops[op].result[block]);
  };
  CHECK(blocks(1, 0) == std::vector<TaskNumber>{0, 1});  // b[0..3) reads a[0..5)
  CHECK(blocks(1, 1) == std::vector<TaskNumber>{1, 2});
  CHECK(workflow.blocks_of(workflow.task(workflow.ops[1].result[1]))[1].bytes == 16);
  CHECK(blocks(1, 2) == std::vector<TaskNumber>{2});
  CHECK(blocks(2, 0) == std::vector<TaskNumber>{0, workflow.ops[1].result[0]});  // written: the base's block and b's
  CHECK(blocks(2, 1) == std::vector<TaskNumber>{1});                             // kept
}

TEST_CASE("workflow: results are cut as operands are, sources by the automatic grid") {
  RegionWriter r({{'i', 100000}, {'j', 64}, {'k', 64}});
  const TensorId X = r.load("X", "ij"), w = r.constant("w", "j");
  const TensorId z = r.op("z", "i", {{X, "ij"}, {w, "j"}});
  const TensorId C = r.op("C", "jk", {{X, "ij"}, {z, "i"}, {X, "ik"}});
  const Region region = r.finish({C});
  const std::vector<BlockCut> cuts = block_cuts(region, {}, {{1}, 4});
  CHECK(cuts[0].out[0].tiles() == 4);
  CHECK(cuts[0].out[1].tiles() == 1);
  CHECK(cuts[1].out[0].tiles() == 1);
  CHECK(cuts[2].out[0].tiles() == 4);
  CHECK(cuts[3].out[0].tiles() == 1);
  CHECK(cuts[3].reduce[0].tiles() == 4);
}

TEST_CASE("workflow: too many tasks are refused") {
  const Region region = tiled_product(40, 40, 40);
  CHECK(workflow_of(region, tiled({4}), {}, 2300).tasks.size() == 200 + 2000 + 100);
  for (const Index most : {2299, 1500, 1299, 200, 199, 1})
    CHECK_THROWS_AS((void)workflow_of(region, tiled({4}), {}, most), NoPlan);
  CHECK_THROWS_WITH_AS(workflow_of(tiled_product(4000, 4000, 4000), tiled({4}), {}),
                       "the task workflow has more than 1000000 tasks; a larger --tile gives fewer", NoPlan);
}

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

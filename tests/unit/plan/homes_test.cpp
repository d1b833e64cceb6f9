#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/region/homes.h"
#include "runtime/plan/region/memory_need.h"
#include "runtime/plan/region/planned_region.h"
#include "runtime/plan/steps/home_fit.h"
#include "runtime/plan/value/plan_value.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/operations.h"
#include "tests/unit/plan/regions.h"

using namespace tdsl::plan;
using tdsl::tests::count;
using tdsl::tests::Counted;
using tdsl::tests::outside;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;
using tdsl::tests::RegionWriter;

namespace {

/// Evicts some of the operands and the result.
void move_some(PlannedCase& test, Random& random) {
  for (auto& [id, tensor] : test.tensors) {
    if (tensor.desc.sized() || tensor.distribution.rank() == 0 || random.chance(30)) continue;
    tensor.housing = {random.chance(80) ? Home::kDisk : Home::kFile, random.chance(50) ? 0 : random.in(1, 3)};
    if (tensor.distribution.by_table()) tensor.housing.resident_tiles = 0;
  }
  if (test.op.outputs.empty() || test.op.outputs.front().sized() || test.op.shape.empty() || test.plan.space.by_table())
    return;
  test.plan.housing = {Home::kDisk, random.in(0, 2)};
}

/// Bytes of a rank's output blocks written to disk: in total, and the most that begin in one super-block.
struct Written {
  Index all = 0, at_once = 0;
};
Written written_by(const PlannedCase& test, const TensorLookup& tensors, Index rank) {
  Written written;
  const PlacedTensor made{test.op.outputs.front(), test.plan.space, test.plan.housing};
  const TaskSpace space(test.op, test.plan, tensors);
  StepCursor cursor(space, tensors, rank);
  Step step;
  Index now = 0;
  while (cursor.next(step)) {
    for (const Task& task : step.tasks) {
      if (task.first && made.away(task.tile, rank)) now += space.output_bytes(task.tile).most_bytes();
    }
    if (!step.ends_super_block) continue;
    written.at_once = std::max(written.at_once, now);
    written.all += std::exchange(now, 0);
  }
  return written;
}

bool writes_twice(const Op& op) {
  std::set<int> seen;
  return std::any_of(op.out.begin(), op.out.end(),
                     [&](const OutSubscript& s) { return s.label >= 0 && !seen.insert(s.label).second; });
}

PlanInputs inputs_of(Index ranks, Index memory) {
  PlanInputs inputs;
  inputs.ranks = ranks;
  inputs.memory = memory;
  return inputs;
}

/// C = A B, with additional live tensors.
Region product_region(Index n, bool alive) {
  RegionWriter region({{'i', n}, {'j', n}, {'k', n}});
  const TensorId a = region.load("A", "ik"), b = region.load("B", "kj");
  const TensorId c = region.op("C", "ij", {{a, "ik"}, {b, "kj"}});
  Region made = region.finish(alive ? std::vector<TensorId>{c} : std::vector<TensorId>{});
  for (RegionOp& recorded : made.ops) {
    if (recorded.op.op_class == OpClass::kReduce)
      recorded.op.op_class = OpClass::kContraction, recorded.op.flops_per_point = 2;
  }
  return made;
}

}  // namespace

TEST_CASE("homes: bytes loaded and written by random operations lie in the predicted intervals") {
  Index compared = 0, exact = 0, loads = 0;
  // Regression cases: stencils whose border shares an element between several super-blocks.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cases{{6, 300}, {60, 956}};
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(20); ++n) cases.emplace_back(tdsl::tests::test_seed(), n);
  for (const auto& [seed, n] : cases) {
    Random random(seed, n);
    PlannedCase test = tdsl::tests::OperationGenerator(random).make();
    if (writes_twice(test.op)) continue;
    move_some(test, random);
    if (random.chance(40)) test.plan.super_block.clear();
    test.plan.kept.clear();  // operands on disk are not kept
    const TensorLookup tensors = test.lookup();
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
      const Counted counted = count(test.op, test.plan, tensors, rank);
      INFO("seed ", seed, " case ", n, " rank ", rank, ": ", test.describe(), " super-blocks of ",
           test.plan.super_block.size(), " labels");
      if (test.plan.super_block.empty())
        REQUIRE_MESSAGE(outside(cost, counted, test.op).empty(), outside(cost, counted, test.op));
      REQUIRE_MESSAGE(tdsl::tests::inside(cost.disk_read, counted.loaded),
                      tdsl::tests::text("loaded", cost.disk_read, counted.loaded));
      REQUIRE(cost.step_bytes.hi >= static_cast<double>(counted.peak_remote_bytes));
      ++compared;
      loads += counted.loaded > 0 ? 1 : 0;
      exact += cost.disk_read.lo == cost.disk_read.hi && counted.loaded > 0 ? 1 : 0;
      if (test.plan.housing.home == Home::kMemory) continue;
      const Written written = written_by(test, tensors, rank);
      REQUIRE(cost.disk_written.lo == static_cast<double>(written.all));
      REQUIRE(cost.disk_written.hi == static_cast<double>(written.all));
      REQUIRE(cost.away_bytes >= static_cast<double>(written.at_once));
    }
  }
  CHECK(compared > 0);
  CHECK(4 * exact > loads);
}

TEST_CASE("homes: a program that does not fit spills, within its memory and as predicted") {
  const Index n = 960, matrix = n * n * 8;
  for (const Index ranks : {1, 2, 4, 6}) {
    for (const double share : {1.5, 0.75, 0.4}) {
      const auto memory = static_cast<Index>(share * static_cast<double>(matrix) / static_cast<double>(ranks));
      PlanInputs inputs = inputs_of(ranks, memory);
      const Region region = product_region(n, true);
      HomeRequest certainly;
      certainly.certain = true;
      const FoundHomes found = find_homes(region, inputs, nullptr, certainly);
      INFO("ranks ", ranks, " memory ", memory, " needs ", found.need.bytes);
      REQUIRE(found.fits);
      CHECK(found.need.bytes <= memory);
      CHECK_FALSE(found.homes.empty());
      CHECK(found.written > 0);
      CHECK(found.need.disk > 0);
      // The steps as enumerated.
      inputs.homes = found.homes;
      Planner planner(inputs);
      double read = 0, loaded = 0;
      for (const PlannedSegment& segment : plan_one_by_one(region, planner)) {
        for (const auto& op : segment.ops) {
          read += cost_of(op->op, op->plan, planner.lookup(), 0, {}, 1).disk_read.hi;
          loaded += static_cast<double>(count(op->op, op->plan, planner.lookup(), 0).loaded);
        }
      }
      if (ranks == 1) CHECK(read == loaded);
      CHECK(read >= loaded);
    }
  }
}

TEST_CASE("homes: shapes of super-blocks cost least of all that fit") {
  const Index n = 64 * 112, tile = 448;
  for (const double share : {0.6, 0.2, 0.06}) {
    PlanInputs inputs = inputs_of(1, 0);
    std::map<TensorId, PlacedTensor> placed;
    const std::vector<Tiling> tilings(2, Tiling::fixed(n, tile));
    for (const TensorId id : {0, 1})
      placed[id] = {TensorDesc{id, {}, {n, n}, "A"}, Distribution::single(1, tilings, 0), {Home::kDisk, 0}};
    const TensorLookup tensors = [&](TensorId id) -> const PlacedTensor& { return placed.at(id); };
    OpBuilder builder(OpClass::kContraction, "C", 1, 1);
    builder.out("i", n)
        .out("j", n)
        .reduce("k", n)
        .combine(Combine::kSum)
        .flops(2)
        .read(0, {at(0), at(2)})
        .read(1, {at(2), at(1)});
    Op op = builder.op();
    op.outputs.push_back({2, {}, {n, n}, "C"});
    OpPlan plan;
    plan.space = Distribution::single(1, tilings, 0);
    plan.reduce = {Tiling::fixed(n, tile)};
    plan.super_block = {0, 0};
    plan.housing = {Home::kDisk, 0};
    const double room = share * static_cast<double>(n * n * 8);
    fit_moves(op, plan, tensors, room, inputs);
    const auto holds = [&](const OpPlan& p) {
      const Cost cost = cost_of(op, p, tensors, 0, inputs.machine, 1);
      return 2 * cost.step_bytes.hi + cost.away_bytes;
    };
    const auto reads = [&](const OpPlan& p) { return cost_of(op, p, tensors, 0, inputs.machine, 1).disk_read.hi; };
    CHECK(holds(plan) <= room);
    CHECK(plan.reduce.front().tiles() == n / tile);
    double least = 1e300;
    OpPlan other = plan;
    for (Index i = 1; i <= n / tile; ++i) {
      for (Index j = 1; j <= n / tile; ++j) {
        other.super_block = {i, j};
        if (holds(other) <= room) least = std::min(least, reads(other));
      }
    }
    CHECK(reads(plan) == least);
  }
}

TEST_CASE("homes: what later panels read of a base on disk is there") {
  // C[i, j] = A[i, j] + sum[k](A[i, k] * B[k, j]), all on disk: a block of the base is read by the panel with its k.
  const Index n = 96;
  std::map<TensorId, PlacedTensor> placed;
  const std::vector<Tiling> tilings(2, Tiling::fixed(n, 32));
  for (const TensorId id : {0, 1})
    placed[id] = {TensorDesc{id, {}, {n, n}, "A"}, Distribution::single(1, tilings, 0), {Home::kDisk, 0}};
  const TensorLookup tensors = [&](TensorId id) -> const PlacedTensor& { return placed.at(id); };
  OpBuilder builder(OpClass::kContraction, "C", 1, 1);
  builder.out("i", n)
      .out("j", n)
      .reduce("k", n)
      .combine(Combine::kSum)
      .flops(2)
      .read(0, {at(0), at(2)})
      .read(1, {at(2), at(1)})
      .base(0);
  Op op = builder.op();
  op.outputs.push_back({2, {}, {n, n}, "C"});
  OpPlan plan;
  plan.space = Distribution::single(1, tilings, 0);
  plan.reduce = {Tiling::fixed(n, 32)};
  plan.housing = {Home::kDisk, 0};
  for (const std::vector<Index>& super_block : {std::vector<Index>{0, 0}, {1, 0}, {1, 1}, {2, 1}}) {
    plan.super_block = super_block;
    const TaskSpace space(op, plan, tensors);
    StepCursor cursor(space, tensors, 0);
    Step step;
    std::set<std::pair<TensorId, Index>> here;  // pieces are whole blocks
    Index missing = 0, most = 0;
    while (cursor.next(step)) {
      for (const Fetch& fetch : step.fetch) here.insert({fetch.piece.tensor, fetch.piece.block});
      most = std::max(most, static_cast<Index>(here.size()) * 32 * 32 * 8);
      const auto look = [&](TensorId tensor, const Box& box) {
        space.for_each_piece(tensor, box, [&](const Coord&, const Piece& piece) {
          missing += here.contains({tensor, piece.block}) ? 0 : 1;
        });
      };
      for (const Task& task : step.tasks) {
        for (const Access& access : op.reads)
          look(access.tensor, space.access_box(access, space.label_intervals(task.tile, task.panel)));
        if (task.first) look(op.base, space.out_box(task.tile));
      }
      for (const Fetch& fetch : step.fetch) {
        if (!fetch.keep) here.erase({fetch.piece.tensor, fetch.piece.block});
      }
      if (step.ends_super_block) here.clear();
    }
    CHECK(missing == 0);
    CHECK(static_cast<double>(most) <= cost_of(op, plan, tensors, 0, {}, 1).step_bytes.hi);
  }
}

TEST_CASE("homes: of a tensor that a loop scans again and again, as much stays as there is room for") {
  RegionWriter region({{'i', 4096}, {'j', 1024}});
  const TensorId x = region.load("X", "ij");
  region.weigh(50);
  const TensorId v = region.op("v", "j", {{x, "ij"}});
  Region made = region.finish({x, v});
  const Index bytes = 4096 * 1024 * 8;
  const auto read_with = [&](Index memory) {
    const FoundHomes found = find_homes(made, inputs_of(1, memory), nullptr, {});
    REQUIRE(found.fits);
    return found.read;
  };
  const double all = 50.0 * static_cast<double>(bytes);
  CHECK(read_with(bytes / 4) <= all * 0.9);
  CHECK(read_with(bytes / 2) <= all * 0.65);
  CHECK(read_with(bytes / 2) >= all * 0.5);
}

TEST_CASE("homes: inputs with long rows stay in their files, and without a disk nothing else helps") {
  const Region product = product_region(1024, true);
  const Index matrix = 1024 * 1024 * 8;
  std::vector<std::string> asked;
  HomeRequest request;
  request.in_file = [&](const std::string& input, Index row) { return asked.push_back(input), row >= 1024; };
  const FoundHomes found = find_homes(product, inputs_of(1, 2 * matrix), nullptr, request);
  REQUIRE(found.fits);
  CHECK_FALSE(asked.empty());
  CHECK(std::any_of(found.tensors.begin(), found.tensors.end(),
                    [](const MovedTensor& t) { return t.housing.home == Home::kFile; }));
  request.disk = false;
  CHECK(find_homes(product, inputs_of(1, 2 * matrix), nullptr, request).fits);
  request.in_file = nullptr;
  const FoundHomes none = find_homes(product, inputs_of(1, 2 * matrix), nullptr, request);
  CHECK_FALSE(none.fits);
  CHECK(none.homes.empty());
  CHECK(none.need.bytes > 2 * matrix);
}

TEST_CASE(
    "homes: tensors on disk are saved and restored tile by tile, with room for one, at the homes of a run without "
    "checkpoints") {
  const Index n = 960, matrix = n * n * 8;
  Index alike = 0;
  for (const Index ranks : {1, 2, 6}) {
    for (const double share : {0.75, 0.4}) {
      const auto memory = static_cast<Index>(share * static_cast<double>(matrix) / static_cast<double>(ranks));
      PlanInputs inputs = inputs_of(ranks, memory);
      const Region region = product_region(n, true);
      HomeRequest request;
      request.certain = true;
      const FoundHomes without = find_homes_and_room(region, inputs, nullptr, request);
      request.saves = true;
      const FoundHomes found = find_homes_and_room(region, inputs, nullptr, request);
      INFO("ranks ", ranks, " memory ", memory, " needs ", found.need.bytes, " between ", found.between, " block ",
           found.largest_block);
      REQUIRE(found.fits);
      CHECK(found.memory + found.reserve == memory);
      CHECK(found.saved >= static_cast<double>(matrix) / static_cast<double>(ranks));
      CHECK(found.reserve >= (ranks > 1 ? kMostServed : 0) * found.largest_block);
      alike += found.homes == without.homes ? 1 : 0;
      inputs.memory = found.memory;
      inputs.homes = found.homes;
      Planner planner(inputs);
      static_cast<void>(plan_one_by_one(region, planner));
      const Op& product = region.ops.back().op;
      const TensorDesc& c = product.outputs.front();
      REQUIRE(planner.tensor(c.id).housing.home == Home::kDisk);
      CHECK(planner.site_of(c.id) == product.site);
      const Distribution where = planner.tensor(c.id).distribution;
      const Housing housing = planner.tensor(c.id).housing;
      OpBuilder save(OpClass::kSave, "C", 0, 0);
      save.out("i", n).out("j", n).read(c.id, {at(0), at(1)}).flops(0);
      Segment saving;
      saving.settled.push_back({save.op(), where});
      const PlannedSegment saved = planner.plan(std::move(saving));
      CHECK(planner.needed_memory().bytes <= memory);
      const PlannedOp& op = *saved.ops.front();
      for (Index rank = 0; rank < ranks; ++rank) {
        const Counted counted = count(op.op, op.plan, planner.lookup(), rank);
        CHECK(counted.peak_remote_bytes <= found.largest_block);
        CHECK(tdsl::tests::inside(cost_of(op.op, op.plan, planner.lookup(), rank, {}, 1).disk_read, counted.loaded));
      }
      // Another run resumes.
      Planner resumed(inputs);
      resumed.restores(c.id, product.site, housing);
      OpBuilder restore(OpClass::kRestore, "C", 0, 0);
      restore.out("i", n).out("j", n).flops(0);
      restore.op().outputs = {c};
      Segment restoring;
      restoring.settled.push_back({restore.op(), where});
      const PlannedSegment restored = resumed.plan(std::move(restoring));
      CHECK(resumed.tensor(c.id).housing == housing);
      CHECK(resumed.site_of(c.id) == product.site);
      CHECK(restored.ops.front()->plan.super_block == std::vector<Index>{1, 1});
      CHECK(resumed.needed_memory().bytes <= memory);
    }
  }
  CHECK(alike >= 3);
}

TEST_CASE("homes: a plan with homes is printed and read back") {
  PlanValue plan;
  plan.program = "p";
  plan.memory = 1000, plan.disk = 5000, plan.reserve = 16;
  plan.homes = {{3, {Home::kDisk, 2}}, {5, {Home::kFile, 0}}};
  CHECK(parse_plan(print(plan)) == plan);
  const std::string head = "tdsl plan 1\nprogram \"p\" region 0 ranks 1 schedule none\nmesh\n";
  for (const char* const wrong : {"home 3 attic 2", "home 3 disk -1", "home 0 disk 1", "home 3 disk 1 1", "memory 5",
                                  "home 3 disk 1\nhome 3 disk 1"}) {
    CHECK_THROWS_AS(static_cast<void>(parse_plan(head + wrong + "\n")), std::runtime_error);
  }
}

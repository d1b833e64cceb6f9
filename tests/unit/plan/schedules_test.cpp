#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <iostream>
#include <memory>

#include "runtime/check.h"
#include "runtime/plan/region/plan_request.h"
#include "runtime/plan/schedules/program_plans.h"
#include "runtime/plan/value/imposed.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/target_regions.h"

using namespace tdsl::plan;
using tdsl::tests::bytes_only;
using tdsl::tests::RegionWriter;
using namespace tdsl::tests::regions;

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

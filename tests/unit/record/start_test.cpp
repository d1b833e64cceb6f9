#include "runtime/record/start.h"

#include <doctest/doctest.h>

#include "runtime/plan/op_builder.h"

using namespace tdsl;
using namespace tdsl::record;

namespace {

/// A vector computed from `operand`: n points of `flops` each.
TensorHandle vector(Recorder& recorder, int site, Index n, double flops, const TensorHandle* operand = nullptr) {
  plan::OpBuilder op(operand == nullptr ? plan::OpClass::kSource : plan::OpClass::kMap, "x", site, site);
  op.out("i", n).flops(flops);
  if (operand != nullptr) op.read(operand->id(), {plan::at(0)});
  return recorder.record(std::move(op.op()), ElementType::kF64);
}

/// Variants with the given operations per element, at site 10 once and at site 20 in a loop.
Recording with_forms(const std::vector<double>& once, const std::vector<double>& in_loop) {
  return [=](Recorder& recorder, Control& control) {
    TensorHandle x = vector(recorder, 1, 1000, 1);
    const auto choose = [&](int site, const std::vector<double>& flops) {
      std::vector<Control::Branch> forms;
      for (std::size_t k = 0; k < flops.size(); ++k) {
        forms.emplace_back(
            [&, site, k, f = flops[k]] { x = vector(recorder, site + 1 + static_cast<int>(k), 1000, f, &x); });
      }
      control.choose(site, forms);
    };
    choose(10, once);
    control.for_loop(Known::kStart, 0, 9, 1, [&](Index) { choose(20, in_loop); });
  };
}

plan::PlanRequest by(const plan::Schedule* schedule) {
  plan::PlanRequest request;
  request.program = "p";
  request.schedule = schedule;
  return request;
}

plan::PlanInputs inputs_of(Index ranks) {
  plan::PlanInputs inputs;
  inputs.ranks = ranks;
  inputs.ranks_per_node = ranks;
  return inputs;
}

}  // namespace

TEST_CASE("forms: the one with the fewest operations is taken, on one rank and on several") {
  const Recording program = with_forms({5, 3, 3, 4}, {2, 7});
  for (const Index ranks : {1, 4}) {
    for (const plan::Schedule* schedule :
         std::initializer_list<const plan::Schedule*>{&plan::schedules::kGreedy, nullptr}) {
      const Start start = start_of(program, inputs_of(ranks), by(schedule));
      REQUIRE(start.plan != nullptr);
      CHECK(start.plan->forms == std::map<int, int>{{10, 1}, {20, 0}});
      // The region contains the chosen variants; the loop is represented by two iterations.
      std::vector<int> sites;
      for (const plan::RegionOp& op : start.region.ops) sites.push_back(op.op.site);
      CHECK(sites == std::vector<int>{1, 12, 21, 21});
      const plan::PlanValue read = plan::parse_plan(plan::print(*start.plan));
      CHECK(read == *start.plan);
    }
  }
}

TEST_CASE("forms: weights count, and variants that no survey reached are not chosen") {
  // 100 operations once and then 1, or always 20: the first iteration is one of nine.
  const Recording program = [](Recorder& recorder, Control& control) {
    TensorHandle x = vector(recorder, 1, 1000, 1);
    control.for_loop(Known::kStart, 0, 9, 1, [&](Index i) {
      const std::vector<Control::Branch> forms{[&] { x = vector(recorder, 11, 1000, 20, &x); },
                                               [&] { x = vector(recorder, 12, 1000, i == 0 ? 100 : 1, &x); }};
      control.choose(10, forms);
    });
  };
  CHECK(start_of(program, inputs_of(1), by(&plan::schedules::kGreedy)).plan->forms == std::map<int, int>{{10, 1}});
  // Nested variants.
  const Recording nested = [](Recorder& recorder, Control& control) {
    TensorHandle x = vector(recorder, 1, 1000, 1);
    const auto inner = [&] {
      const std::vector<Control::Branch> forms{[&] { x = vector(recorder, 21, 1000, 9, &x); },
                                               [&] { x = vector(recorder, 22, 1000, 4, &x); }};
      control.choose(20, forms);
    };
    const std::vector<Control::Branch> forms{[&] { x = vector(recorder, 11, 1000, 50, &x); }, inner};
    control.choose(10, forms);
  };
  CHECK(start_of(nested, inputs_of(1), by(&plan::schedules::kGreedy)).plan->forms ==
        std::map<int, int>{{10, 1}, {20, 1}});
}

TEST_CASE("forms: predicted seconds decide over operations, but not under --reproducible") {
  // Few operations on many elements, or more on few: memory bandwidth dominates.
  const Recording program = [](Recorder& recorder, Control& control) {
    const TensorHandle x = vector(recorder, 1, 10'000'000, 1);
    TensorHandle y;
    const std::vector<Control::Branch> forms{[&] {
                                               const TensorHandle between = vector(recorder, 11, 10'000'000, 1, &x);
                                               y = vector(recorder, 12, 10'000'000, 1, &between);
                                             },
                                             [&] { y = vector(recorder, 13, 10'000'000, 2.5, &x); }};
    control.choose(10, forms);
  };
  plan::PlanInputs inputs = inputs_of(1);
  CHECK(start_of(program, inputs, by(&plan::schedules::kGreedy)).plan->forms.at(10) == 0);
  CHECK(start_of(program, inputs, by(nullptr)).plan->forms.at(10) == 1);
  inputs.reproducible = true;
  CHECK(start_of(program, inputs, by(nullptr)).plan->forms.at(10) == 0);
}

TEST_CASE("forms: a tie goes to large products") {
  constexpr Index n = 512;
  const Recording program = [](Recorder& recorder, Control& control) {
    const auto matrix = [&](int site) {
      plan::OpBuilder op(plan::OpClass::kSource, "A", site, site);
      op.out("i", n).out("j", n).flops(1);
      return recorder.record(std::move(op.op()), ElementType::kF64);
    };
    const TensorHandle a = matrix(1), b = matrix(2);
    TensorHandle c;
    const auto product = [&](int site, bool in_rows) {
      plan::OpBuilder op(in_rows ? plan::OpClass::kReduce : plan::OpClass::kContraction, "C", site, site);
      op.out("i", n).out("j", n).reduce("k", n).read(a.id(), {plan::at(0), plan::at(2)});
      op.read(b.id(), {plan::at(2), plan::at(1)}).combine(plan::Combine::kSum).flops(2);
      op.op().by_rows = in_rows;
      op.op().product_share = in_rows ? 1 : 0;
      c = recorder.record(std::move(op.op()), ElementType::kF64);
    };
    const std::vector<Control::Branch> forms{[&] { product(11, true); }, [&] { product(12, false); }};
    control.choose(10, forms);
  };
  plan::PlanInputs inputs = inputs_of(1);
  CHECK(start_of(program, inputs, by(nullptr)).plan->forms.at(10) == 1);
  inputs.machine.row_product_rate = 2 * inputs.machine.flop_rate;
  CHECK(start_of(program, inputs, by(nullptr)).plan->forms.at(10) == 0);
}

TEST_CASE("forms: a plan's choices are checked when it is read") {
  const std::string head = "tdsl plan 1\nprogram \"p\" region 1 ranks 1 schedule greedy\nmesh\n";
  CHECK(plan::parse_plan(head + "choose 3 1\nchoose 4 0\n").forms == std::map<int, int>{{3, 1}, {4, 0}});
  for (const char* line : {"choose 3", "choose 0 1", "choose 3 -1", "choose 3 1 2", "choose 3 1\nchoose 3 0"}) {
    CHECK_THROWS_AS(static_cast<void>(plan::parse_plan(head + line)), std::runtime_error);
  }
}

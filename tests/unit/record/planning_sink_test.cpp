#include "runtime/record/planning_sink.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/op_builder.h"
#include "runtime/record/recorder.h"

using namespace tdsl;
using namespace tdsl::record;
using plan::OpClass;

namespace {

plan::PlanInputs two_ranks() {
  plan::PlanInputs inputs;
  inputs.ranks = 2;
  return inputs;
}

std::string tiles_of(const plan::Distribution& where) {
  std::string text;
  for (int d = 0; d < where.rank(); ++d) text += " " + std::to_string(where.tiling(d).tiles());
  return text;
}

/// The planned operations, and the texts of the decisions and of what ends with them.
struct Followed final : PlanningSink {
  Followed() : PlanningSink(two_ranks()) {}
  std::vector<std::shared_ptr<const plan::PlannedOp>> ops;
  std::vector<std::string> texts;

 private:
  void planned(const plan::PlannedSegment& segment) override {
    const plan::TensorLookup tensors = lookup();
    for (std::size_t k = 0; k < segment.ops.size(); ++k) {
      const plan::PlannedOp& op = *segment.ops[k];
      std::string text = op.op.name + tiles_of(op.plan.space);
      for (const plan::TensorDesc& output : op.op.outputs) text += " at" + tiles_of(tensors(output.id).distribution);
      for (const plan::TensorId id : segment.last_names[k]) text += " -" + std::to_string(id);
      ops.push_back(segment.ops[k]);
      texts.push_back(std::move(text));
    }
    for (const plan::TensorId id : segment.ended) texts.push_back("ends " + std::to_string(id));
  }
};

/// Two segments: of a map, and of as many others as `maps`.
std::unique_ptr<Followed> run_of(int maps, const std::shared_ptr<SharedPlans>& shared) {
  auto sink = std::make_unique<Followed>();
  if (shared != nullptr) sink->share(shared);
  Recorder recorder(*sink);
  const auto map = [&](const TensorHandle& of, const std::string& name) {
    plan::OpBuilder op(OpClass::kMap, name, 2, 1);
    op.out("i", of.extent(0)).read(of.id(), {plan::at(0)});
    return recorder.record(std::move(op.op()), ElementType::kF64);
  };
  {
    const TensorHandle x = recorder.source("x", ElementType::kF64, {1000}, {}, {1, 1});
    TensorHandle y = map(x, "y");
    recorder.store("y", y, {3, 1});
    for (int k = 0; k < maps; ++k) y = map(y, "z");
    recorder.store("z", y, {4, 1});
  }
  recorder.flush();
  sink->keep_run();
  return sink;
}

}  // namespace

TEST_CASE("planning: a run that repeats an earlier one takes its plans") {
  const auto shared = std::make_shared<SharedPlans>();
  const auto first = run_of(2, shared);
  const auto second = run_of(2, shared);
  CHECK(first->texts == run_of(2, nullptr)->texts);
  CHECK(second->texts == first->texts);
  CHECK(second->ops == first->ops);  // the same objects
  CHECK(second->planning_seconds() == 0);
}

TEST_CASE("planning: a run that leaves an earlier one is planned as if it were alone") {
  const auto shared = std::make_shared<SharedPlans>();
  const auto first = run_of(2, shared);
  for (const int maps : {0, 1, 3}) {
    const auto other = run_of(maps, shared);
    CHECK(other->texts == run_of(maps, nullptr)->texts);
    CHECK(other->ops.front() == first->ops.front());
    CHECK(other->ops.back() != first->ops.back());
  }
  CHECK(run_of(2, shared)->ops == first->ops);
}

TEST_CASE("planning: long runs are not kept") {
  const auto shared = std::make_shared<SharedPlans>();
  static_cast<void>(run_of(static_cast<int>(PlannedRun::kMostOperations), shared));
  CHECK(shared->run == nullptr);
}

#include <doctest/doctest.h>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/space/tiles.h"
#include "tests/unit/plan/counting.h"

// Tasks of memory-bound work: thin products, matrix-vector products, reductions to few lines.

using namespace tdsl::plan;
using tdsl::tests::Recorder;

namespace {

PlanInputs machine(Index ranks, int threads) {
  PlanInputs inputs;
  inputs.ranks = ranks;
  inputs.threads = threads;
  return inputs;
}

struct Tasks {
  Index count = 0;     ///< of rank 0
  Index columns = 0;   ///< independent tasks: output tiles, including partial results
  Index received = 0;  ///< elements
};

Tasks tasks_of(const PlannedOp& op, const Planner& planner) {
  const tdsl::tests::Counted counted = tdsl::tests::count(op.op, op.plan, planner.lookup(), 0);
  return {counted.tasks, static_cast<Index>(op.plan.space.tile_count()), counted.elements};
}

/// u = X v, w = X' u, as planned: the contractions.
std::vector<Tasks> twice(Index rows, Index columns, const PlanInputs& inputs) {
  Recorder recorder(inputs);
  const TensorId x = recorder.source("X", {rows, columns});
  const TensorId v = recorder.source("v", {columns});
  OpBuilder first(OpClass::kContraction, "u", 2, 1);
  first.out("i", rows).reduce("k", columns).read(x, {at(0), at(1)}).read(v, {at(1)}).combine(Combine::kSum).flops(2);
  const TensorId u = recorder.finish(first, "u");
  OpBuilder second(OpClass::kContraction, "w", 3, 1);
  second.out("k", columns).reduce("i", rows).read(x, {at(1), at(0)}).read(u, {at(1)}).combine(Combine::kSum).flops(2);
  recorder.finish(second, "w");
  std::vector<Tasks> tasks;
  for (const auto& op : recorder.run()) {
    if (op->op.op_class == OpClass::kContraction) tasks.push_back(tasks_of(*op, recorder.planner));
  }
  return tasks;
}

/// The sum over rows of a fused operator with these flops per row.
Tasks fused_sum(Index rows, Index flops, const PlanInputs& inputs) {
  Recorder recorder(inputs);
  const TensorId x = recorder.source("X", {rows, 200});
  OpBuilder sum(OpClass::kReduce, "s", 2, 1);
  sum.reduce("i", rows).read(x, {at(0), whole()}).combine(Combine::kSum).flops_per_row(flops);
  recorder.finish(sum, "s");
  for (const auto& op : recorder.run()) {
    if (op->op.op_class == OpClass::kReduce) return tasks_of(*op, recorder.planner);
  }
  return {};
}

/// Least predicted seconds of a fused operator over the rows of A with a product by B, which all rows share.
double seconds_of_rows_times_shared(Index rows, Index inner, Index columns, double last_cache) {
  PlanInputs inputs;
  inputs.machine.last_cache = last_cache;
  Recorder recorder(inputs);
  const TensorId a = recorder.source("A", {rows, inner});
  const TensorId b = recorder.source("B", {inner, columns});
  OpBuilder map(OpClass::kMap, "C", 2, 1);
  const Index flops = 2 * inner * columns;
  map.out("i", rows).out("j", columns).uncut().read(a, {at(0), whole()}).read(b, {whole(), whole()});
  map.flops_per_row(flops, flops);
  recorder.finish(map, "C");
  for (const auto& op : recorder.run()) {
    if (op->op.op_class == OpClass::kMap)
      return cost_of(op->op, op->plan, recorder.planner.lookup(), 0, inputs.machine, inputs.threads).seconds.lo;
  }
  return 0;
}

/// m[i] = max[k](X[i, k]) of a tensor computed by a map.
Tasks maxima(Index lines, Index length, const PlanInputs& inputs) {
  Recorder recorder(inputs);
  const TensorId x = recorder.source("X", {lines, length});
  OpBuilder map(OpClass::kMap, "Y", 1, 1);
  map.out("i", lines).out("k", length).read(x, {at(0), at(1)});
  const TensorId y = recorder.finish(map, "Y");
  OpBuilder reduce(OpClass::kReduce, "m", 2, 1);
  reduce.out("i", lines).reduce("k", length).read(y, {at(0), at(1)}).combine(Combine::kMax);
  recorder.finish(reduce, "m");
  for (const auto& op : recorder.run()) {
    if (op->op.op_class == OpClass::kReduce) return tasks_of(*op, recorder.planner);
  }
  return {};
}

}  // namespace

TEST_CASE("tasks: a thin product has as many as its bytes are worth, not one for every 1024 rows") {
  for (const Tasks& tasks : twice(10'000'000, 10, machine(1, 2))) {
    CHECK(tasks.count <= 110);
    CHECK(tasks.count >= 8);
  }
  for (const Tasks& tasks : twice(2'000'000, 10, machine(4, 1))) {
    CHECK(tasks.count <= 8);
    CHECK(tasks.received <= 30);
  }
  // 8 MB: the remainder of an edge of 1024 is cut for the threads, as long as a task reads 256 KiB.
  const std::vector<Tasks> small = twice(100'000, 10, machine(1, 2));
  CHECK(small[0].columns == 8);
  CHECK(twice(5'000, 10, machine(1, 2))[0].count == 1);
}

TEST_CASE("tasks: the rows of a product with a vector are shared evenly by the threads") {
  for (const int threads : {2, 3, 4}) {
    const Tasks tasks = twice(5000, 5000, machine(1, threads))[0];
    CHECK(tasks.columns >= 4 * threads);
  }
}

TEST_CASE("tasks: no edge of a product's block makes it larger than a square block, none is shorter than before") {
  const auto edges = [](Index m, Index n, Index k) {
    Recorder recorder(machine(1, 1));
    recorder.product(recorder.source("A", {m, k}), false, recorder.source("B", {k, n}), false, m, n, k);
    const auto op = recorder.run().back();
    return std::vector{op->plan.space.tiling(0).longest(), op->plan.space.tiling(1).longest(),
                       op->plan.reduce[0].longest()};
  };
  for (const auto& [m, n, k] : std::vector<std::array<Index, 3>>{
           {5000, 5000, 5000}, {4'000'000, 10, 10}, {10, 10, 4'000'000}, {4'000'000, 1, 300}, {300, 100'000, 300}}) {
    const std::vector<Index> longest = edges(m, n, k);
    for (const auto& [a, b] : {std::pair{0, 1}, {0, 2}, {2, 1}})
      CHECK(longest[idx(a)] * longest[idx(b)] <= Index{1136} * 1136);
    for (const auto& [edge, extent] : {std::pair{longest[0], m}, {longest[1], n}, {longest[2], k}})
      CHECK(edge >= std::min<Index>(extent, 768));
  }
}

TEST_CASE(
    "tasks: maxima of few lines, of many and of all elements are computed by all threads, in the tiles of the "
    "operand") {
  CHECK(maxima(4096, 4096, machine(1, 2)).columns == 16);
  CHECK(maxima(1000, 1000, machine(1, 2)).columns == 8);
  CHECK(maxima(200, 5000, machine(1, 2)).columns >= 4);
  CHECK(maxima(4, 4'000'000, machine(1, 2)).columns >= 4);
  CHECK(maxima(2, 300'000, machine(1, 2)).columns >= 4);
  CHECK(maxima(100, 100, machine(1, 2)).columns == 1);
}

TEST_CASE("tasks: a small window or memory keeps thin products in short blocks") {
  constexpr Index n = 1'000'000;
  for (const Index window : {Index{1} << 22, Index{1} << 20, Index{1} << 18}) {
    PlanInputs inputs = machine(4, 1);
    inputs.window = window;
    Recorder recorder(inputs);
    const TensorId x = recorder.source("X", {n, 10});
    const TensorId v = recorder.source("V", {10, 10});
    OpBuilder mirrored(OpClass::kContraction, "C", 2, 1);  // every row comes from another rank
    mirrored.out("i", n)
        .out("j", 10)
        .reduce("k", 10)
        .read(x, {at(0, n - 1, -1), at(2)})
        .read(v, {at(2), at(1)})
        .combine(Combine::kSum)
        .flops(2);
    recorder.finish(mirrored, "C");
    recorder.run();
    CHECK(recorder.planner.largest_step() <= window);
  }
}

TEST_CASE("plan: a sum over the rows of a fused operator is split by its work, not by the number of rows") {
  CHECK(fused_sum(8000, 40000, machine(1, 2)).columns > 1);
  CHECK(fused_sum(8000, 10, machine(1, 2)).columns == 1);
}

TEST_CASE("plan: row blocks of a product pack a shared operand beyond half of the last cache from memory") {
  // 16 blocks of 128 rows or fewer; the first read is part of the product's own.
  const double shared = 8.0 * 2000 * 2300;
  const double fits = seconds_of_rows_times_shared(2000, 2000, 2300, 2 * shared);
  const double exceeds = seconds_of_rows_times_shared(2000, 2000, 2300, 2 * shared - 16);
  CHECK(exceeds - fits == doctest::Approx(0.75 * 15 * shared / Machine().stream_rate));
}

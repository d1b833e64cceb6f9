#include <doctest/doctest.h>

#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/enumeration.h"

using namespace tdsl::plan;
using tdsl::tests::Enumeration;
using tdsl::tests::outside;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;
using tdsl::tests::Recorder;

namespace {

/// Records random statements over matrices, vectors and scalars of a few extents.
class ProgramGenerator {
 public:
  ProgramGenerator(Random& random, Recorder& recorder, Index scale = 1)
      : random_(random), recorder_(recorder), scale_(scale) {
    for (int n = random_.small(1, 3); n > 0; --n) {
      std::vector<Index> shape;
      for (int d = random_.small(0, 2); d > 0; --d) shape.push_back(extent());
      keep(recorder_.source("S", shape), shape);
    }
  }

  void statement() {
    switch (random_.small(0, 6)) {
      case 0: return product();
      case 1: return reduction();
      case 2: return stencil();
      case 3: return strided();
      case 4: return overwrite();
      case 5: return collect();
      default: return element_wise();
    }
  }

 private:
  struct Known {
    TensorId id;
    std::vector<Index> shape;
  };
  Index extent() { return scale_ * random_.one_of<Index>({1, 3, 4, 6, 9}); }
  void keep(TensorId id, std::vector<Index> shape) { known_.push_back({id, std::move(shape)}); }
  /// A tensor of that shape: a known one, or a new source.
  Known operand(const std::vector<Index>& shape) {
    std::vector<Known> fitting;
    for (const Known& k : known_) {
      if (k.shape == shape) fitting.push_back(k);
    }
    if (!fitting.empty() && random_.chance(70)) return random_.one_of(fitting);
    keep(recorder_.source("S", shape), shape);
    return known_.back();
  }
  Known any() { return random_.one_of(known_); }
  OpBuilder builder(OpClass op_class) { return {op_class, "T", 50 + static_cast<int>(known_.size()), 1}; }
  static std::vector<DimAccess> plain(std::size_t rank) {
    std::vector<DimAccess> dims;
    for (std::size_t d = 0; d < rank; ++d) dims.push_back(at(static_cast<int>(d)));
    return dims;
  }

  static DimAccess plan_at(int label) { return tdsl::plan::at(label); }
  void product() {
    const Index m = extent(), n = extent(), k = extent();
    const bool at = random_.chance(30), bt = random_.chance(30);
    const Known a = operand(at ? std::vector{k, m} : std::vector{m, k});
    const Known b = operand(bt ? std::vector{n, k} : std::vector{k, n});
    if (random_.chance(60)) return keep(recorder_.product(a.id, at, b.id, bt, m, n, k), {m, n});
    OpBuilder product = builder(OpClass::kContraction);
    product.out("i", m).out("j", n).reduce("k", k).combine(Combine::kSum).flops(2).epilogue();
    product.read(a.id, {plan_at(at ? 2 : 0), plan_at(at ? 0 : 2)})
        .read(b.id, {plan_at(bt ? 1 : 2), plan_at(bt ? 2 : 1)});
    if (random_.chance(70)) product.read(operand({m, n}).id, plain(2));
    if (random_.chance(70)) product.read(operand({n}).id, {plan_at(1)});
    keep(recorder_.finish(product, "E"), {m, n});
  }
  void element_wise() {
    const Known a = any();
    OpBuilder b = builder(OpClass::kMap);
    for (Index e : a.shape) b.out("i", e);
    b.read(a.id, plain(a.shape.size()));
    const Known scalar = operand({});
    b.read(scalar.id, {});
    if (random_.chance(20)) b.read(scalar.id, {});
    if (a.shape.size() == 2) {
      b.read(operand({a.shape[1], a.shape[0]}).id, {at(1), at(0)});
      b.read(operand({a.shape[1]}).id, {at(1)});
    }
    keep(recorder_.finish(b, "M"), a.shape);
  }
  void reduction() {
    const Known a = any();
    OpBuilder b = builder(OpClass::kReduce);
    b.combine(random_.chance(80) ? Combine::kSum : Combine::kNone);
    std::vector<Index> shape;
    const std::size_t kept =
        a.shape.empty() ? 0 : static_cast<std::size_t>(random_.in(0, static_cast<Index>(a.shape.size()) - 1));
    for (std::size_t d = 0; d < a.shape.size(); ++d) {
      if (d < kept) {
        b.out("i", a.shape[d]);
        shape.push_back(a.shape[d]);
      } else {
        b.reduce("k", a.shape[d]);
      }
    }
    b.read(a.id, plain(a.shape.size()));
    keep(recorder_.finish(b, "R"), shape);
  }
  void stencil() {
    const Known a = operand({extent() + 2});
    OpBuilder b = builder(OpClass::kMap);
    b.out("i", Interval{1, a.shape[0] - 1}).read(a.id, {near(0, -1, 2)});
    keep(recorder_.finish(b, "N"), {a.shape[0] - 2});
  }
  void strided() {
    const Known a = operand({9});
    OpBuilder b = builder(OpClass::kMap);
    b.out("i", Index{4}).read(a.id, {at(0, random_.in(0, 2), random_.chance(50) ? 2 : 1)});
    keep(recorder_.finish(b, "V"), {4});
  }
  void overwrite() {
    const Known a = any();
    OpBuilder b = builder(OpClass::kMap);
    std::vector<OutSubscript> subscripts;
    for (std::size_t d = 0; d < a.shape.size(); ++d) {
      b.label("i", {0, (a.shape[d] + 1) / 2});
      subscripts.push_back({static_cast<int>(d), random_.chance(50) ? 2 : 1, 0});
    }
    b.write(a.shape, subscripts).base(a.id).read(operand({}).id, {});
    keep(recorder_.finish(b, "W"), a.shape);
  }
  void collect() {
    const Known a = any();
    OpBuilder b = builder(OpClass::kCollect);
    for (Index e : a.shape) b.out("i", e);
    b.read(a.id, plain(a.shape.size())).on_rank(0);
    recorder_.segment.push_back(b.op());
  }

  Random& random_;
  Recorder& recorder_;
  Index scale_;
  std::vector<Known> known_;
};

PlannedCase as_case(const PlannedOp& planned, const Planner& planner) {
  PlannedCase test;
  test.op = planned.op;
  test.plan = planned.plan;
  for (const Access& access : planned.op.reads) test.tensors.emplace(access.tensor, planner.tensor(access.tensor));
  if (planned.op.base >= 0) test.tensors.emplace(planned.op.base, planner.tensor(planned.op.base));
  return test;
}

/// The operation's cuts, and the combination of its sums; independent of the assignment to ranks.
std::string cuts_of(const PlannedOp& planned) {
  std::string text = std::string(name_of(planned.op.op_class)) + " " + std::to_string(planned.part);
  const auto add = [&text](const Tiling& t) {
    text += ' ' + std::to_string(t.extent()) + '/' + std::to_string(t.tiles()) + ':' +
            std::to_string(t.tiles() > 0 ? t.tile(0).size() : 0);
  };
  for (int d = 0; d < planned.plan.space.rank(); ++d) add(planned.plan.space.tiling(d));
  text += " |";
  for (std::size_t k = 0; k < planned.op.reduce.size(); ++k) {
    add(planned.plan.reduce[k]);
    text += '@' + std::to_string(planned.op.reduce[k].part_dim);
  }
  return text + '\n';
}

/// The cuts of a random program, reproducible by number.
std::string cuts_of_program(std::uint64_t number, const PlanInputs& inputs, Index scale) {
  Random random(tdsl::tests::test_seed(), number);
  Recorder recorder(inputs);
  ProgramGenerator program(random, recorder, scale);
  std::string text;
  for (int segment = 0; segment < 2; ++segment) {
    for (int statements = random.small(1, 4); statements > 0; --statements) program.statement();
    for (const auto& planned : recorder.run()) text += cuts_of(*planned);
  }
  return text;
}

/// An output block can start as a copy of its base only if both are on the same rank.
bool base_is_local(const PlannedOp& planned, const Planner& planner) {
  if (planned.op.base < 0) return true;
  const Distribution& base = planner.tensor(planned.op.base).distribution;
  const Distribution& space = planned.plan.space;
  if (base.everywhere()) return true;
  return base.tilings() == space.tilings() && base == space;
}

}  // namespace

TEST_CASE("planner: an epilogue waits until partial results have met, and so do its operands") {
  PlanInputs inputs;
  inputs.ranks = 4;
  Recorder recorder(inputs);
  const Index k = 1 << 20, m = 6;
  const TensorId a = recorder.source("A", {k, m});
  const TensorId bias = recorder.source("b", {m});
  OpBuilder product(OpClass::kContraction, "C", 9, 1);
  product.out("i", m).out("j", m).reduce("k", k).combine(Combine::kSum).flops(2).epilogue();
  product.read(a, {at(2), at(0)}).read(a, {at(2), at(1)}).read(bias, {at(1)}).read(a, {fixed(0, 1), at(1)});
  const TensorId result = recorder.finish(product, "C");
  const auto planned = recorder.planner.plan({std::exchange(recorder.segment, {}), {a, bias}});
  REQUIRE(planned.ops.size() == 4);  // A, parts, b, combination
  const auto is = [&](OpClass c, bool epilogue) {
    return std::find_if(planned.ops.begin(), planned.ops.end(),
                        [&](const auto& p) { return p->op.op_class == c && p->op.epilogue == epilogue; });
  };
  const auto parts = is(OpClass::kContraction, false), sum = is(OpClass::kCombine, true);
  REQUIRE(parts != planned.ops.end());
  REQUIRE(sum != planned.ops.end());
  CHECK((*parts)->op.reads.size() == 2);
  CHECK((*sum)->op.reads.size() == 3);
  CHECK((*sum)->op.own_reads().size() == 1);
  CHECK((*sum)->op.outputs.front().id == result);
  const auto ends_at = [&](TensorId id) {
    for (std::size_t n = 0; n < planned.last_names.size(); ++n) {
      if (std::find(planned.last_names[n].begin(), planned.last_names[n].end(), id) != planned.last_names[n].end())
        return n;
    }
    return planned.last_names.size();
  };
  const auto last = static_cast<std::size_t>(sum - planned.ops.begin());
  CHECK(ends_at(a) == last);
  CHECK(ends_at(bias) == last);
}

TEST_CASE("planner: random programs get legal plans whose steps agree with brute force") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(5); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlanInputs inputs;
    inputs.ranks = random.in(1, 7);
    inputs.threads = random.small(1, 3);
    if (random.chance(60)) inputs.tile = {random.in(1, 5)};
    if (random.chance(30)) inputs.window = random.in(1, 400);
    inputs.reproducible = random.chance(25);
    Recorder recorder(inputs);
    ProgramGenerator program(random, recorder);
    for (int segment = 0; segment < 2; ++segment) {
      for (int statements = random.small(1, 4); statements > 0; --statements) program.statement();
      for (const auto& planned : recorder.run()) {
        const PlannedCase test = as_case(*planned, recorder.planner);
        INFO("case ", n, ": ", std::string(name_of(planned->op.op_class)), " ", planned->plan.why, "; ",
             test.describe());
        const std::string wrong = Enumeration(test).violation();
        REQUIRE_MESSAGE(wrong.empty(), wrong);
        REQUIRE(base_is_local(*planned, recorder.planner));
        const TensorLookup tensors = recorder.planner.lookup();
        for (Index rank = 0; rank < inputs.ranks; ++rank) {
          const Cost cost = cost_of(test.op, test.plan, tensors, rank, inputs.machine, inputs.threads);
          const std::string wrong_cost = outside(cost, tdsl::tests::count(test.op, test.plan, tensors, rank), test.op);
          REQUIRE_MESSAGE(wrong_cost.empty(), wrong_cost);
        }
      }
    }
  }
}

TEST_CASE(
    "planner: reproducible plans have the same cuts for every number of ranks and threads, every window and memory") {
  std::uint64_t split = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(3); ++n) {
    PlanInputs one;
    one.reproducible = true;
    if (n % 2 == 0) one.tile = {static_cast<Index>(1 + n % 5)};
    const Index scale = n % 2 == 0 ? 1 : 300;
    const std::string expected = cuts_of_program(n, one, scale);
    split += expected.find("@0") != std::string::npos ? 1 : 0;
    for (const Index ranks : {2, 3, 4, 7, 12}) {
      PlanInputs inputs = one;
      inputs.ranks = ranks;
      inputs.threads = static_cast<int>(1 + ranks % 3);
      inputs.window = ranks == 3 ? 1000 : 0;
      inputs.machine.grain = 1e-9 * static_cast<double>(ranks * ranks * ranks * ranks);
      INFO("case ", n, " at ", ranks, " ranks");
      REQUIRE(cuts_of_program(n, inputs, scale) == expected);
    }
  }
  CHECK(split > 0);
}

TEST_CASE("planner: equal programs give equal hashes, other extents another") {
  const auto hash = [](Index n) {
    PlanInputs inputs;
    inputs.ranks = 6;
    Recorder recorder(inputs);
    const TensorId a = recorder.source("A", {n, n});
    recorder.product(a, false, a, true, n, n, n);
    recorder.run();
    return recorder.planner.hash();
  };
  CHECK(hash(500) == hash(500));
  CHECK(hash(500) != hash(501));
}

TEST_CASE(
    "planner: a product fits a memory limit a little above its operands and result; otherwise the need is reported") {
  constexpr Index n = 600, share = 3 * n * n * 8 / 4;
  const auto needed = [](Index memory) {
    PlanInputs inputs;
    inputs.ranks = 4;
    inputs.memory = memory;
    Recorder recorder(inputs);
    const TensorId a = recorder.source("A", {n, n});
    const TensorId b = recorder.source("B", {n, n});
    recorder.product(a, false, b, false, n, n, n);
    recorder.run();
    return recorder.planner.needed_memory().bytes;
  };
  for (const Index beyond : {Index{1} << 20, Index{1} << 18, Index{1} << 16})
    CHECK(needed(share + beyond) <= share + beyond);
  CHECK(needed(share - 1) > share);
  CHECK(needed(needed(1)) <= needed(1));
}

TEST_CASE(
    "planner: a product of a matrix with itself holds a received element once for each place where it is read, under "
    "any limit") {
  constexpr Index n = 60000, ranks = 6;
  constexpr double matrix = 8.0 * n * n;
  for (const Index memory : {Index{1}, Index{9} << 30, Index{18} << 30}) {
    PlanInputs inputs;
    inputs.ranks = ranks;
    inputs.memory = memory;
    Recorder recorder(inputs);
    const TensorId a = recorder.source("A", {n, n});
    recorder.product(a, false, a, false, n, n, n);
    recorder.run();
    CHECK(static_cast<double>(recorder.planner.needed_memory().bytes) <= 2 * matrix / ranks + 2 * matrix);
  }
}

TEST_CASE("planner: a smaller window makes every step fit it") {
  for (const Index window : {Index{1} << 20, Index{1} << 18, Index{1} << 16}) {
    PlanInputs inputs;
    inputs.ranks = 4;
    inputs.window = window;
    Recorder recorder(inputs);
    const TensorId a = recorder.source("A", {600, 600});
    const TensorId b = recorder.source("B", {600, 600});
    recorder.product(a, false, b, false, 600, 600, 600);
    for (const auto& op : recorder.run()) {
      for (Index rank = 0; rank < 4; ++rank) {
        const auto counted = tdsl::tests::count(op->op, op->plan, recorder.planner.lookup(), rank);
        CHECK(counted.peak_remote_bytes <= window);
      }
    }
    CHECK(recorder.planner.largest_step() <= window);
  }
}

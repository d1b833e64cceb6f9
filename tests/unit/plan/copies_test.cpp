#include <doctest/doctest.h>

#include <map>
#include <set>

#include "runtime/plan/cost/sent_bytes.h"
#include "runtime/plan/cost/transfers.h"
#include "runtime/plan/signature.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/value/imposed.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/enumeration.h"
#include "tests/unit/plan/regions.h"

// Layouts with copies along some axes of the mesh, compared with enumeration over all ranks.

using namespace tdsl::plan;
using tdsl::tests::count;
using tdsl::tests::Counted;
using tdsl::tests::Enumeration;
using tdsl::tests::outside;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;
using tdsl::tests::Recorder;

namespace {

const std::vector<Index> kRankCounts{2, 4, 6, 8, 12, 16};

/// Layouts of all kinds that three axes allow.
std::vector<Layout> all_layouts(const Mesh& mesh, const std::vector<Index>& most) {
  std::vector<Layout> layouts = copy_layouts(mesh, most);
  for (const Layout& layout : spread_layouts(mesh, most)) layouts.push_back(layout);
  return layouts;
}

std::vector<Mesh> meshes(Index ranks) {
  std::vector<Mesh> all = meshes_of(ranks, 1);
  if (ranks % 2 == 0) {
    for (const Mesh& mesh : meshes_of(ranks, 2)) all.push_back(mesh);
  }
  return all;
}

/// An operation with layouts for itself and its operands, realised as the planner would.
struct Realised {
  PlannedCase test;
  Layout work;
  std::map<TensorId, Layout> layouts;
  Mesh mesh;

  /// C[i, j] = sum[k](A[i, k] * B[k, j]), and stencils and transposes for other boxes.
  static OpBuilder operation(Random& random, Index n) {
    switch (random.small(0, 3)) {
      case 0: {
        OpBuilder op(OpClass::kContraction, "product", 3, 3);
        op.out("i", n).out("j", n).reduce("k", n).combine(Combine::kSum).flops(2);
        op.read(0, {at(0), at(2)}).read(1, {at(2), at(1)});
        return op;
      }
      case 1: {
        OpBuilder op(OpClass::kReduce, "row sums", 3, 3);
        op.out("i", n).reduce("k", n).combine(Combine::kSum).read(0, {at(0), at(1)});
        return op;
      }
      case 2: {
        OpBuilder op(OpClass::kReduce, "sum", 3, 3);
        op.reduce("i", n).reduce("k", n).combine(Combine::kSum).read(0, {at(0), at(1)}).read(1, {at(1), at(0)});
        return op;
      }
      default: {
        OpBuilder op(OpClass::kMap, "neighbours and transpose", 3, 3);
        op.out("i", n).out("j", n).read(0, {at(1), at(0)});
        op.read(1, {near(0, -1, 2), at(1)});
        return op;
      }
    }
  }

  /// Empty if given or canonical tiles are too few for the layout.
  static std::optional<Realised> make(Random& random, Index ranks, Index n) {
    Realised r;
    r.mesh = random.one_of(meshes(ranks));
    PlanInputs inputs;
    inputs.ranks = ranks;
    inputs.threads = random.small(1, 3);
    if (random.chance(30)) inputs.tile = {random.in(1, 3)};
    inputs.reproducible = random.chance(20);
    OpBuilder builder = operation(random, n);
    Op& op = builder.op();
    op.outputs = {{100, {8, "f64"}, op.shape, "result"}};
    std::vector<Index> most(op.shape.size() + op.reduce.size(), n);
    r.work = random.one_of(all_layouts(r.mesh, most));
    std::map<TensorId, TensorDesc> tensors;
    for (const TensorId id : {0, 1}) {
      tensors[id] = {id, {8, "f64"}, {n, n}, "T"};
      r.layouts[id] = random.one_of(all_layouts(r.mesh, {n, n}));
    }
    const Operands operands{[](TensorId) { return nullptr; },
                            [&](TensorId id) -> const TensorDesc& { return tensors.at(id); },
                            [&](TensorId id) { return &r.layouts.at(id); }, &r.mesh};
    std::optional<Candidate> candidate = realise(op, r.work, inputs, operands);
    if (!candidate) return std::nullopt;
    candidate->op.outputs.front().id = 100;
    r.test.op = candidate->op;
    r.test.plan = candidate->plan;
    for (const auto& [id, where] : candidate->leaves) r.test.tensors[id] = {tensors.at(id), where};
    if (random.chance(30)) {
      for (Index& edge : r.test.plan.super_block) edge = random.in(0, 2);
    }
    return r;
  }
  [[nodiscard]] std::string describe() const {
    std::vector<std::string> slots = slot_names(test.op);
    if (slots.size() > work.cut.size())
      slots.erase(slots.begin(), slots.end() - static_cast<std::ptrdiff_t>(work.cut.size()));
    std::string text = text_of(work, slots) + ";";
    for (const auto& [id, layout] : layouts) text += " T" + std::to_string(id) + " " + text_of(layout, {"i", "j"});
    return text + "; " + test.describe();
  }
};

}  // namespace

TEST_CASE("copies: layouts are read back as they were printed") {
  const std::vector<std::string> names{"i0", "repeated", "k"};
  for (const Index ranks : kRankCounts) {
    for (const Mesh& mesh : meshes(ranks)) {
      for (const Layout& layout : all_layouts(mesh, {ranks, ranks, ranks})) {
        const std::string text = text_of(layout, names);
        CAPTURE(text);
        CHECK(parse_layout(text, names, mesh) == layout);
      }
    }
  }
  for (const char* text :
       {"repeated", "i0:a repeated k:b", "i0:a repeated repeated", "repeated i0:a", "i0:a everywhere", "i0:repeated"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_layout(text, names, meshes_of(8, 1).front()));
  }
}

TEST_CASE("copies: boxes of a realised layout are those of the layout, and every copy is whole") {
  for (const Index ranks : kRankCounts) {
    for (const Mesh& mesh : meshes(ranks)) {
      const std::vector<Index> extents{ranks, 2 * ranks, 3 * ranks};
      for (const Layout& layout : all_layouts(mesh, extents)) {
        OpBuilder builder(OpClass::kMap, "T", 1, 1);
        builder.out("i", extents[0]).out("j", extents[1]).out("k", extents[2]).read(0, {at(0)});
        Op& op = builder.op();
        op.outputs = {{100, {8, "f64"}, op.shape, "T"}};
        const TensorDesc operand{0, {8, "f64"}, {extents[0]}, "x"};
        const Operands operands{
            [](TensorId) { return nullptr; }, [&](TensorId) -> const TensorDesc& { return operand; }, {}, &mesh};
        PlanInputs inputs;
        inputs.ranks = ranks;
        const std::optional<Candidate> candidate = realise(op, layout, inputs, operands);
        REQUIRE(candidate);
        const Distribution& space = candidate->plan.space;
        CAPTURE(text_of(layout, {"i", "j", "k"}));
        CAPTURE(space.describe({}));
        std::vector<Index> all;
        for (Index rank = 0; rank < ranks; ++rank) all.push_back(rank);
        const counting::Boxes boxes =
            counting::shares_of({extents, {std::nullopt, std::nullopt, std::nullopt}}, layout, mesh, all);
        Index parts = 1;
        for (const Axes& axes : layout.cut) parts *= coordinates(mesh, axes);
        CHECK(space.copies() == (layout.repeated ? ranks / parts : 1));
        CHECK(candidate->plan.packs() == (space.copies() > 1));
        std::map<Index, Index> elements;  // by fibre
        for (Index rank = 0; rank < ranks; ++rank) {
          CHECK(static_cast<double>(space.owned_elements(rank)) ==
                counting::volume(static_cast<std::size_t>(rank), boxes));
          space.for_each_owned(rank, [&](const Coord& tile) {
            for (int d = 0; d < 3; ++d) {
              const Interval elements = space.tiling(d).tile(tile[d]);
              CHECK(intersect(boxes.of(static_cast<std::size_t>(rank), static_cast<std::size_t>(d)), elements) ==
                    elements);
            }
          });
          elements[space.fibre(rank)] += space.owned_elements(rank);
        }
        CHECK(static_cast<Index>(elements.size()) == space.copies());
        for (const auto& [fibre, sum] : elements) CHECK(sum == extents[0] * extents[1] * extents[2]);
      }
    }
  }
}

TEST_CASE("copies: distributions that differ in copies alone have different signatures and are not equal") {
  const std::vector<Tiling> tilings{Tiling::fixed(4, 1)};
  const GridDim halves{{{2, 1}}, 2};
  std::set<std::string> signatures;
  std::vector<Distribution> all;
  for (const std::vector<GridAxis>& repeat :
       std::vector<std::vector<GridAxis>>{{}, {{2, 2}}, {{2, 4}}, {{2, 2}, {2, 4}}}) {
    all.push_back(Distribution::grid(8, tilings, {halves}, 0, repeat));
    std::string signature;
    append_signature(signature, all.back());
    CHECK(signatures.insert(signature).second);
    for (std::size_t k = 0; k + 1 < all.size(); ++k) CHECK_FALSE(all[k] == all.back());
  }
}

TEST_CASE("copies: steps, requests and predictions of realised layouts agree with enumeration") {
  Index copied = 0, exact = 0, fetched = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(8); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index ranks = random.one_of(kRankCounts);
    const std::optional<Realised> realised =
        Realised::make(random, ranks, random.chance(70) ? 12 : random.in(ranks, 16));
    if (!realised) continue;
    const Realised& r = *realised;
    INFO("case ", n, ": ", r.describe());
    Enumeration enumeration(r.test);
    const std::string wrong = enumeration.violation();
    REQUIRE_MESSAGE(wrong.empty(), wrong);
    fetched += enumeration.fetched();
    copied += r.work.repeated && !r.work.whole() ? 1 : 0;
    const TensorLookup tensors = r.test.lookup();
    double received = 0, sent_lo = 0, sent_hi = 0;
    for (Index rank = 0; rank < ranks; ++rank) {
      const Cost cost = cost_of(r.test.op, r.test.plan, tensors, rank, {}, 1);
      const Counted counted = count(r.test.op, r.test.plan, tensors, rank);
      const std::string figure = outside(cost, counted, r.test.op);
      REQUIRE_MESSAGE(figure.empty(), figure);
      exact += cost.bytes_received.lo == cost.bytes_received.hi && counted.bytes > 0 ? 1 : 0;
      received += static_cast<double>(counted.bytes);
      const Range sent = sent_bytes(r.test.op, r.test.plan, tensors, rank, {});
      sent_lo += sent.lo, sent_hi += sent.hi;
    }
    REQUIRE(sent_lo <= received);
    REQUIRE(received <= sent_hi);
  }
  CHECK(copied > 0);
  CHECK(exact > 0);
  CHECK(fetched > 0);
}

TEST_CASE("copies: the search predicts the bytes that a planned operation receives") {
  Index different = 0;
  for (const Index ranks : {4, 8, 16}) {
    for (const Mesh& mesh : meshes_of(ranks, 1)) {
      const Index n = 16;
      const std::vector<Layout> places = all_layouts(mesh, {n, n});
      PlanInputs inputs = tdsl::tests::bytes_only(ranks, 2);
      for (std::uint64_t c = 0; c < 60; ++c) {
        Random random(tdsl::tests::test_seed(), c * 32 + static_cast<std::uint64_t>(ranks));
        OpBuilder builder(OpClass::kReduce, "C", 3, 3);
        builder.out("i", n)
            .out("j", n)
            .reduce("k", n)
            .combine(Combine::kSum)
            .read(0, {at(0), at(2)})
            .read(1, {at(2), at(1)});
        Op& op = builder.op();
        op.outputs = {{100, {8, "f64"}, op.shape, "C"}};
        const Layout work = random.one_of(all_layouts(mesh, {n, n, n}));
        const Layout wanted[] = {random.one_of(places), random.one_of(places)};
        const TensorDesc tensors[] = {{0, {8, "f64"}, {n, n}, "A"}, {1, {8, "f64"}, {n, n}, "B"}};
        const Operands operands{[](TensorId) { return nullptr; },
                                [&](TensorId id) -> const TensorDesc& { return tensors[id]; },
                                [&](TensorId id) { return &wanted[id]; }, &mesh};
        const std::optional<Candidate> candidate = realise(op, work, inputs, operands);
        REQUIRE(candidate);
        std::map<TensorId, PlacedTensor> placed;
        for (const auto& [id, where] : candidate->leaves) placed[id] = {tensors[id], where};
        const TensorLookup lookup = [&](TensorId id) -> const PlacedTensor& { return placed.at(id); };
        std::vector<Index> all;
        for (Index rank = 0; rank < ranks; ++rank) all.push_back(rank);
        const counting::CutSpace space{{n, n, n}, {std::nullopt, std::nullopt, std::nullopt}};
        const counting::CutSpace matrix{{n, n}, {std::nullopt, std::nullopt}};
        const counting::Boxes mine = counting::shares_of(space, work, mesh, all);
        for (const TensorId id : {0, 1}) {
          const counting::Boxes own = counting::shares_of(matrix, wanted[id], mesh, all);
          const counting::Boxes need =
              counting::needs_of(op, op.reads[static_cast<std::size_t>(id)], tensors[id].shape, mine);
          const double predicted = seconds_to_receive({own, wanted[id], mesh, tensors[id], all}, {need}, inputs);
          double counted = 0;
          for (Index rank = 0; rank < ranks; ++rank) {
            double bytes = 0;
            count(candidate->op, candidate->plan, lookup, rank, [&](const Fetch& fetch) {
              if (fetch.piece.tensor == id) bytes += static_cast<double>(fetch.piece.box.volume() * 8);
            });
            counted = std::max(counted, bytes);
          }
          INFO(text_of(work, {"i", "j", "k"}), "; ", text_of(wanted[id], {"i", "j"}), " of T", id);
          CHECK(predicted == doctest::Approx(counted));
          different += counted > 0 ? 1 : 0;
        }
      }
    }
  }
  CHECK(different > 0);
}

TEST_CASE("copies: a product on 2 x 2 x 2 ranks with operands in two copies receives a quarter of each where it must") {
  const Index n = 16;
  const auto plan =
      std::make_shared<PlanValue>(parse_plan("tdsl plan 1\n"
                                             "program \"product\" region 0 ranks 8 schedule none\n"
                                             "mesh a:2/4 b:2/2 c:2/1\n"
                                             "1 source \"A\" d0:a d1:b repeated\n"
                                             "2 source \"B\" d0:a d1:b repeated\n"
                                             "3 contraction \"C\" i:a j:b k:c -> i:a j:b repeated\n"
                                             "4 map \"D\" i:b j:a repeated\n"));
  PlanInputs inputs;
  inputs.ranks = 8;
  Recorder recorder(inputs);
  recorder.planner.impose(std::make_unique<ImposedPlan>(plan));
  const auto numbered = [&](int site) -> Op& {
    recorder.segment.back().site = site;
    return recorder.segment.back();
  };
  const TensorId a = recorder.source("A", {n, n});
  numbered(1);
  const TensorId b = recorder.source("B", {n, n});
  numbered(2);
  const TensorId c = recorder.product(a, false, b, false, n, n, n);
  numbered(3);
  OpBuilder transpose(OpClass::kMap, "D", 4, 1);
  transpose.out("i", n).out("j", n).read(c, {at(0), at(1)});
  const TensorId d = recorder.finish(transpose, "D");
  numbered(4);
  OpBuilder store(OpClass::kStore, "D", 5, 1);
  store.out("i", n).out("j", n).read(d, {at(0), at(1)});
  recorder.segment.push_back(store.op());
  const auto planned = recorder.run();
  REQUIRE(planned.size() == 6);
  const auto received = [&](std::size_t k, Index rank) {
    return cost_of(planned[k]->op, planned[k]->plan, recorder.planner.lookup(), rank, {}, 1).bytes_received.hi;
  };
  const auto sent = [&](std::size_t k, Index rank) {
    const Range bytes = sent_bytes(planned[k]->op, planned[k]->plan, recorder.planner.lookup(), rank, {});
    CHECK(bytes.lo == bytes.hi);
    return bytes.hi;
  };
  const double quarter = static_cast<double>(n * n * 8) / 4;
  Index stored = 0;
  for (Index rank = 0; rank < 8; ++rank) {
    const Index at_a = rank / 4, at_b = rank / 2 % 2, at_c = rank % 2;
    CAPTURE(rank);
    CHECK(received(2, rank) == (at_b == at_c ? 0 : quarter) + (at_a == at_c ? 0 : quarter));
    CHECK(received(3, rank) ==
          quarter);  // partial results: each copy of the result combines both, of which one is computed locally
    CHECK(received(4, rank) == (at_a == at_b ? 0 : quarter));
    CHECK(sent(2, rank) == (at_b == at_c ? quarter : 0) + (at_a == at_c ? quarter : 0));
    CHECK(sent(3, rank) == quarter);
    CHECK(sent(4, rank) == received(4, rank));
    CHECK(received(5, rank) == 0);
    const Counted counted = count(planned[5]->op, planned[5]->plan, recorder.planner.lookup(), rank);
    CHECK(counted.points == (at_c == 0 ? n * n / 4 : 0));
    stored += counted.points;
  }
  CHECK(stored == n * n);
  for (const std::size_t k : {0, 1, 3, 4}) CHECK(planned[k]->plan.space.copies() == 2);
  for (const std::size_t k : {2, 5}) CHECK(planned[k]->plan.space.copies() == 1);
}

TEST_CASE("copies: sources that nothing is said about are copied as their first reader is; what comes after is not") {
  const Index n = 16;
  const auto plan =
      std::make_shared<PlanValue>(parse_plan("tdsl plan 1\n"
                                             "program \"undecided\" region 0 ranks 8 schedule none\n"
                                             "mesh a:2/4 b:2/2 c:2/1\n"
                                             "3 map \"C\" i:a j:b repeated\n"));
  for (const bool annotated : {false, true}) {
    PlanInputs inputs;
    inputs.ranks = 8;
    Recorder recorder(inputs);
    recorder.planner.impose(std::make_unique<ImposedPlan>(plan));
    const TensorId a = recorder.source("A", {n, n});
    if (annotated) recorder.segment.back().outputs.front().tile = {4, 4};
    const TensorId v = recorder.source("v", {n});
    OpBuilder sum(OpClass::kMap, "C", 3, 1);
    sum.out("i", n).out("j", n).read(a, {at(0), at(1)}).read(v, {at(0)});
    const TensorId c = recorder.finish(sum, "C");
    OpBuilder again(OpClass::kMap, "D", 4, 1);
    again.out("i", n).out("j", n).read(c, {at(1), at(0)});
    recorder.finish(again, "D");
    recorder.segment.back().site = 4;
    const auto planned = recorder.run();
    REQUIRE(planned.size() == 4);
    for (const std::size_t k : {0, 1, 2}) CHECK(planned[k]->plan.space.copies() == 2);
    CHECK(planned[3]->plan.space.copies() == 1);
    if (annotated) CHECK(planned[0]->plan.space.tiling(0).longest() == 4);
    for (Index rank = 0; rank < 8; ++rank) {
      count(planned[2]->op, planned[2]->plan, recorder.planner.lookup(), rank,
            [&](const Fetch& fetch) { CHECK(fetch.piece.tensor != a); });
    }
  }
}

TEST_CASE("copies: each fibre makes partial results of its own, and combines them") {
  const Index n = 16;
  const auto plan =
      std::make_shared<PlanValue>(parse_plan("tdsl plan 1\n"
                                             "program \"sums\" region 0 ranks 8 schedule none\n"
                                             "mesh a:2/4 b:2/2 c:2/1\n"
                                             "1 source \"A\" d0:a d1:b repeated\n"
                                             "2 reduce \"s\" i:a k:b repeated -> i:a repeated\n"));
  PlanInputs inputs;
  inputs.ranks = 8;
  Recorder recorder(inputs);
  recorder.planner.impose(std::make_unique<ImposedPlan>(plan));
  const TensorId a = recorder.source("A", {n, n});
  recorder.segment.back().site = 1;
  OpBuilder sums(OpClass::kReduce, "s", 2, 1);
  sums.out("i", n).reduce("k", n).combine(Combine::kSum).read(a, {at(0), at(1)});
  recorder.finish(sums, "s");
  const auto planned = recorder.run();
  REQUIRE(planned.size() == 3);
  CHECK(planned[1]->plan.space.copies() == 2);
  CHECK(planned[2]->plan.space.copies() == 4);
  for (Index rank = 0; rank < 8; ++rank) {
    CHECK(count(planned[1]->op, planned[1]->plan, recorder.planner.lookup(), rank).bytes == 0);
    // Half of the sums, of which the rank has computed one part; the other comes from its own fibre.
    count(planned[2]->op, planned[2]->plan, recorder.planner.lookup(), rank,
          [&](const Fetch& fetch) { CHECK(fetch.owner == (rank ^ 2)); });
    CHECK(count(planned[2]->op, planned[2]->plan, recorder.planner.lookup(), rank).bytes == n / 2 * 8);
  }
}

TEST_CASE("copies: of the result of a loop, whose dimensions are no labels of the loop") {
  Op loop;
  loop.op_class = OpClass::kLoop;
  loop.name = "x";
  loop.outputs.push_back({7, {}, {5, 3}, "x"});
  const Op copy = copy_of(loop, loop.outputs.front());
  REQUIRE(copy.labels.size() == 2);
  CHECK(copy.labels[0].name != copy.labels[1].name);
  CHECK(copy.labels[1].range.size() == 3);
  CHECK(copy.reads.front().tensor == 7);
}

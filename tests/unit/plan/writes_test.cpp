#include <doctest/doctest.h>

#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/file_writes.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/row_slabs.h"
#include "tests/unit/plan/random.h"

using namespace tdsl::plan;
using tdsl::tests::Random;

namespace {

/// Runs of elements contiguous in a C-order file, counted element by element.
double pieces_of(const Box& box, const Distribution& tiles) {
  double pieces = 0;
  Index expected = -1;
  Coord at;
  for (int d = 0; d < box.rank; ++d) at[d] = box[d].lo;
  for (Index n = box.volume(); n > 0; --n) {
    Index index = 0;
    for (int d = 0; d < box.rank; ++d) index = index * tiles.tiling(d).extent() + at[d];
    if (index != expected) pieces += 1;
    expected = index + 1;
    for (int d = box.rank - 1; d >= 0 && ++at[d] == box[d].hi; --d) at[d] = box[d].lo;
  }
  return pieces;
}

/// A store of a tensor with the given layout to a C-order file.
struct StoreCase {
  PlacedTensor value;
  PlanInputs inputs;
  Op op;

  StoreCase(std::vector<Index> shape, const std::vector<Index>& ranks, double write_call) {
    std::vector<Tiling> tilings;
    std::vector<GridDim> dims;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      tilings.push_back(Tiling::near_equal(shape[d], 2 * ranks[d]));
      dims.push_back({{{ranks[d], inputs.ranks}}, 2});
      if (ranks[d] == 1) dims.back().axes.clear();
      inputs.ranks *= ranks[d];
    }
    value.distribution = Distribution::grid(inputs.ranks, std::move(tilings), std::move(dims));
    OpBuilder builder(OpClass::kStore, "C", 1, 1);
    std::vector<DimAccess> read;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      builder.out("i", shape[d]);
      read.push_back(at(static_cast<int>(d)));
    }
    value.desc = {7, {8, "f64"}, std::move(shape), "C"};
    builder.read(7, std::move(read)).flops(0);
    op = builder.op();
    op.in_rows = true;
    inputs.machine.write_call = write_call;
  }
  [[nodiscard]] std::vector<Candidate> candidates() const {
    return candidates_for(op, inputs,
                          {[this](TensorId) { return &value; },
                           [this](TensorId) -> const TensorDesc& { return value.desc; },
                           {},
                           nullptr});
  }
  [[nodiscard]] Cost cost(const Candidate& c, Index rank) const {
    return cost_of(
        c.op, c.plan, [this](TensorId) -> const PlacedTensor& { return value; }, rank, inputs.machine, 1);
  }
};

}  // namespace

TEST_CASE("writes: pieces of random distributions are counted in closed form") {
  const std::uint64_t seed = tdsl::tests::test_seed();
  for (std::uint64_t number = 0; number < tdsl::tests::test_cases(10); ++number) {
    Random random(seed, number);
    const Index ranks = random.in(1, 8);
    std::vector<Tiling> tilings;
    for (int d = random.small(0, 3); d > 0; --d)
      tilings.push_back(tdsl::tests::random_tiling(random, random.chance(4) ? 0 : random.in(1, 9)));
    const Distribution tiles = tdsl::tests::random_distribution(random, ranks, std::move(tilings)).one_copy();
    for (Index rank = 0; rank < ranks; ++rank) {
      double counted = 0;
      tiles.for_each_owned(rank, [&](const Coord& tile) { counted += pieces_of(tiles.box(tile), tiles); });
      REQUIRE_MESSAGE(file_writes(tiles, rank) == counted,
                      "case " << number << ", rank " << rank << ": " << tiles.describe({}));
    }
  }
}

TEST_CASE("writes: a store of short pieces may be of whole rows") {
  const StoreCase square({4096, 4096}, {2, 2}, 1e-4);
  const std::vector<Candidate> both = square.candidates();
  REQUIRE(both.size() == 2);
  for (Index rank = 0; rank < 4; ++rank) {
    const Cost blocks = square.cost(both[0], rank), rows = square.cost(both[1], rank);
    CHECK(blocks.writes.lo == 4096);  // 2048 rows of two blocks each
    CHECK(blocks.bytes_received.hi == 0);
    CHECK(rows.writes.lo == 8);  // of 4 MiB
    CHECK(rows.writes.hi == 8);
    CHECK(rows.file_bytes == double{32 << 20});
    CHECK(rows.bytes_received.lo == double{16 << 20});  // the other rank's part of these rows
    CHECK(rows.bytes_received.hi == double{16 << 20});
    CHECK(rows.seconds.hi < blocks.seconds.hi);
  }
  const StoreCase rows({4096, 4096}, {4, 1}, 1e-4);  // rows twice as wide as a block
  REQUIRE(rows.candidates().size() == 2);
  CHECK(rows.cost(rows.candidates()[1], 3).writes.hi == 8);
  CHECK(rows.cost(rows.candidates()[1], 3).bytes_received.hi == 0);
  StoreCase small({4096, 4096}, {2, 2}, 1e-4);
  for (const Index window : {Index{2} << 20, Index{1} << 19}) {
    small.inputs.window = window;
    CHECK(small.candidates().size() == (window > 1 << 20 ? 2 : 1));
  }
  StoreCase wide({1024, 1 << 17}, {2, 16}, 1e-4);
  CHECK(wide.candidates().size() == 2);
  wide.inputs.window = 2 << 20;  // less than four rows
  CHECK(wide.candidates().size() == 1);
  CHECK(StoreCase({4096, 4096}, {2, 2}, 0).candidates().size() == 1);        // pieces cost nothing
  CHECK(StoreCase({100000, 1}, {4, 1}, 1e-4).candidates().size() == 1);      // they are whole rows
  CHECK(StoreCase({1000, 1 << 20}, {2, 2}, 1e-4).candidates().size() == 1);  // they are long
  CHECK(StoreCase({100, 100}, {2, 2}, 1e-4).candidates().size() == 1);       // they are few
}

TEST_CASE("writes: rows of more dimensions are cut where there are enough of them") {
  const StoreCase thin({3, 1000, 1000}, {1, 2, 2}, 1e-4);
  const std::vector<Candidate> both = thin.candidates();
  REQUIRE(both.size() == 2);
  double writes = 0, bytes = 0;
  for (Index rank = 0; rank < 4; ++rank) {
    writes += thin.cost(both[1], rank).writes.lo;
    bytes += thin.cost(both[1], rank).file_bytes;
  }
  CHECK(writes == 12);  // 250 rows of each of three planes on every rank
  CHECK(bytes == 24e6);
  CHECK_FALSE(row_slabs(StoreCase({3, 2, 1000}, {1, 1, 4}, 1e-4).value.desc, Distribution::replicated(4, {}), 1 << 20)
                  .has_value());
}

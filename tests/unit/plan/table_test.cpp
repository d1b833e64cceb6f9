#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "runtime/plan/cost/sent_bytes.h"
#include "runtime/plan/signature.h"
#include "runtime/plan/space/layout.h"
#include "runtime/plan/steps/tree.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/enumeration.h"
#include "tests/unit/plan/operations.h"

// Owner tables: tile-by-tile counts are exact for all accesses and super-blocks.

using namespace tdsl::plan;
using tdsl::tests::count;
using tdsl::tests::Counted;
using tdsl::tests::OperationGenerator;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;

namespace {

using Owners = std::vector<std::int32_t>;

Owners random_owners(Random& random, Index ranks, Index tiles) {
  Owners owners;
  for (Index t = 0; t < tiles; ++t) owners.push_back(static_cast<std::int32_t>(random.in(0, ranks - 1)));
  return owners;
}

/// A random operation with a table layout of its output tiles, often with super-blocks.
PlannedCase by_table(Random& random) {
  PlannedCase test = OperationGenerator(random).make();
  const Distribution& space = test.plan.space;
  test.plan.space =
      Distribution::table(space.ranks(), space.tilings(), random_owners(random, space.ranks(), space.tile_count()));
  return test;
}

/// A random operation, often replicated along grid axes, whose first operand has a table layout, others perhaps copies.
PlannedCase of_table(Random& random) {
  PlannedCase test = OperationGenerator(random).make();
  Distribution& where = test.tensors.at(test.op.reads.front().tensor).distribution;
  where = Distribution::table(where.ranks(), where.tilings(), random_owners(random, where.ranks(), where.tile_count()));
  return test;
}

bool repeats(const Distribution& where) { return where.by_axes() && where.copies() > 1; }

}  // namespace

TEST_CASE("block map: texts are read back") {
  const std::vector<std::string> names{"i", "j", "k"};
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(5); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index ranks = random.in(1, 9);
    std::vector<Index> blocks;
    Index count = 1;
    for (int d = random.small(1, 3); d > 0; --d) blocks.push_back(random.in(1, 4)), count *= blocks.back();
    const BlockMap map = block_map(blocks, random_owners(random, random.chance(50) ? 1 : ranks, count), ranks);
    CHECK(parse_block_map(text_of(map, names), names, ranks) == map);
    Layout layout;
    layout.cut.resize(3);
    layout.map = map;
    CHECK_FALSE(layout.whole());
    CHECK(parse_layout(text_of(layout, names), names, meshes_of(ranks, 1).front()) == layout);
  }
  for (const char* text :
       {"table 2x3: 0*3 1 2*2", "cyclic 4x4 on 2x3 from 6", "columns 2 (i, j)", "columns 3 (k, i)"}) {
    const std::optional<BlockMap> map = parse_block_map(text, names, 7);
    REQUIRE_MESSAGE(map, text);
    CHECK(text_of(*map, names) == text);
  }
  for (const char* text : {"table 2x2",
                           "table 2x2: 0 1 2",
                           "table 2x2: 0*5",
                           "table 2x2: 0 1 2 3 4",
                           "table 2x2x2x2: 0*16",
                           "table 2xx2: 0*4",
                           "table 0: ",
                           "table 1000x1001: 0*1001000",
                           "table 2: 0 -1",
                           "table 2: 0  1",
                           "table 2:0 1",
                           "table 2: 4294967296*2",
                           "cyclic 4x4",
                           "cyclic 4x4 on 2",
                           "cyclic 4x4 on 2x3 from",
                           "cyclic 4x4 on 2x3 from 6 ",
                           "cyclic 4 on 0",
                           "heap 4: 0*4",
                           "columns 8 (i, j)",
                           "columns 0 (i, j)",
                           "columns 2 (i, i)",
                           "columns 2 (i, x)",
                           "columns 2 (i, j) ",
                           "columns 2 i, j"}) {
    CHECK_MESSAGE(!parse_block_map(text, names, 7), text);
  }
}

TEST_CASE("block map: owners dealt out over a grid have a closed form") {
  int cyclic = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(5); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index ranks = random.in(1, 12), first = random.in(0, ranks - 1);
    std::vector<Index> blocks, over;
    for (Index left = ranks, d = random.in(1, 3); d > 0; --d) {
      blocks.push_back(random.in(1, 5));
      over.push_back(random.in(1, left));
      left /= over.back();
    }
    const BlockMap meant{blocks, over, first};
    Owners owners;
    std::vector<Index> at(blocks.size(), 0);
    for (Index k = 0; k < meant.count(); ++k) {
      Index rest = k;
      for (std::size_t d = at.size(); d-- > 0; rest /= blocks[d]) at[d] = rest % blocks[d];
      owners.push_back(static_cast<std::int32_t>(meant.owner(at, ranks)));
    }
    const BlockMap found = block_map(blocks, owners, ranks);
    INFO(text_of(meant, {}), " on ", ranks, " ranks became ", text_of(found, {}));
    REQUIRE(found.cyclic());
    for (Index k = 0; k < meant.count(); ++k) {
      Index rest = k;
      for (std::size_t d = at.size(); d-- > 0; rest /= blocks[d]) at[d] = rest % blocks[d];
      REQUIRE(found.owner(at, ranks) == owners[static_cast<std::size_t>(k)]);
    }
    ++cyclic;
  }
  CHECK(cyclic > 0);
  CHECK(text_of(block_map({3, 4}, {6, 0, 1, 6, 2, 3, 4, 2, 6, 0, 1, 6}, 7), {}) == "cyclic 3x4 on 2x3 from 6");
  CHECK(text_of(block_map({2, 2}, {0, 1, 3, 4}, 7), {}) == "cyclic 2x2 on 2x3");
  CHECK(text_of(block_map({2, 2}, {0, 1, 1, 0}, 2), {}) == "table 2x2: 0 1*2 0");
}

TEST_CASE("block map: every tile has the owner of its block") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(5); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index ranks = random.in(1, 9);
    const std::vector<Index> counts{random.in(1, 4), random.in(1, 4)};
    const std::vector<BlockMap> maps{{counts, {random.in(1, ranks), 1}, random.in(0, ranks - 1)},
                                     block_map(counts, random_owners(random, ranks, counts[0] * counts[1]), ranks),
                                     block_map({ranks, random.in(1, ranks), 1, 0})};
    for (const BlockMap& map : maps) {
      INFO(text_of(map, {"i", "j"}), " on ", ranks, " ranks");
      // A first dimension that the map lacks, then the map's second and first.
      const std::vector<Index> times{random.in(1, 3), random.in(1, 3)};
      const auto cut = [&](std::size_t d) {
        const Index tiles = map.blocks[d] * times[d];
        return Tiling::near_equal(tiles, tiles);
      };
      const Distribution where =
          Distribution::mapped(ranks, {Tiling::near_equal(2, 2), cut(1), cut(0)}, map, {-1, 1, 0});
      tdsl::tests::for_each_tile(where.all_tiles(), [&](const Coord& tile) {
        REQUIRE(where.owner(tile) == map.owner({tile[2] / times[0], tile[1] / times[1]}, ranks));
      });
    }
  }
}

TEST_CASE("owner tables: lists and positions") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(2); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const Index ranks = random.in(1, 9);
    const Owners owners = random_owners(random, ranks, random.in(0, 40));
    const OwnerTable table(ranks, owners);
    std::vector<std::vector<std::int32_t>> lists(static_cast<std::size_t>(ranks));
    for (std::size_t t = 0; t < owners.size(); ++t) {
      std::vector<std::int32_t>& list = lists[static_cast<std::size_t>(owners[t])];
      REQUIRE(table.position(static_cast<Index>(t)) == static_cast<Index>(list.size()));
      list.push_back(static_cast<std::int32_t>(t));
    }
    for (Index rank = 0; rank < ranks; ++rank) {
      REQUIRE(std::equal(table.tiles_of(rank).begin(), table.tiles_of(rank).end(),
                         lists[static_cast<std::size_t>(rank)].begin(), lists[static_cast<std::size_t>(rank)].end()));
    }
  }
  CHECK_THROWS_AS(OwnerTable(2, {0, 2}), std::logic_error);
  CHECK_THROWS_AS(OwnerTable(2, Owners(1'000'001, 0)), std::logic_error);
  const auto line = [](Owners owners) { return Distribution::table(2, {Tiling::fixed(6, 2)}, std::move(owners)); };
  CHECK(line({0, 1, 0}) == line({0, 1, 0}));
  CHECK_FALSE(line({0, 1, 0}) == line({0, 0, 1}));
  std::string one, other;
  append_signature(one, line({0, 1, 0}));
  append_signature(other, line({0, 0, 1}));
  CHECK(one != other);
}

TEST_CASE("owner tables: the bytes received and the work of a rank are exact") {
  Index received = 0, pieces = 0, super_blocks = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(30); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    const PlannedCase test = by_table(random);
    const TensorLookup tensors = test.lookup();
    INFO("case ", n, ": ", test.describe());
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
      const Counted counted = count(test.op, test.plan, tensors, rank);
      const std::string wrong = tdsl::tests::outside(cost, counted, test.op);
      REQUIRE_MESSAGE(wrong.empty(), wrong);
      for (const Range& range : {cost.received_elements, cost.bytes_received, cost.boxes, cost.flops, cost.tasks})
        REQUIRE(range.lo == range.hi);
      received += counted.elements;
      pieces += counted.pieces;
      super_blocks += TaskSpace(test.op, test.plan, tensors).super_blocks(rank) > 1 ? 1 : 0;
    }
  }
  CHECK(received > 0);
  CHECK(pieces > 0);
  CHECK(super_blocks > 0);
}

TEST_CASE("owner tables: with operands placed by tables, predicted intervals contain the counts") {
  Index exact = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(20); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = OperationGenerator(random).make();
    if (test.plan.space.by_table()) continue;
    test.plan.super_block.clear();
    for (auto& [id, tensor] : test.tensors) {
      const Distribution& where = tensor.distribution;
      tensor.distribution =
          Distribution::table(where.ranks(), where.tilings(), random_owners(random, where.ranks(), where.tile_count()));
    }
    std::map<int, int> written;
    for (const OutSubscript& s : test.op.out) ++written[s.label];
    if (std::any_of(written.begin(), written.end(),
                    [](const auto& uses) { return uses.first >= 0 && uses.second > 1; }))
      continue;
    const TensorLookup tensors = test.lookup();
    INFO("case ", n, ": ", test.describe());
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
      const Counted counted = count(test.op, test.plan, tensors, rank);
      const std::string wrong = tdsl::tests::outside(cost, counted, test.op);
      REQUIRE_MESSAGE(wrong.empty(), wrong);
      exact += counted.elements > 0 && cost.received_elements.lo == cost.received_elements.hi ? 1 : 0;
    }
  }
  CHECK(exact > 0);
}

TEST_CASE("owner tables: sent bytes are exact, trees and nodes included") {
  Index trees = 0, entered = 0, sent_to_copies = 0, sent_of_copies = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(10); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = n % 2 == 0 ? by_table(random) : of_table(random);
    const bool of_copies = std::any_of(test.tensors.begin(), test.tensors.end(),
                                       [](const auto& t) { return repeats(t.second.distribution); });
    const TensorLookup tensors = test.lookup();
    const Index ranks = test.plan.space.ranks();
    const TaskSpace space(test.op, test.plan, tensors);
    for (Index per_node = 1; per_node < ranks; ++per_node) {
      if (ranks % per_node != 0) continue;
      test.plan.ranks_per_node = per_node;
      INFO("case ", n, ", ", per_node, " ranks a node: ", test.describe());
      std::vector<Index> sent(static_cast<std::size_t>(ranks), 0), came(static_cast<std::size_t>(ranks), 0);
      for (Index rank = 0; rank < ranks; ++rank) {
        StepCursor cursor(space, tensors, rank);
        for (Step step; cursor.next(step);) {
          for (const Fetch& fetch : step.fetch) {
            const std::vector<Index> wanting =
                space.ranks_wanting(fetch.piece, fetch.owner, step.super_block, step.panel);
            const Index parent = place_in_tree(wanting, fetch.owner, rank, per_node).parent;
            const Index bytes = fetch.piece.box.volume() * tensors(fetch.piece.tensor).desc.element.bytes;
            sent[static_cast<std::size_t>(parent)] += bytes;
            if (per_node > 1 && parent / per_node != rank / per_node) came[static_cast<std::size_t>(rank)] += bytes;
            trees += parent == fetch.owner ? 0 : 1;
          }
        }
      }
      for (Index rank = 0; rank < ranks; ++rank) {
        const Range bytes = sent_bytes(test.op, test.plan, tensors, rank, {});
        REQUIRE(bytes.lo == bytes.hi);
        REQUIRE(bytes.lo == static_cast<double>(sent[static_cast<std::size_t>(rank)]));
        const Range from_outside = bytes_from_other_nodes(test.op, test.plan, tensors, rank, {});
        REQUIRE(from_outside.lo == from_outside.hi);
        REQUIRE(from_outside.lo == static_cast<double>(came[static_cast<std::size_t>(rank)]));
        entered += came[static_cast<std::size_t>(rank)];
        if (sent[static_cast<std::size_t>(rank)] == 0) continue;
        sent_to_copies += repeats(test.plan.space) ? 1 : 0;
        sent_of_copies += of_copies ? 1 : 0;
      }
    }
  }
  CHECK(trees > 0);
  CHECK(entered > 0);
  CHECK(sent_to_copies > 0);
  CHECK(sent_of_copies > 0);
}

TEST_CASE("owner tables: of too many pieces there are bounds") {
  constexpr Index n = 200'000;
  OpBuilder builder(OpClass::kReduce, "s", 1, 1);
  builder.out("i", Index{4}).reduce("k", n).combine(Combine::kSum).read(0, {at(1)});
  PlannedCase test;
  test.op = builder.op();
  test.op.outputs.push_back({100, {8, "f64"}, test.op.shape, "s"});
  test.plan.space = Distribution::table(2, {Tiling::fixed(4, 1)}, {0, 0, 1, 0});
  test.plan.reduce = {Tiling::near_equal(n, 1)};
  test.tensors[0] = {{0, {8, "f64"}, {n}, "x"}, Distribution::grid(2, {Tiling::fixed(n, 1)}, {{{{2, 1}}}})};
  for (const Index rank : {0, 1}) {
    const Cost cost = cost_of(test.op, test.plan, test.lookup(), rank, {}, 1);
    CHECK(cost.bytes_received.lo == 0);
    CHECK(cost.bytes_received.hi == 8 * n);  // half of them are local
    CHECK(cost.boxes.hi == n);
    CHECK(sent_bytes(test.op, test.plan, test.lookup(), rank, {}).hi == 8 * n);
  }
}

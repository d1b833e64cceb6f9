#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/row_counts.h"
#include "runtime/plan/signature.h"
#include "tests/unit/plan/counting.h"
#include "tests/unit/plan/enumeration.h"
#include "tests/unit/plan/operations.h"

// Planning for tensors of data-dependent size: estimates of block sizes.

using namespace tdsl::plan;
using tdsl::tests::OperationGenerator;
using tdsl::tests::PlannedCase;
using tdsl::tests::Random;

namespace {

bool allows(const std::vector<PointBound>& bounds, Index i, Index j) {
  return std::ranges::all_of(bounds, [&](const PointBound& b) {
    const Index value = b.label == 0 ? i : j, line = b.row * i + b.constant;
    return b.from_below ? value >= line : value <= line;
  });
}

double padded(double bytes) { return 64 * static_cast<double>(static_cast<Index>((bytes + 63) / 64)); }

/// Bytes of a block with these extents and `entries` per level, with consecutive arrays.
double laid_out(const Storage& storage, const std::vector<double>& entries, double element) {
  double bytes = 128;
  for (std::size_t l = 0; l < storage.levels.size(); ++l) {
    if (storage.levels[l] == Level::kDense) continue;
    if (l > 0) bytes += padded(8 * (entries[l - 1] + 1));
    bytes += padded(4 * entries[l]);
  }
  return bytes + padded(storage.values ? element * entries.back() : 0);
}

/// A tensor with randomly filled blocks: bytes of each, 0 if absent; and the number of stored elements.
struct Filled {
  std::vector<double> bytes;
  double stored = 0;
};
Filled filled(Random& random, const TensorDesc& tensor, const Distribution& where) {
  Filled result;
  const Index one_in = std::vector<Index>{1, 2, 7, 100}[static_cast<std::size_t>(random.in(0, 3))];
  for (Index block = 0; block < where.tile_count(); ++block) {
    const Box box = where.box(where.coord(block));
    double count = 0;
    for (Index e = box.volume(); e > 0; --e) count += random.in(0, one_in - 1) == 0 ? 1 : 0;
    result.stored += count;
    std::vector<double> entries;
    double before = 1;
    Storage kinds = tensor.storage;
    const auto rows = static_cast<double>(box.dim[0].size());
    if (kinds.levels.size() > 1 && kinds.levels[0] == Level::kDense && std::min(rows, count) < 0.9 * rows)
      kinds.levels[0] = Level::kCompressed;  // lists its rows
    double element = static_cast<double>(tensor.element.bytes);
    if (count >= 0.4 * static_cast<double>(box.volume()) && count > 0) {  // full enough for dense storage
      kinds.levels.assign(kinds.levels.size(), Level::kDense);
      element = kinds.values ? element : 1;
      kinds.values = true;
    }
    for (std::size_t l = 0; l < kinds.levels.size(); ++l) {
      before *= static_cast<double>(box.dim[l].size());
      if (kinds.levels[l] == Level::kCompressed) before = std::min(before, count);
      entries.push_back(before);
    }
    if (!entries.empty()) entries.back() = kinds.levels.back() == Level::kCompressed ? count : entries.back();
    result.bytes.push_back(count == 0 && random.in(0, 1) == 0 ? 0 : laid_out(kinds, entries, element));
  }
  return result;
}

/// Gives operands data-dependent sizes, always the first one.
void make_sized(Random& random, PlannedCase& test) {
  for (const Access& access : test.op.reads) {
    PlacedTensor& tensor = test.tensors.at(access.tensor);
    if (&access != &test.op.reads.front() && random.in(0, 1) == 0) continue;
    tensor.desc.storage.levels.assign(std::max<std::size_t>(tensor.desc.shape.size(), 1), Level::kCompressed);
    if (random.in(0, 1) == 0) tensor.desc.storage.levels.front() = Level::kDense;
    tensor.desc.stored = {0, static_cast<double>(tensor.desc.elements()) / 2,
                          static_cast<double>(tensor.desc.elements())};
  }
}

bool writes_a_diagonal(const Op& op) {
  std::set<int> written;
  return std::any_of(op.out.begin(), op.out.end(),
                     [&](const OutSubscript& s) { return s.label >= 0 && !written.insert(s.label).second; });
}

}  // namespace

TEST_CASE("storage: volumes saturate") {
  Box box;
  box.rank = 2;
  box[0] = box[1] = {0, 3'000'000'000};
  CHECK(box.volume() == kMostVolume);
  CHECK(!box.empty());
  box[1] = {5, 5};
  CHECK(box.volume() == 0);
  std::swap(box[0], box[1]);
  CHECK(box.volume() == 0);
  TensorDesc huge{0, {8, "f64"}, {3'000'000'000, 3'000'000'000}, "A"};
  huge.storage.levels = {Level::kCompressed, Level::kCompressed};
  huge.stored = Estimate::exactly(1e6);
  CHECK(huge.bytes() < 30'000'000);
  CHECK(huge.bytes() > 12'000'000);
  CHECK(Estimate::whole(1e300) == Estimate::kMostBytes);
}

TEST_CASE("storage: blocks of any kind lie in their estimates") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(20); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    TensorDesc tensor{0, {std::vector<Index>{1, 4, 8}[static_cast<std::size_t>(random.in(0, 2))], "?"}, {}, "A"};
    std::vector<Tiling> tilings;
    for (Index d = random.in(1, 3); d > 0; --d) {
      tensor.shape.push_back(random.in(1, 12));
      tilings.push_back(Tiling::near_equal(tensor.shape.back(), random.in(1, 4)));
      tensor.storage.levels.push_back(random.in(0, 1) == 0 ? Level::kDense : Level::kCompressed);
    }
    tensor.storage.levels.back() = Level::kCompressed;
    tensor.storage.values = random.in(0, 3) > 0;
    const Distribution where = Distribution::single(1, tilings, 0);
    const Filled blocks = filled(random, tensor, where);
    double sum = 0;
    for (const double bytes : blocks.bytes) sum += bytes;
    tensor.stored = Estimate::exactly(blocks.stored);
    const Estimate all = counting::owned_bytes(tensor, where, 0);
    CHECK(all.lo <= sum);
    CHECK(sum <= all.hi);
    for (Index block = 0; block < where.tile_count(); ++block) {
      const Estimate one = tensor.block_bytes(where.box(where.coord(block)));
      CHECK(one.lo <= blocks.bytes[static_cast<std::size_t>(block)]);
      CHECK(blocks.bytes[static_cast<std::size_t>(block)] <= one.hi);
      CHECK(one.expected <= one.hi);
    }
  }
}

TEST_CASE("storage: rows without elements cost nothing, and few elements are not taken for a dense block") {
  const Index n = 1'000'000'000;
  TensorDesc few{0, {8, "f64"}, {n, n}, "A"};
  few.storage = compressed_rows();
  few.stored = Estimate::exactly(1e6);
  Box rows;
  rows.rank = 2;
  rows[0] = rows[1] = {0, n};
  const Estimate bytes = few.block_bytes(rows);
  CHECK(bytes.hi < 24.1e6);  // one row per element: position, coordinates, value
  CHECK(bytes.expected > 23e6);
  // An element in each row: pointers.
  few.shape = {1'000'000, n};
  rows[0] = {0, 1'000'000};
  CHECK(few.block_bytes(rows).hi <= 23e6);
  few.stored = Estimate::exactly(1e8);
  CHECK(few.block_bytes(rows).hi < 1.22e9);
  CHECK(few.block_bytes(rows).expected > 1.207e9);
  // Half full it is stored dense.
  few.shape = {1000, 1000};
  rows[0] = rows[1] = {0, 1000};
  few.stored = Estimate::exactly(5e5);
  CHECK(few.block_bytes(rows).hi < 8.1e6);
  CHECK(few.block_bytes(rows).hi > 8e6);
}

TEST_CASE("storage: decisions hold while stored elements stay within a power of four, unless rows are counted") {
  const auto signature = [](double stored, bool counted) {
    Op op = OpBuilder(OpClass::kMap, "E", 1, 1).out("i", 100).out("j", 100).uncut().op();
    PlacedTensor operand{{0, {8, "f64"}, {100, 100}, "A"},
                         Distribution::single(1, {Tiling::near_equal(100, 1), Tiling::near_equal(100, 1)}, 0)};
    operand.desc.storage = compressed_rows();
    operand.desc.stored = {0, stored, 10000};
    if (counted) operand.desc.rows = std::make_shared<const RowCounts>(RowCounts{100, std::vector<Index>(101, 1)});
    op.reads.push_back({0, {whole(), whole()}});
    op.flops_per_point = stored / 4096;
    return signature_of(op, {[&](TensorId) { return &operand; }, [](TensorId) -> const Op* { return nullptr; }});
  };
  CHECK(signature(300, false) == signature(900, false));
  CHECK(signature(300, false) != signature(1100, false));
  CHECK(signature(0, false) != signature(1, false));
  CHECK(signature(300, true) != signature(900, true));
}

TEST_CASE("storage: a rearranged result stores at most its operands' elements, unless they are selected repeatedly") {
  TensorDesc operand{0, {8, "f64"}, {128, 128}, "A"};
  operand.storage = compressed_rows();
  operand.stored = {0, 512, 4000};
  const auto stored = [&](Index rows, const std::vector<const TensorDesc*>& operands) {
    const Op op =
        OpBuilder(OpClass::kMap, "B", 1, 1).out("i", rows).out("j", 128).uncut().stored_elements_of(operands).op();
    return op.outputs.front().stored;
  };
  CHECK(stored(128, {&operand}) == Estimate{0, 512, 4000});
  CHECK(stored(16, {&operand}) == Estimate{0, 64, 2048});
  CHECK(stored(256, {&operand, &operand}) == Estimate{0, 1024, 8000});
  const Op selected =
      OpBuilder(OpClass::kMap, "B", 1, 1).out("i", 1280).out("j", 128).uncut().stored_selected_from({&operand}).op();
  CHECK(selected.outputs.front().stored == Estimate{0, 5120, 1280.0 * 128});
  // Ten of the rows, at most the fullest ten times, whichever dimension they become.
  const auto rows_selected = [&](Index rows, Index columns) {
    OpBuilder builder(OpClass::kMap, "B", 1, 1);
    return builder.out("i", rows).out("j", columns).uncut().stored_rows_selected_from({&operand}).op();
  };
  const auto columns_selected = [&] {
    OpBuilder builder(OpClass::kMap, "B", 1, 1);
    return builder.out("i", 128).out("j", 1280).uncut().stored_columns_selected_from({&operand}).op();
  };
  CHECK(rows_selected(1280, 128).outputs.front().stored == Estimate{0, 5120, 1280.0 * 128});
  RowCounts counts{128, {0}};
  for (Index row = 0; row < 128; ++row) counts.before.push_back(counts.before.back() + (row == 77 ? 40 : 3));
  operand.rows = std::make_shared<const RowCounts>(counts);
  CHECK(rows_selected(1280, 128).outputs.front().stored == Estimate{0, 5120, 1280.0 * 40});
  CHECK(rows_selected(128, 10).outputs.front().stored == Estimate{0, 40, 1280});
  CHECK(columns_selected().outputs.front().stored == Estimate{0, 5120, 1280.0 * 128});
  counts.fullest_column = 7;
  operand.rows = std::make_shared<const RowCounts>(counts);
  CHECK(columns_selected().outputs.front().stored == Estimate{0, 5120, 1280.0 * 7});
}

TEST_CASE("storage: of a walk's operations, those at all points do not depend on the stored elements") {
  PlacedTensor walked{{0, {8, "f64"}, {100, 64}, "A"},
                      Distribution::single(1, {Tiling::near_equal(100, 1), Tiling::near_equal(64, 1)}, 0)};
  walked.desc.storage = compressed_rows();
  walked.desc.stored = {0, 1600, 6400};  // a quarter
  const auto row = [](Interval range) { return std::vector<Interval>{{0, 64}, range}; };
  for (const bool counted : {false, true}) {
    // All elements are in the first half of the rows.
    if (counted) walked.desc.rows = std::make_shared<const RowCounts>(RowCounts{100, {0, 1600, 1600}});
    OpBuilder builder(OpClass::kReduce, "y", 1, 1);
    builder.out("j", 64).uncut().reduce("i", 100);
    builder.read(0, {at(1), whole()}).flops_per_row(4 * 64 + 3, 0, 3).visits(walked.desc);
    const VisitedRows visited(builder.op(), [&](TensorId) -> const PlacedTensor& { return walked; });
    const auto flops = [&](Interval rows) {
      return flops_of_points(builder.op(), visited, row(rows), 64.0 * static_cast<double>(rows.size()));
    };
    CHECK(flops({0, 100}) == doctest::Approx(4 * 1600 + 300));
    CHECK(flops({0, 50}) == doctest::Approx(counted ? 4 * 1600 + 150 : 2 * 1600 + 150));
    CHECK(flops({50, 100}) == doctest::Approx(counted ? 150 : 2 * 1600 + 150));
  }
}

TEST_CASE("storage: steps fetch whole blocks of sized operands, and owners expect it") {
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(40); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = OperationGenerator(random).make();
    make_sized(random, test);
    const std::string wrong = tdsl::tests::Enumeration(test).violation();
    INFO("case ", n, ": ", test.describe());
    REQUIRE_MESSAGE(wrong.empty(), wrong);
  }
}

TEST_CASE("storage: received bytes lie in their intervals") {
  Index received = 0;
  for (std::uint64_t n = 0; n < tdsl::tests::test_cases(40); ++n) {
    Random random(tdsl::tests::test_seed(), n);
    PlannedCase test = OperationGenerator(random).make();
    if (random.in(0, 1) == 0) test.plan.super_block.clear();
    make_sized(random, test);
    if (writes_a_diagonal(test.op)) continue;
    std::map<TensorId, Filled> blocks;
    for (auto& [id, tensor] : test.tensors) {
      if (!tensor.desc.sized()) continue;
      blocks[id] = filled(random, tensor.desc, tensor.distribution);
      tensor.desc.stored = random.in(0, 1) == 0
                               ? Estimate::exactly(blocks[id].stored)
                               : Estimate{0, blocks[id].stored, static_cast<double>(tensor.desc.elements())};
    }
    const TensorLookup tensors = test.lookup();
    INFO("case ", n, ": ", test.describe());
    for (Index rank = 0; rank < test.plan.space.ranks(); ++rank) {
      const Cost cost = cost_of(test.op, test.plan, tensors, rank, {}, 1);
      double bytes = 0;
      const auto counted = tdsl::tests::count(test.op, test.plan, tensors, rank, [&](const Fetch& fetch) {
        const auto known = blocks.find(fetch.piece.tensor);
        bytes +=
            known != blocks.end() ? known->second.bytes[static_cast<std::size_t>(fetch.piece.block)] : fetch.bytes.hi;
      });
      REQUIRE_MESSAGE(cost.bytes_received.lo <= bytes, "least " << cost.bytes_received.lo << ", received " << bytes);
      REQUIRE_MESSAGE(bytes <= cost.bytes_received.hi, "most " << cost.bytes_received.hi << ", received " << bytes);
      REQUIRE_MESSAGE(tdsl::tests::inside(cost.boxes, counted.pieces),
                      tdsl::tests::text("boxes", cost.boxes, counted.pieces));
      received += bytes > 0 ? 1 : 0;
    }
  }
  CHECK(received > 0);
}

TEST_CASE("storage: decisions depend on how operands are stored") {
  TensorDesc dense{0, {8, "f64"}, {4, 4}, "A"};
  std::string text;
  append_storage(text, dense);
  CHECK(text.empty());
  std::set<std::string> texts;
  for (const bool values : {true, false}) {
    for (const Level level : {Level::kDense, Level::kCompressed}) {
      for (const double stored : {3.0, 4.0}) {
        TensorDesc tensor = dense;
        tensor.storage = {{level, Level::kCompressed}, {}, values};
        tensor.stored = Estimate::exactly(stored);
        std::string one;
        append_storage(one, tensor);
        CHECK(texts.insert(one).second);
      }
    }
  }
}

TEST_CASE("storage: rows are cut into equal work, and the bounds for ranges of rows hold") {
  Random random(91, 0);
  for (int k = 0; k < 200; ++k) {
    CAPTURE(k);
    // A few rows contain most of the elements.
    const Index rows = random.in(1, 300);
    std::vector<Index> in_row;
    for (Index i = 0; i < rows; ++i) in_row.push_back(random.in(0, 9) == 0 ? random.in(0, 200) : random.in(0, 3));
    const Index bins = random.in(0, 1) == 0 ? rows : random.in(1, rows);
    auto counts = std::make_shared<RowCounts>();
    counts->rows = rows;
    counts->before = {0};
    const Tiling binned = Tiling::near_equal(rows, bins);
    for (Index b = 0; b < bins; ++b) {
      Index sum = counts->before.back();
      for (Index i = binned.tile(b).lo; i < binned.tile(b).hi; ++i) sum += in_row[static_cast<std::size_t>(i)];
      counts->before.push_back(sum);
    }
    const auto work = [&](Interval range) {
      double sum = 0;
      for (Index i = range.lo; i < range.hi; ++i) sum += 1.5 + static_cast<double>(in_row[static_cast<std::size_t>(i)]);
      return sum;
    };
    const Index tiles = random.in(1, 12);
    const Tiling cut = counts->cut(tiles);
    REQUIRE(cut.extent() == rows);
    REQUIRE(cut.tiles() == std::min(tiles, rows));
    Index next = 0, longest = 0;
    for (Index t = 0; t < cut.tiles(); ++t) {
      const Interval tile = cut.tile(t);
      CHECK(tile.lo == next);
      CHECK(tile.size() > 0);
      for (Index i = tile.lo; i < tile.hi; ++i) CHECK(cut.tile_of(i) == t);
      // At most its share, plus a row at each end and the tiles that need one.
      const double share = work({0, rows}) / static_cast<double>(cut.tiles());
      if (bins == rows && rows > 50 * cut.tiles()) CHECK(work(tile) <= share + 2 * 202);
      next = tile.hi;
      longest = std::max(longest, tile.size());
    }
    CHECK(next == rows);
    CHECK(cut.longest() == longest);
    CHECK(counts->cut(tiles) == cut);
    TensorDesc tensor{0, {8, "f64"}, {rows, 1000}, "A"};
    tensor.storage = compressed_rows();
    tensor.stored = {0, static_cast<double>(counts->before.back()), static_cast<double>(counts->before.back())};
    tensor.rows = counts;
    const Interval some{random.in(0, rows), random.in(0, rows)};
    const Estimate said = stored_in_rows(tensor, some);
    Index there = 0;
    for (Index i = some.lo; i < some.hi; ++i) there += in_row[static_cast<std::size_t>(i)];
    CHECK(said.lo <= static_cast<double>(there));
    CHECK(static_cast<double>(there) <= said.hi);
    CHECK(said.expected <= said.hi);
    if (bins == rows) CHECK(said.expected == doctest::Approx(static_cast<double>(there)));
  }
}

TEST_CASE("storage: points within bounds are counted by rows without visiting them") {
  Random random(29, 1);
  for (int round = 0; round < 3000; ++round) {
    const Index rows = random.in(0, 12), columns = random.in(0, 12);
    std::vector<PointBound> bounds;
    for (Index k = random.in(0, 4); k > 0; --k) {
      const int label = static_cast<int>(random.in(0, 4)) == 0 ? 0 : 1;
      bounds.push_back({label, random.in(0, 1) == 0, label == 0 ? 0 : random.in(-3, 3), random.in(-9, 15)});
    }
    const RowCounts counts = points_within(rows, columns, bounds);
    REQUIRE(counts.bins() == rows);
    Index all = 0;
    for (Index i = 0; i < rows; ++i) {
      for (Index j = 0; j < columns; ++j) all += allows(bounds, i, j) ? 1 : 0;
      CHECK(counts.before[static_cast<std::size_t>(i) + 1] == all);
    }
  }
  // More rows than bins: a triangle, a band, and a band as wide as the integer range.
  const Index n = 20000, most = std::numeric_limits<Index>::max();
  CHECK(points_within(n, n, {up_to(1, 1, 0)}).before.back() == n * (n + 1) / 2);
  CHECK(points_within(n, n, {from(1, 1, -1), up_to(1, 1, 1)}).before.back() == 3 * n - 2);
  CHECK(points_within(n, n, {from(1, 1, -most), up_to(1, 1, most)}).before.back() == n * n);
  // Lines that cross at a row within a bin: 0, 0, 1, 2.
  const std::vector<PointBound> wedge = {from(1, 1, -3000), up_to(1, 2, -6000)};
  Index inside = 0;
  for (Index i = 3000; i < n; ++i) inside += std::max<Index>(0, std::min(n - 1, 2 * i - 6000) - (i - 3000) + 1);
  CHECK(points_within(n, n, wedge).before.back() == inside);
}

TEST_CASE("storage: a compressed result is as large as its bounds allow, tile by tile") {
  const Index n = 20000;
  OpBuilder builder(OpClass::kMap, "K", 1, 1);
  builder.out("i", n).out("j", n).uncut().flops(2).visits_within({from(1, 1, -1), up_to(1, 1, 1)}).stored_at_visited();
  const Op& op = builder.op();
  TensorDesc tensor = op.outputs.front();
  tensor.shape = op.shape;
  tensor.element = {8};
  CHECK(tensor.stored == Estimate{0, 3.0 * n - 2, 3.0 * n - 2});
  CHECK(op.flops_per_point * n * n == doctest::Approx(2 * (3.0 * n - 2)).epsilon(1e-4));
  const auto most = [&](Interval rows) {
    Box box;
    box.rank = 2;
    box.dim[0] = rows, box.dim[1] = {0, n};
    return tensor.block_bytes(box).hi;
  };
  CHECK(most({0, n}) < 1e6);
  CHECK(most({0, n / 4}) < 0.26e6);
  OpBuilder limited(OpClass::kMap, "K", 1, 1);
  limited.out("i", n)
      .out("j", n)
      .uncut()
      .stored(compressed_rows(), guessed_stored({n, n}))
      .stored_within(std::vector{from(1, 1, 0), up_to(1, 1, 0)});
  CHECK(limited.op().outputs.front().stored.hi == n);
}

TEST_CASE("plan storage: a list has 16 bytes per entry of a matrix, and all entries of a part may be in one tile") {
  TensorDesc lists;
  lists.shape = {4, 100, 100};
  lists.storage = entry_lists(2);
  lists.stored = {0, 1000, 1000};
  Box box;
  box.rank = 3;
  box[0] = {1, 2};
  box[1] = {25, 50};
  box[2] = {0, 100};
  CHECK(lists.block_bytes(box) == Estimate{0, 128 + 16 * 62.5, 128 + 16 * 250});
  // More entries than elements.
  box[1] = {0, 1};
  box[2] = {0, 1};
  CHECK(lists.block_bytes(box).hi == 128 + 16 * 250);
  CHECK(lists.bytes() == 128 + 16 * 1000);
  CHECK(entry_bytes(3) == 24);
}

TEST_CASE("plan storage: an assembly stores at most an element per point, in whole rows") {
  OpBuilder op(OpClass::kReduce, "K", 1, 1);
  op.reduce("e", 500).write({1000, 1000}, {{kAnyLabel, 1, 0}, {kAnyLabel, 1, 0}}).combine(Combine::kSum);
  op.flops(1).stored_assembled();
  CHECK(assembles(op.op()));
  CHECK(op.op().is_uncut(1));
  CHECK(op.op().outputs.front().stored == Estimate{0, 500, 500});
}

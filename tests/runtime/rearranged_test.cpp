#include "runtime/kernels/rearranged.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "runtime/kernels/assembled.h"
#include "runtime/message_id.h"
#include "runtime/sparse/collected.h"
#include "runtime/sparse/places.h"
#include "tests/runtime/sparse/random.h"

using namespace tdsl::rt;
using namespace tdsl::tests;
using sparse::Collected;
using sparse::RowEntries;

namespace {

template <class T>
NaiveMatrix<T> naive_of(const RowEntries<T>& entries, Index row_corner, Index column_corner) {
  NaiveMatrix<T> found;
  std::pair<Index, Index> last{-1, -1};
  for (std::size_t row = 0; row < entries.begins.size(); ++row) {
    CHECK(entries.begins[row] < entries.end(row));
    for (Index k = entries.begins[row]; k < entries.end(row); ++k) {
      const auto number = static_cast<std::size_t>(k);
      const std::pair<Index, Index> at{entries.outer[row] + row_corner, entries.last[number] + column_corner};
      CHECK(last < at);
      last = at;
      found[at] = entries.values.empty() ? T(1) : entries.values[number];
    }
  }
  return found;
}

/// One block, with its own memory.
class OneSink : public BlockSink {
 public:
  [[nodiscard]] BlockPart before() const override { return {}; }
  [[nodiscard]] std::byte* begin(Index bytes) override {
    memory = sparse::block_memory(bytes);
    return memory.get();
  }
  void holds(Index elements) override { stored = elements; }
  void keep() override {}
  [[nodiscard]] std::byte* change() override { return nullptr; }

  sparse::BlockMemory memory;
  Index stored = 0;
};

/// The nonzero elements that the block of a tile holds.
template <class T>
NaiveMatrix<T> made_by(const OneSink& sink, const Box& tile) {
  NaiveMatrix<T> found;
  if (!sink.memory) return found;
  const sparse::Part part{sparse::head_in(sink.memory), tile, tile[0]};
  sparse::Parts<T, 2>(std::vector{part}).rows(tile[0], [&](const sparse::Row<T>& row) {
    row.each([&](Index j, T value) {
      if (value != T(0)) found[{row.index(), j}] = value;
    });
  });
  return found;
}

/// Index vectors by operand number.
using IndexVectors = std::map<int, std::vector<Index>>;

/// Positions in the result of one element of the operand, according to the part.
std::vector<std::pair<Index, Index>> places_of(const RearrangedPart& part, std::pair<Index, Index> from,
                                               const Box& result, const IndexVectors& vectors) {
  std::vector<std::pair<Index, Index>> places;
  for (Index i = 0; i < result[0].hi; ++i) {
    for (Index j = 0; j < result[1].hi; ++j) {
      const Index at[2] = {i, j};
      const auto subscript = [&](const RearrangedSubscript& s) {
        if (s.index.exists()) return vectors.at(s.index.operand)[static_cast<std::size_t>(at[s.dimension])];
        const Index x = s.factor * at[s.dimension] + s.offset;
        return s.modulus == 0 ? x : (x % s.modulus + s.modulus) % s.modulus;
      };
      const bool inside = part.box[0].lo <= i && i < part.box[0].hi && part.box[1].lo <= j && j < part.box[1].hi;
      if (inside && subscript(part.row) == from.first && subscript(part.column) == from.second)
        places.emplace_back(i, j);
    }
  }
  return places;
}

/// The operand of an index vector in a task: the elements of the tile, or all.
Operand vector_operand(std::vector<Index>& vector, Interval range) {
  Operand operand;
  operand.box.rank = 1;
  operand.box[0] = range;
  operand.stride[0] = 1;
  operand.data = reinterpret_cast<std::byte*>(vector.data() + range.lo);
  return operand;
}

template <class T>
void check_rearranged(const TiledMatrix<T>& m, const std::vector<RearrangedPart>& parts, Index rows, Index columns,
                      Interval tile_rows, IndexVectors vectors = {}) {
  Box all;
  all.rank = 2;
  all[0] = {0, rows};
  all[1] = {0, columns};
  NaiveMatrix<T> expected;
  for (const RearrangedPart& part : parts) {
    for (const auto& [at, value] : m.naive) {
      for (const auto& place : places_of(part, at, all, vectors)) {
        if (value != T(0) && tile_rows.lo <= place.first && place.first < tile_rows.hi) expected[place] = value;
      }
    }
  }
  Box tile = all;
  tile[0] = tile_rows;
  std::vector<BlockPart> blocks;
  for (const sparse::Part& part : m.parts)
    blocks.push_back(
        {part.box, reinterpret_cast<const std::byte*>(part.head), part.head == nullptr ? 0 : part.head->bytes});
  Operand operand, output;
  operand.parts = blocks;
  output.box = tile;
  std::vector<Operand> inputs(parts.size(), operand);
  const std::vector<Operand> outputs = {output};
  for (auto& [number, vector] : vectors) {
    CHECK(static_cast<std::size_t>(number) == inputs.size());
    bool by_rows = false;
    for (const RearrangedPart& part : parts) {
      for (const RearrangedSubscript& s : {part.row, part.column})
        by_rows = by_rows || (s.index.operand == number && s.dimension == 0);
    }
    inputs.push_back(vector_operand(vector, by_rows ? tile[0] : tile[1]));
  }
  const std::vector<Interval> labels = {tile[0], tile[1]};
  OneSink sink;
  BlockSink* const sinks[] = {&sink};
  TaskArgs args{labels, inputs, outputs, tile};
  args.sinks = sinks;
  rearranged_kernel<T>(parts)(args);
  CHECK(sink.stored == static_cast<Index>(expected.size()));
  CHECK(made_by<T>(sink, tile) == expected);
}

template <class T>
void check_kinds(std::mt19937_64& random) {
  const Index rows = 1 + static_cast<Index>(random() % 20), columns = 1 + static_cast<Index>(random() % 20);
  const TiledMatrix<T> m = random_matrix<T>(random, rows, columns, std::vector<double>{0, 0.1, 0.6}[random() % 3]);
  const auto check = [&](const std::vector<RearrangedPart>& parts, Index r, Index c) {
    check_rearranged(m, parts, r, c, {0, r});
    if (r > 1) check_rearranged(m, parts, r, c, {r / 3, r - r / 3});
  };
  const RearrangedSubscript i{0}, j{1};
  check({{0, {0, 1, rows / 2}, {1, 1, columns / 3}, {{{0, rows - rows / 2}, {0, columns - columns / 3}}}}},
        rows - rows / 2, columns - columns / 3);
  check({{0, {0, 2, 0}, {1, 3, 0}, {{{0, (rows + 1) / 2}, {0, (columns + 2) / 3}}}}}, (rows + 1) / 2,
        (columns + 2) / 3);
  check({{0, {0, -1, rows - 1}, {1, -1, columns - 1}, {{{0, rows}, {0, columns}}}}}, rows, columns);
  check({{0, {0, 1, -3, rows}, {1, -1, 5, columns}, {{{0, rows}, {0, columns}}}}}, rows, columns);
  check({{0, {1}, {0}, {{{0, columns}, {0, rows}}}}}, columns, rows);
  check({{0, {1, -2, rows - 1}, {0, 1, 1}, {{{0, columns - 1}, {0, (rows + 1) / 2}}}}}, columns - 1, (rows + 1) / 2);
  check(
      {{0, i, j, {{{0, rows}, {0, columns}}}}, {1, i, {1, -1, 2 * columns - 1}, {{{0, rows}, {columns, 2 * columns}}}}},
      rows, 2 * columns);
  check({{0, {0, 1, -rows}, j, {{{rows, 2 * rows}, {0, columns}}}}, {1, i, j, {{{0, rows}, {0, columns}}}}}, 2 * rows,
        columns);
  check({{0, i, j, {{{rows / 2, rows / 2}, {0, columns}}}}}, rows, columns);
}

/// A transposition whose two partial results list the elements of some of the operand's rows.
template <class T>
void check_parts(std::mt19937_64& random) {
  const Index rows = 1 + static_cast<Index>(random() % 20), columns = 1 + static_cast<Index>(random() % 20);
  const TiledMatrix<T> m = random_matrix<T>(random, rows, columns, std::vector<double>{0, 0.1, 0.6}[random() % 3]);
  Box tile;
  tile.rank = 2;
  tile[0] = {columns / 3, columns};
  tile[1] = {0, rows};
  std::vector<BlockPart> blocks;
  for (const sparse::Part& part : m.parts)
    blocks.push_back(
        {part.box, reinterpret_cast<const std::byte*>(part.head), part.head == nullptr ? 0 : part.head->bytes});
  Operand operand, output;
  operand.parts = blocks;
  output.box = tile;
  const std::vector<Operand> outputs = {output};
  const Kernel kernel = rearranged_kernel<T>({{0, {1}, {0}, {{{0, columns}, {0, rows}}}}});
  OneSink lists[2], sink;
  std::vector<BlockPart> made;
  for (Index k = 0; k < 2; ++k) {
    const std::vector<Operand> inputs = {operand};
    const std::vector<Interval> labels = {tile[0], {k * rows / 2, (k + 1) * rows / 2}};
    BlockSink* const sinks[] = {&lists[k]};
    TaskArgs args{labels, inputs, outputs, tile};
    args.sinks = sinks;
    args.partial = true;
    kernel(args);
    Box box;
    box.rank = 3;
    box[0] = {k, k + 1};
    box[1] = tile[0];
    box[2] = tile[1];
    const std::byte* const data = lists[k].memory.get();
    made.push_back({box, data, data == nullptr ? 0 : sparse::head_in(lists[k].memory)->bytes});
  }
  Operand parts;
  parts.parts = made;
  const std::vector<Operand> inputs = {parts};
  BlockSink* const sinks[] = {&sink};
  TaskArgs args{{}, inputs, outputs, tile};
  args.sinks = sinks;
  moved_kernel(element_type_of<T>)(args);
  NaiveMatrix<T> expected;
  for (const auto& [at, value] : m.naive) {
    if (value != T(0) && at.second >= tile[0].lo) expected[{at.second, at.first}] = value;
  }
  CHECK(made_by<T>(sink, tile) == expected);
}

std::vector<Index> random_subscripts(std::mt19937_64& random, Index count, Index extent) {
  std::vector<Index> list;
  for (Index k = 0; k < count; ++k) list.push_back(static_cast<Index>(random() % static_cast<std::uint64_t>(extent)));
  return list;
}

template <class T>
void check_selections(std::mt19937_64& random) {
  const Index rows = 1 + static_cast<Index>(random() % 20), columns = 1 + static_cast<Index>(random() % 20);
  const TiledMatrix<T> m = random_matrix<T>(random, rows, columns, std::vector<double>{0, 0.1, 0.6}[random() % 3]);
  const Index k = static_cast<Index>(random() % 30), l = 1 + static_cast<Index>(random() % 30);
  const std::vector<Index> p = random_subscripts(random, k, rows), q = random_subscripts(random, l, columns);
  const auto check = [&](const RearrangedPart& part, Index r, Index c, const IndexVectors& vectors) {
    check_rearranged(m, {part}, r, c, {0, r}, vectors);
    if (r > 1) check_rearranged(m, {part}, r, c, {r / 3, r - r / 3}, vectors);
  };
  const auto by = [](int dimension, int operand, Index extent) {
    return RearrangedSubscript{dimension, 1, 0, 0, {operand, extent, {}, ""}};
  };
  check({0, by(0, 1, rows), by(1, 2, columns), {{{0, k}, {0, l}}}}, k, l, {{1, p}, {2, q}});
  check({0, by(1, 1, rows), by(0, 2, columns), {{{0, l}, {0, k}}}}, l, k, {{1, p}, {2, q}});
  check({0, by(0, 1, rows), {1, -1, columns - 1}, {{{0, k}, {0, columns}}}}, k, columns, {{1, p}});
  check({0, {0}, by(1, 1, columns), {{{0, rows}, {0, l}}}}, rows, l, {{1, q}});
  check({0, {1}, by(0, 1, columns), {{{0, l}, {0, rows}}}}, l, rows, {{1, q}});
  check({0, by(0, 1, rows), by(1, 2, columns), {{{k / 3, k}, {l / 2, l}}}}, k, l, {{1, p}, {2, q}});
}

}  // namespace

TEST_CASE("rearranged: a transposition in parts") {
  std::mt19937_64 random(11);
  for (int k = 0; k < 40; ++k) {
    check_parts<double>(random);
    check_parts<float>(random);
    check_parts<bool>(random);
  }
}

TEST_CASE("rearranged: rows and columns by index vectors with repeated elements") {
  std::mt19937_64 random(7);
  for (int k = 0; k < 40; ++k) {
    check_selections<double>(random);
    check_selections<bool>(random);
  }
}

TEST_CASE("rearranged: subscripts outside stop the run, unless no element is at them") {
  std::mt19937_64 random(8);
  const TiledMatrix<double> m = random_matrix<double>(random, 5, 6, 0.5);
  const auto selected = [&](std::vector<Index> p, Index columns) {
    const auto rows = static_cast<Index>(p.size());
    const RearrangedSubscript row{0, 1, 0, 0, {1, 5, {"a.tdsl", 3}, "p[i]"}};
    check_rearranged(m, {{0, row, {1}, {{{0, rows}, {0, columns}}}}}, rows, columns, {0, rows}, {{1, std::move(p)}});
  };
  const auto stops = [&](std::vector<Index> p) {
    try {
      selected(std::move(p), 6);
    } catch (const RunError& e) { return without_id(e.what()); }
    return std::string("done");
  };
  CHECK(stops({4, 0, 4}) == "done");
  CHECK(stops({4, 5}) == "a.tdsl:3: the subscript `p[i]` is 5 and lies outside its dimension of 5");
  CHECK(stops({-1}) == "a.tdsl:3: the subscript `p[i]` is -1 and lies outside its dimension of 5");
  selected({9}, 0);
}

TEST_CASE("places: of each number, ascending, in buckets of one number and of many") {
  std::mt19937_64 random(9);
  for (const Index extent : {Index{1}, Index{9}, Index{1000}, Index{4'000'000'000}}) {
    for (const Index count : {Index{0}, Index{1}, Index{50}}) {
      std::vector<Index> numbers = random_subscripts(random, count, extent);
      if (count > 2) numbers[2] = numbers[1] = extent - 1;
      std::map<Index, std::vector<Index>> expected;
      for (Index k = 0; k < count; ++k) expected[numbers[static_cast<std::size_t>(k)]].push_back(k + 7);
      const sparse::Places places([&](Index k) { return numbers[static_cast<std::size_t>(k - 7)]; }, {7, 7 + count},
                                  extent);
      for (const Index x : {Index{0}, extent / 2, extent - 1}) expected[x];
      for (const auto& [x, list] : expected) {
        std::vector<Index> found;
        places.each(x, [&](Index place) { found.push_back(place); });
        CHECK(found == list);
      }
    }
  }
}

TEST_CASE("rearranged: elements that come in any order are sorted") {
  std::mt19937_64 random(3);
  for (int k = 0; k < 60; ++k) {
    const Index rows = k % 3 == 0 ? 100000 : 1 + static_cast<Index>(random() % 30),
                columns = 1 + static_cast<Index>(random() % 30);
    NaiveMatrix<double> expected;
    for (int e = 0; e < 40; ++e)
      expected[{static_cast<Index>(random() % static_cast<std::uint64_t>(rows)),
                static_cast<Index>(random() % static_cast<std::uint64_t>(columns))}] = random_value<double>(random);
    std::vector<std::pair<std::pair<Index, Index>, double>> list(expected.begin(), expected.end());
    const auto by_columns = [](const auto& a, const auto& b) {
      return std::pair(a.first.second, a.first.first) < std::pair(b.first.second, b.first.first);
    };
    k % 2 == 0 ? std::ranges::shuffle(list, random) : std::ranges::sort(list, by_columns);
    std::erase_if(expected, [](const auto& e) { return e.second == 0; });
    Collected<double> elements;
    for (int again = 0; again < 2; ++again) {
      elements.begin(7, 1000, rows, columns);
      for (const auto& [at, value] : list) elements.put(at.first + 7, at.second + 1000, value);
      NaiveMatrix<double> moved;
      for (const auto& [at, value] : expected) moved[{at.first + 7, at.second + 1000}] = value;
      CHECK(naive_of(elements.entries(), 7, 1000) == moved);
    }
  }
}

TEST_CASE("rearranged: nan and booleans are kept, zeros are dropped") {
  Collected<double> elements;
  elements.begin(0, 0, 2, 2);
  elements.put(1, 0, std::numeric_limits<double>::quiet_NaN());
  elements.put(0, 1, 0.0);
  CHECK(elements.entries().count() == 1);
  Collected<bool> edges;
  edges.begin(0, 0, 3, 3);
  edges.put(2, 1, true);
  edges.put(0, 2, true);
  edges.put(1, 1, false);
  CHECK(naive_of(edges.entries(), 0, 0) == NaiveMatrix<bool>{{{0, 2}, true}, {{2, 1}, true}});
}

TEST_CASE("rearranged: slices, strides, flips, rotations, transposes, several parts") {
  std::mt19937_64 random(5);
  for (int k = 0; k < 25; ++k) {
    check_kinds<double>(random);
    check_kinds<bool>(random);
    check_kinds<std::int32_t>(random);
  }
}

#include "runtime/kernels/rearranged.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

#include "runtime/sparse/collected.h"
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

/// Position in the result of one element of the operand, according to the part.
std::optional<std::pair<Index, Index>> place_of(const RearrangedPart& part, std::pair<Index, Index> from,
                                                const Box& result) {
  for (Index i = 0; i < result[0].hi; ++i) {
    for (Index j = 0; j < result[1].hi; ++j) {
      const Index at[2] = {i, j};
      const auto subscript = [&](const RearrangedSubscript& s) {
        const Index x = s.factor * at[s.dimension] + s.offset;
        return s.modulus == 0 ? x : (x % s.modulus + s.modulus) % s.modulus;
      };
      const bool inside = part.box[0].lo <= i && i < part.box[0].hi && part.box[1].lo <= j && j < part.box[1].hi;
      if (inside && subscript(part.row) == from.first && subscript(part.column) == from.second) return std::pair(i, j);
    }
  }
  return std::nullopt;
}

template <class T>
void check_rearranged(const TiledMatrix<T>& m, const std::vector<RearrangedPart>& parts, Index rows, Index columns,
                      Interval tile_rows) {
  Box all;
  all.rank = 2;
  all[0] = {0, rows};
  all[1] = {0, columns};
  NaiveMatrix<T> expected;
  for (const RearrangedPart& part : parts) {
    for (const auto& [at, value] : m.naive) {
      const auto place = place_of(part, at, all);
      if (place && value != T(0) && tile_rows.lo <= place->first && place->first < tile_rows.hi)
        expected[*place] = value;
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
  const std::vector<Operand> inputs(parts.size(), operand), outputs = {output};
  const std::vector<Interval> labels = {tile[0], tile[1]};
  OneSink sink;
  BlockSink* const sinks[] = {&sink};
  TaskArgs args{labels, inputs, outputs, tile};
  args.sinks = sinks;
  rearranged_kernel<T>(parts)(args);
  CHECK(sink.stored == static_cast<Index>(expected.size()));
  NaiveMatrix<T> found;
  if (sink.memory) {
    const sparse::Part part{sparse::head_in(sink.memory), tile, tile[0]};
    sparse::Parts<T, 2>(std::vector{part}).rows(tile[0], [&](const sparse::Row<T>& row) {
      row.each([&](Index j, T value) {
        if (value != T(0)) found[{row.index(), j}] = value;
      });
    });
  }
  CHECK(found == expected);
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

}  // namespace

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

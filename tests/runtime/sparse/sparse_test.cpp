#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <vector>

#include "runtime/sparse/accumulator.h"
#include "runtime/sparse/output.h"
#include "runtime/sparse/piece.h"
#include "runtime/sparse/row_finder.h"
#include "tests/runtime/sparse/random.h"

using namespace tdsl::rt::sparse;
using namespace tdsl::tests;
using tdsl::plan::intersect;

namespace {

const double kDensities[] = {0, 1e-6, 0.01, 0.5, 1};

const auto kAdd = [](auto a, auto b) { return a + b; };
const auto kTimes = [](auto a, auto b) { return a * b; };

/// Everything visited by `rows`.
template <class T>
NaiveMatrix<T> by_rows(const Parts<T, 2>& parts, Interval rows) {
  NaiveMatrix<T> found;
  Index last = rows.lo - 1;
  parts.rows(rows, [&](const Row<T>& row) {
    CHECK(row.index() > last);
    last = row.index();
    Index column = -1;
    row.each([&](Index j, T value) {
      CHECK(j > column);
      column = j;
      found[{row.index(), column}] = value;
    });
  });
  return found;
}

template <class T>
NaiveMatrix<T> restricted(const NaiveMatrix<T>& m, Interval rows, bool zeros) {
  NaiveMatrix<T> result;
  for (const auto& [at, value] : m) {
    if (at.first >= rows.lo && at.first < rows.hi && (zeros || value != T(0))) result.emplace(at, value);
  }
  return result;
}

template <class T>
NaiveMatrix<T> without_zeros(NaiveMatrix<T> m) {
  std::erase_if(m, [](const auto& e) { return e.second == T(0); });
  return m;
}

Interval random_interval(std::mt19937_64& random, Index extent) {
  const auto a = static_cast<Index>(random() % static_cast<std::uint64_t>(extent + 1));
  const auto b = static_cast<Index>(random() % static_cast<std::uint64_t>(extent + 1));
  return {std::min(a, b), std::max(a, b)};
}

/// The piece after its transfer.
BlockMemory received(const BlockHead& block, OuterRange outer) {
  const auto* const bytes = reinterpret_cast<const std::byte*>(&block);
  const Piece piece = piece_of(
      block, outer, [bytes](Index from, std::span<std::byte> to) { std::memcpy(to.data(), bytes + from, to.size()); });
  if (piece.head.bytes == 0) return nullptr;
  BlockMemory memory = block_memory(piece.head.bytes);
  std::memset(memory.get(), 0xee, static_cast<std::size_t>(piece.head.bytes));
  std::memcpy(memory.get(), &piece.head, sizeof piece.head);
  for (const Piece::Run& run : piece.runs) {
    std::memcpy(memory.get() + run.to, bytes + run.from, static_cast<std::size_t>(run.bytes));
  }
  rebase(*reinterpret_cast<BlockHead*>(memory.get()));
  return memory;
}

template <class T>
void check_matrix(std::mt19937_64& random, const TiledMatrix<T>& m) {
  const Parts<T, 2> parts(m.parts);
  CHECK(without_zeros(by_rows(parts, {0, m.rows})) == without_zeros(m.naive));
  const Interval some = random_interval(random, m.rows);
  CHECK(without_zeros(by_rows(parts, some)) == restricted(m.naive, some, false));
  std::vector<Segment<T>> segments;
  for (int k = 0; k < 20 && m.rows > 0 && m.columns > 0; ++k) {
    const auto i = static_cast<Index>(random() % static_cast<std::uint64_t>(m.rows));
    const auto j = static_cast<Index>(random() % static_cast<std::uint64_t>(m.columns));
    const auto found = m.naive.find({i, j});
    CHECK(parts.locate(i, j) == (found == m.naive.end() ? T(0) : found->second));
    NaiveMatrix<T> row;
    parts.row(i, segments).each([&](Index c, T value) { row[{i, c}] = value; });
    CHECK(without_zeros(row) == restricted(m.naive, {i, i + 1}, false));
    const Interval columns = k % 2 == 0 ? Interval{j, j + 1} : random_interval(random, m.columns);
    NaiveMatrix<T> part;
    parts.row(i, segments).each(columns, [&](Index c, T value) {
      CHECK((columns.lo <= c && c < columns.hi));
      part[{i, c}] = value;
    });
    std::erase_if(row, [&](const auto& e) { return e.first.second < columns.lo || e.first.second >= columns.hi; });
    CHECK(without_zeros(part) == without_zeros(row));
  }
  for (const Part& part : m.parts) {
    if (part.head == nullptr) continue;
    const Interval outer = intersect(part.box[0], {part.box[0].lo + some.lo, part.box[0].lo + some.hi});
    if (outer.empty()) continue;
    const BlockMemory memory = received(*part.head, {outer.lo - part.box[0].lo, outer.hi - part.box[0].lo});
    const Part piece{head_in(memory), part.box, outer};
    const Part whole[] = {part};
    const Part cut[] = {piece};
    CHECK(by_rows(Parts<T, 2>(cut), outer) == by_rows(Parts<T, 2>(whole), outer));
  }
}

/// Products with a vector on both sides; doubles are small integers, hence exact.
template <class T>
void check_vectors(const TiledMatrix<T>& m) {
  const Parts<T, 2> parts(m.parts);
  std::vector<double> x(static_cast<std::size_t>(std::max(m.rows, m.columns)));
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = static_cast<double>(k % 7) - 3;
  std::vector<double> y(static_cast<std::size_t>(m.rows)), z(static_cast<std::size_t>(m.columns)), ey = y, ez = z;
  for (const auto& [at, value] : m.naive) {
    ey[static_cast<std::size_t>(at.first)] += static_cast<double>(value) * x[static_cast<std::size_t>(at.second)];
    ez[static_cast<std::size_t>(at.second)] += static_cast<double>(value) * x[static_cast<std::size_t>(at.first)];
  }
  parts.rows({0, m.rows}, [&](const Row<T>& row) {
    const auto i = static_cast<std::size_t>(row.index());
    row.each([&](Index j, T value) {
      y[i] += static_cast<double>(value) * x[static_cast<std::size_t>(j)];
      z[static_cast<std::size_t>(j)] += static_cast<double>(value) * x[i];
    });
  });
  CHECK(y == ey);
  CHECK(z == ez);
  // In partial sums, with and without prefetching; two sums at once.
  const auto total = [&x](Index j, T value, double& sum, double& count) {
    sum += static_cast<double>(value) * x[static_cast<std::size_t>(j)];
    count += 1;
  };
  parts.rows({0, m.rows}, [&](const Row<T>& row) {
    double sum = 1, ahead = 1, elements = 0, same = 0, visited = 0;
    bool inside = true;
    row.each([&](Index, T) { ++visited; });
    row.sums(total, sum, elements);
    row.sums(
        Index{3}, [&](Index j) { inside = inside && 0 <= j && j < m.columns; }, total, ahead, same);
    CHECK(sum == 1 + ey[static_cast<std::size_t>(row.index())]);
    CHECK(ahead == sum);
    CHECK((elements == visited && same == visited && inside));
  });
}

}  // namespace

TEST_CASE("sparse blocks: every format, density and cut against naive maps") {
  std::mt19937_64 random(11);
  for (const double density : kDensities) {
    for (int k = 0; k < 12; ++k) {
      CAPTURE(density);
      CAPTURE(k);
      const auto rows = static_cast<Index>(random() % 40);
      const auto columns = static_cast<Index>(random() % 90);
      const auto doubles = random_matrix<double>(random, rows, columns, density);
      check_matrix(random, doubles);
      check_vectors(doubles);
      check_matrix(random, random_matrix<bool>(random, rows, columns, density));
      check_matrix(random, random_matrix<std::int32_t>(random, rows, columns, density));
      check_vectors(random_matrix<bool>(random, columns, rows, density));
    }
  }
}

TEST_CASE("sparse kernels: sums of a row are combined in lanes, in one order for all kinds of blocks") {
  constexpr Index kColumns = 11;
  std::vector<double> v(kColumns);
  for (std::size_t k = 0; k < v.size(); ++k) v[k] = 1.0 / static_cast<double>(k + 3);
  double lane[4] = {};
  for (std::size_t k = 0; k < 8; ++k) lane[k % 4] += v[k];
  double expected = 0.5 + ((lane[0] + lane[2]) + (lane[1] + lane[3]));
  for (std::size_t k = 8; k < v.size(); ++k) expected += v[k];
  std::vector<std::uint32_t> columns(kColumns);
  for (std::size_t k = 0; k < columns.size(); ++k) columns[k] = static_cast<std::uint32_t>(3 * k);
  const auto add = [](Index, double value, double& sum) { sum += value; };
  for (const bool listed : {true, false}) {
    Segment<double> segment{listed ? columns.data() : nullptr, v.data(), kColumns, 0, 0, true};
    for (const bool no_zeros : {true, false}) {
      segment.no_zeros = no_zeros;
      double sum = 0.5, ahead = 0.5;
      Row<double>(0, {&segment, 1}).sums(add, sum);
      Row<double>(0, {&segment, 1})
          .sums(
              Index{2}, [](Index) {}, add, ahead);
      CHECK(sum == expected);
      CHECK(ahead == expected);
    }
  }
}

TEST_CASE("sparse blocks: kinds follow from content, and so do flags") {
  const auto head = [](const NaiveMatrix<double>& naive, Index rows, Index columns,
                       std::vector<Level> kinds = {Level::kDense, Level::kCompressed}) {
    Box box;
    box.rank = 2;
    box[0] = {0, rows};
    box[1] = {0, columns};
    const BlockMemory memory = block_of(naive, box, std::move(kinds), false);
    return memory == nullptr ? BlockHead{} : *head_in(memory);
  };
  CHECK(head({}, 5, 5).bytes == 0);
  CHECK(head({}, 0, 5).bytes == 0);
  NaiveMatrix<double> diagonal;
  for (Index i = 0; i < 10; ++i) diagonal[{i, i}] = 1;
  const BlockHead pointers = head(diagonal, 10, 10);
  CHECK(pointers.kind[0] == Level::kDense);
  CHECK(pointers.kind[1] == Level::kCompressed);
  CHECK(pointers.bytes == 128 + 128 + 64 + 128);
  CHECK(pointers.has(BlockHead::kNoZeros));
  diagonal.erase({3, 3});
  CHECK(head(diagonal, 10, 10).kind[0] == Level::kDense);  // 90 %
  diagonal.erase({4, 4});
  CHECK(head(diagonal, 10, 10).kind[0] == Level::kCompressed);
  diagonal[{9, 9}] = 0;
  CHECK_FALSE(head(diagonal, 10, 10).has(BlockHead::kNoZeros));
  diagonal[{8, 8}] = std::numeric_limits<double>::infinity();
  CHECK_FALSE(head(diagonal, 10, 10).has(BlockHead::kFinite));
  NaiveMatrix<double> half;
  for (Index i = 0; i < 10; ++i) {
    for (Index j = 0; j < 4; ++j) half[{i, j}] = 1;
  }
  CHECK(head(half, 10, 10).is_dense());
  CHECK_FALSE(head(half, 10, 10).has(BlockHead::kNoZeros));
  half.erase({0, 0});
  CHECK_FALSE(head(half, 10, 10).is_dense());
}

TEST_CASE("sparse blocks: three thousand million columns, and one row with everything") {
  std::mt19937_64 random(3);
  const Index far = 3'000'000'000;
  NaiveMatrix<double> wide;
  for (int k = 0; k < 2000; ++k)
    wide[{static_cast<Index>(random() % static_cast<std::uint64_t>(far)),
          static_cast<Index>(random() % static_cast<std::uint64_t>(far))}] = 1.0 + k;
  wide[{far - 1, far - 1}] = 7;
  wide[{0, 0}] = 8;
  for (int k = 0; k < 4; ++k) {
    const auto m = tiled(random, far, far, wide, 4);
    check_matrix(random, m);
    for (const Part& part : m.parts) CHECK((part.head == nullptr || part.head->bytes < 100'000));
    CHECK(Parts<double, 2>(m.parts).locate(far - 1, far - 1) == 7);
  }
  NaiveMatrix<double> row;
  for (Index j = 0; j < 500; j += 1 + static_cast<Index>(random() % 3)) row[{17, j}] = 2;
  const auto m = tiled(random, 60, 500, row, 3);
  check_matrix(random, m);
  check_vectors(m);
}

TEST_CASE("sparse blocks: up to eight levels, walked and located") {
  std::mt19937_64 random(5);
  for (int k = 0; k < 60; ++k) {
    const std::vector<Index> extents = {3, 2, 4, 2};
    std::vector<Level> kinds;
    for (std::size_t l = 0; l < extents.size(); ++l)
      kinds.push_back(random() % 2 == 0 ? Level::kDense : Level::kCompressed);
    std::vector<std::uint32_t> at;
    std::vector<double> values;
    std::map<std::array<Index, 4>, double> naive;
    for (std::uint32_t n = 0; n < 48; ++n) {
      if (random() % 3 != 0) continue;
      const std::uint32_t x[] = {n / 16, n / 8 % 2, n / 2 % 4, n % 2};
      at.insert(at.end(), x, x + 4);
      values.push_back(n + 1.0);
      naive[{x[0] + 10, x[1], x[2] + 5, x[3]}] = n + 1.0;
    }
    const BlockMemory memory = build(SortedEntries<double>{extents, at, values}, kinds, true);
    Box box;
    box.rank = 4;
    for (int d = 0; d < 4; ++d) box[d] = {0, extents[static_cast<std::size_t>(d)]};
    box[0] = {10, 13};
    box[2] = {5, 9};
    const Part parts[] = {{head_in(memory), box, box[0]}};
    const Parts<double, 4> tensor(parts);
    std::map<std::array<Index, 4>, double> found;
    tensor.walk(box[0], [&](const Node<double>& a) {
      a.walk([&](const Node<double>& b) {
        b.walk([&](const Node<double>& c) {
          c.each([&](Index d, double value) {
            if (value != 0) found[{a.index(), b.index(), c.index(), d}] = value;
          });
        });
      });
    });
    CHECK(found == naive);
    for (const auto& [x, value] : naive) CHECK(tensor.locate(x[0], x[1], x[2], x[3]) == value);
    CHECK(tensor.locate(9, 0, 5, 0) == 0);
  }
}

TEST_CASE("sparse kernels: products of sparse matrices in semirings") {
  std::mt19937_64 random(23);
  for (const double density : kDensities) {
    for (int k = 0; k < 8; ++k) {
      const Index rows = 1 + static_cast<Index>(random() % 30), inner = 1 + static_cast<Index>(random() % 30);
      const Index columns = k % 2 == 0 ? 20 : 100'000;
      const auto a = random_matrix<double>(random, rows, inner, density);
      NaiveMatrix<double> nb;
      for (Index i = 0; i < inner; ++i) {
        for (Index j = 0; j < 20; ++j) {
          if (std::uniform_real_distribution<>(0, 1)(random) < density)
            nb[{i, j * (columns / 20)}] = random_value<double>(random);
        }
      }
      const auto b = tiled(random, inner, columns, nb, 3);
      NaiveMatrix<double> sums, least;
      for (const auto& [x, v] : a.naive) {
        for (const auto& [y, w] : b.naive) {
          if (x.second != y.first || v == 0 || w == 0) continue;
          const std::pair<Index, Index> at{x.first, y.second};
          sums[at] += v * w;
          const auto [entry, first] = least.emplace(at, v + w);
          if (!first) entry->second = std::min(entry->second, v + w);
        }
      }
      const Parts<double, 2> pa(a.parts), pb(b.parts);
      RowFinder<double> other(pb);
      HashAccumulator<double> terms;
      Output<double> out;
      const auto result = [&](const auto& add, const auto& multiply) {
        out.begin({2, {{{0, rows}, {0, columns}}}});
        pa.rows({0, rows}, [&](const Row<double>& row) {
          out.row(row.index());
          terms.begin(1);
          row.each([&](Index k, double x) {
            if (x == 0) return;
            other(k).each([&](Index j, double y) {
              if (y != 0) terms.add(j, multiply(x, y), add);
            });
          });
          terms.flush([&](Index j, double value) { out.put(j, value); });
        });
        const BlockMemory memory = build(out.entries(), std::array{Level::kDense, Level::kCompressed});
        Box box;
        box.rank = 2;
        box[0] = {0, rows};
        box[1] = {0, columns};
        const Part parts[] = {{head_in(memory), box, box[0]}};
        return without_zeros(by_rows(Parts<double, 2>(parts), box[0]));
      };
      CHECK(result(kAdd, kTimes) == without_zeros(sums));
      CHECK(result([](double x, double y) { return std::min(x, y); }, kAdd) == without_zeros(least));
    }
  }
}

TEST_CASE_TEMPLATE("sparse kernels: rows that are added leave in order, without zeros, and are empty then", T, double,
                   std::int32_t, bool) {
  std::mt19937_64 random(11);
  AddedRow<T> row;
  for (const Index columns : {Index{1}, Index{64}, Index{65}, Index{1000}, Index{130}}) {
    for (const Index elements : {Index{0}, Index{1}, Index{40}, Index{3000}}) {
      const auto into = row.into(columns);
      std::map<Index, T> expected;
      for (Index k = 0; k < elements; ++k) {
        const auto j = static_cast<Index>(random() % static_cast<std::uint64_t>(columns));
        const auto value =
            static_cast<T>(std::is_same_v<T, bool> ? random() % 2 : random() % 3 - 1);  // including sums of 0
        into.add(j, value);
        if constexpr (std::is_same_v<T, bool>)
          expected[j] = expected[j] || value;
        else
          expected[j] += value;
      }
      std::erase_if(expected, [](const auto& e) { return e.second == T(0); });
      std::vector<std::uint32_t> at(static_cast<std::size_t>(columns + AddedRow<T>::kSlack));
      const auto values = std::make_unique<T[]>(at.size());
      const Index count = row.drain(at.data(), values.get());
      REQUIRE(count == static_cast<Index>(expected.size()));
      Index k = 0;
      for (const auto& [j, value] : expected) {
        CHECK(at[static_cast<std::size_t>(k)] == j);
        if constexpr (!std::is_same_v<T, bool>) CHECK(values[static_cast<std::size_t>(k)] == value);
        ++k;
      }
    }
  }
  if constexpr (std::is_floating_point_v<T>) {
    std::uint32_t at[5];
    T values[5];
    row.into(3).add(1, -0.0);
    CHECK(row.drain(at, values) == 0);
    row.into(3).add(2, std::numeric_limits<T>::quiet_NaN());
    CHECK(row.drain(at, values) == 1);
  }
}

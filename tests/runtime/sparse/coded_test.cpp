#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <set>
#include <vector>

#include "runtime/kernels/coded.h"
#include "runtime/sparse/elements.h"
#include "runtime/sparse/piece.h"
#include "tests/runtime/sparse/random.h"

using namespace tdsl::rt::sparse;
using namespace tdsl::tests;
namespace rt = tdsl::rt;
using tdsl::plan::Combine;

namespace {

/// A matrix with a column of every form, as elements of a block with this corner.
struct Coded {
  Index rows, columns = 8;
  Interval there;  ///< rows of the tensor
  std::vector<double> dense;
  BlockMemory memory;
  std::vector<Part> parts;

  explicit Coded(Index height, Index corner = 0) : rows(height), there{corner, corner + height} {
    std::mt19937_64 random(7);
    const auto draw = [&](int most) { return static_cast<double>(random() % static_cast<unsigned>(most)); };
    dense.assign(static_cast<std::size_t>(rows * columns), 0.0);
    for (Index i = 0; i < rows; ++i) {
      double* const row = dense.data() + i * columns;
      row[1] = 2.5;                                  // constant
      row[2] = draw(5) - 2;                          // bytes, with zeros
      row[3] = draw(100) + 1;                        // bytes without
      row[4] = draw(3000) - 1;                       // words
      row[5] = draw(40) == 0 ? draw(4) + 0.5 : 0.0;  // listed
      row[6] = draw(10) == 0 ? draw(600) + 1 : 0.0;  // listed words
      row[7] = draw(3);                              // bytes again
    }
    std::vector<std::uint32_t> outer, last;
    std::vector<Index> begins;
    std::vector<double> values;
    for (Index i = 0; i < rows; ++i) {
      outer.push_back(static_cast<std::uint32_t>(i));
      begins.push_back(static_cast<Index>(values.size()));
      for (Index j = 0; j < columns; ++j) {
        if (at(i, j) == 0.0) continue;
        last.push_back(static_cast<std::uint32_t>(j));
        values.push_back(at(i, j));
      }
    }
    const std::vector<Index> extents{rows, columns};
    const Coder<double> coder({extents, outer, begins, last, values}, Index{1} << 40);
    REQUIRE(coder.head().bytes > 0);
    memory = block_memory(coder.head().bytes);
    coder.write(memory.get());
    Box box;
    box.rank = 2;
    box[0] = there;
    box[1] = {0, columns};
    parts.push_back({head_in(memory), box, there});
  }
  [[nodiscard]] double at(Index i, Index j) const { return dense[static_cast<std::size_t>(i * columns + j)]; }
};

const std::vector<Index> kHeights{1, 700, kSegmentRows, 2 * kSegmentRows + 17};

std::vector<Interval> ranges_of(const Coded& m) {
  const Index lo = m.there.lo, n = m.rows;
  return {m.there, {lo, lo + (n + 1) / 2}, {lo + n / 3, lo + n}, {lo + n / 3, lo + n - n / 4}};
}

}  // namespace

TEST_CASE("coded columns: every form, and its bytes") {
  const Coded m(3 * kSegmentRows);
  const CodedView<double> view(*head_in(m.memory));
  using Form = CodedColumn::Form;
  const std::vector<Form> forms{Form::kEmpty, Form::kConstant, Form::kBytes,       Form::kBytes,
                                Form::kWords, Form::kListed,   Form::kListedWords, Form::kBytes};
  for (Index c = 0; c < m.columns; ++c) {
    CHECK(view.column(c).form == forms[static_cast<std::size_t>(c)]);
    std::set<double> distinct;
    for (Index i = 0; i < m.rows; ++i) distinct.insert(m.at(i, c));
    if (view.column(c).form == Form::kListed || c == 6 || c == 0) distinct.erase(0.0);
    CHECK(view.column(c).values == distinct.size());
    Index counted = 0;
    for (Index k = 0; k < static_cast<Index>(view.column(c).values); ++k) counted += view.counts(c)[k];
    CHECK(counted <= m.rows);
  }
  // Three columns of bytes, one of words, two listed ones with few rows, dictionaries.
  CHECK(head_in(m.memory)->bytes < m.rows * 6 + 16 * 4000);
  CHECK(8 * m.rows * m.columns > 4 * head_in(m.memory)->bytes);
}

TEST_CASE("coded columns: rows, elements and pieces are those of the matrix") {
  for (const Index height : kHeights) {
    const Coded m(height, 100);
    const Parts<double, 2> parts(m.parts);
    for (const Interval range : ranges_of(m)) {
      Index next = range.lo;
      parts.rows(range, [&](const Row<double>& row) {
        CHECK(row.index() == next++);
        Index column = 0;
        row.each([&](Index j, double value) {
          CHECK(j == column++);
          CHECK(value == m.at(row.index() - 100, j));
        });
      });
      CHECK(next == range.hi);
      const Piece piece = piece_of(*head_in(m.memory), {range.lo - 100, range.hi - 100}, [](Index, auto) {});
      CHECK(piece.head.bytes == head_in(m.memory)->bytes);
      const Part part{head_in(m.memory), m.parts[0].box, range};
      Index elements = 0;
      rt::sparse::Elements<double>({&part, 1}).each(range, [&](std::span<const Index> at, double value) {
        CHECK(value == m.at(at[0] - 100, at[1]));
        ++elements;
      });
      CHECK(elements == range.size() * m.columns);
    }
  }
}

TEST_CASE("coded columns: a function of values is evaluated once per distinct value") {
  for (const Index height : kHeights) {
    const Coded m(height, 100);
    const Parts<double, 2> parts(m.parts);
    for (const Interval range : ranges_of(m)) {
      double expected = 0, sum = 0, most = 0;
      Index distinct = 0, evaluated = 0, elements = 0, counted = 0;
      for (Index j = 0; j < m.columns; ++j) {
        std::set<double> values;
        for (Index i = range.lo - 100; i < range.hi - 100; ++i) {
          if (m.at(i, j) == 0.0) continue;
          values.insert(m.at(i, j));
          expected += m.at(i, j) * m.at(i, j);
          ++elements;
        }
        distinct += static_cast<Index>(values.size());
      }
      rt::each_value(parts, range, [&](Index, double x, Index count) {
        ++evaluated;
        counted += count;
        most = std::max(most, x);
        rt::add_repeated(sum, x * x, count);
      });
      CHECK(evaluated == distinct);
      CHECK(counted == elements);
      CHECK(std::abs(sum - expected) <= 1e-12 * expected);
      CHECK(most == *std::max_element(m.dense.begin() + (range.lo - 100) * m.columns,
                                      m.dense.begin() + (range.hi - 100) * m.columns));
    }
  }
}

TEST_CASE("coded columns: totals of rows have the bits of a loop over the row") {
  for (const Index height : kHeights) {
    const Coded m(height, 100);
    const Parts<double, 2> parts(m.parts);
    std::vector<double> v{0.1, 0.7, -1.3, 2.9, 1e-3, 5.5, -0.25, 3.3};
    v[0] = std::numeric_limits<double>::infinity();  // no element of column 0 is there
    for (const Interval range : ranges_of(m)) {
      Index products = 0, next = range.lo;
      rt::row_totals<Combine::kSum>(
          parts, range, 0.0,
          [&](Index j, double x, double& total) {
            ++products;
            total += x * v[static_cast<std::size_t>(j)];
          },
          [&](Index i, double total) {
            CHECK(i == next++);
            double expected = 0;
            for (Index j = 1; j < m.columns; ++j) expected += m.at(i - 100, j) * v[static_cast<std::size_t>(j)];
            CHECK(total == expected);
          });
      CHECK(next == range.hi);
      CHECK(products <= 1 + 5 + 100 + 3000 + 4 + 600 + 3);
    }
    rt::row_totals<Combine::kMax>(
        parts, m.there, -std::numeric_limits<double>::infinity(),
        [](Index, double x, double& total) { total = std::max(total, x); },
        [&](Index i, double total) {
          double expected = -std::numeric_limits<double>::infinity();
          for (Index j = 0; j < m.columns; ++j) {
            if (m.at(i - 100, j) != 0.0) expected = std::max(expected, m.at(i - 100, j));
          }
          CHECK(total == expected);
        });
  }
}

TEST_CASE("coded columns: weights of rows are added per value, and infinite ones only where values are there") {
  for (const bool special : {false, true}) {
    for (const Index height : kHeights) {
      const Coded m(height, 100);
      const Parts<double, 2> parts(m.parts);
      std::vector<double> w(static_cast<std::size_t>(m.rows));
      std::mt19937_64 random(11);
      for (double& x : w) x = static_cast<double>(random() % 64) - 32;
      if (special) w[w.size() / 2] = std::numeric_limits<double>::infinity();
      if (special) w[0] = std::numeric_limits<double>::max(), w.back() = w[0];
      for (const Interval range : ranges_of(m)) {
        std::vector<double> sums(static_cast<std::size_t>(m.columns)), expected = sums;
        rt::weighted_values(
            parts, range, [&](Index i) { return w[static_cast<std::size_t>(i - 100)]; },
            [&](Index j, double x, double weight) { sums[static_cast<std::size_t>(j)] += x * weight; });
        for (Index i = range.lo - 100; i < range.hi - 100; ++i) {
          for (Index j = 0; j < m.columns; ++j) {
            if (m.at(i, j) != 0.0) expected[static_cast<std::size_t>(j)] += m.at(i, j) * w[static_cast<std::size_t>(i)];
          }
        }
        for (std::size_t j = 0; j < sums.size(); ++j) {
          const bool same = sums[j] == expected[j] || (std::isnan(sums[j]) && std::isnan(expected[j]));
          CHECK((same || std::abs(sums[j] - expected[j]) <= 1e-12 * std::abs(expected[j])));
        }
      }
    }
  }
}

namespace {

/// True if a matrix with this share of nonzero elements and number of distinct values per column is coded.
bool pays(Index rows, Index columns, unsigned values, double share, const CodedVisits& visits) {
  std::mt19937_64 random(11);
  std::vector<std::uint32_t> outer, last;
  std::vector<Index> begins;
  std::vector<double> elements;
  for (Index i = 0; i < rows; ++i) {
    outer.push_back(static_cast<std::uint32_t>(i));
    begins.push_back(static_cast<Index>(elements.size()));
    for (Index j = 0; j < columns; ++j) {
      if (static_cast<double>(random() % 1000) >= 1000 * share) continue;
      last.push_back(static_cast<std::uint32_t>(j));
      elements.push_back(1.0 + static_cast<double>(random() % values));
    }
  }
  const std::vector<Index> extents{rows, columns};
  const Coder<double> coder({extents, outer, begins, last, elements}, Index{1} << 40);
  REQUIRE(coder.head().bytes > 0);
  return coder.pays(visits);
}

}  // namespace

TEST_CASE("coded columns: codes are used where they are predicted to be faster") {
  const CodedVisits nest{.nests = 2, .totals = 2, .weights = 2}, cell{.walks = 2, .counts = 2},
      decoded{.walks = 2, .counts = 2, .decoded = 1};
  CHECK(pays(8000, 29, 250, 0.72, nest));        // few columns, few zeros, as Airline78
  CHECK_FALSE(pays(2000, 400, 250, 0.4, nest));  // a table of 400 columns for few rows, and zeros, as Mnist8m
  CHECK(pays(2000, 400, 250, 0.4, cell));
  CHECK(pays(8000, 100, 250, 0.05, cell));
  CHECK_FALSE(pays(8000, 100, 250, 0.05, decoded));  // all zeros are decoded
}

TEST_CASE("coded columns: nothing is coded where it does not fit") {
  std::vector<std::uint32_t> outer, last;
  std::vector<Index> begins;
  std::vector<double> values;
  const Index rows = kMostCodes + 1;
  for (Index i = 0; i < rows; ++i) {
    outer.push_back(static_cast<std::uint32_t>(i));
    begins.push_back(i);
    last.push_back(0);
    values.push_back(static_cast<double>(i) + 0.5);
  }
  const std::vector<Index> extents{rows, 1};
  const RowEntries<double> entries{extents, outer, begins, last, values};
  CHECK(Coder<double>(entries, Index{1} << 40).head().bytes == 0);
  values[3] = values[2];
  const Coder<double> full(entries, Index{1} << 40);
  CHECK(full.head().bytes > 0);
  CHECK(Coder<double>(entries, full.head().bytes - 1).head().bytes == 0);
}

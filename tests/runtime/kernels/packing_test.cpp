#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/kernels/product/blas_call.h"
#include "runtime/kernels/product/pack.h"

// Packed operands are copies, and products of small integers, whose sums are exact in any order, are exact for every
// size and layout.

namespace tdsl::tests {

namespace {

using plan::Index;

template <class T>
std::vector<T> counted(Index count) {
  std::vector<T> list(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) list[static_cast<std::size_t>(i)] = static_cast<T>(i * 7 % 9 - 4);
  return list;
}

template <class T>
void check_panels(Index width, Index rows, Index k, Index row, Index column) {
  CAPTURE(width);
  CAPTURE(rows);
  CAPTURE(k);
  std::vector<T> from(static_cast<std::size_t>((rows - 1) * row + (k - 1) * column + 1));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<T>(i + 1);
  const Index elements = rt::pack::elements(width, rows, k);
  std::vector<T> to(static_cast<std::size_t>(elements) + 1, T{-1});
  rt::pack::panels(width, rows, k, from.data(), row, column, to.data());
  Index wrong = 0;
  for (Index i = 0; i < elements / k; ++i) {
    for (Index l = 0; l < k; ++l) {
      const T expected = i < rows ? from[static_cast<std::size_t>(i * row + l * column)] : T{0};
      wrong += to[static_cast<std::size_t>(i / width * width * k + l * width + i % width)] == expected ? 0 : 1;
    }
  }
  CHECK(wrong == 0);
  CHECK(to.back() == -1);
}

template <class T>
void check_all_panels() {
  for (const Index width : {3, 6, 8, 12, 14, 16, 24, 30, 32}) {
    for (const Index rows : {Index{1}, width - 1, width, 2 * width, 2 * width + 1}) {
      for (const Index k : {1, 3, 16, 17, 41}) {
        check_panels<T>(width, rows, k, k, 1);
        check_panels<T>(width, rows, k, 1, rows);
        check_panels<T>(width, rows, k, k + 3, 1);
        check_panels<T>(width, rows, k, 1, rows + 5);
        check_panels<T>(width, rows, k, 2 * k, 2);
      }
    }
  }
}

/// Rows and columns in tiles of `edge` x `edge`, stored one after the other.
void check_panels_of_tiles(Index width, Index rows, Index k, Index edge) {
  CAPTURE(width);
  CAPTURE(rows);
  CAPTURE(k);
  CAPTURE(edge);
  const Index across = (k + edge - 1) / edge, down = (rows + edge - 1) / edge;
  std::vector<double> from(static_cast<std::size_t>(down * across * edge * edge));
  for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<double>(i + 1);
  std::vector<Index> row, column;
  for (Index i = 0; i < rows; ++i) row.push_back(i / edge * across * edge * edge + i % edge * edge);
  for (Index l = 0; l < k; ++l) column.push_back(l / edge * edge * edge + l % edge);
  const Index elements = rt::pack::elements(width, rows, k);
  for (const bool transposed : {false, true}) {
    const std::vector<Index>& down_panel = transposed ? column : row;
    const std::vector<Index>& along_panel = transposed ? row : column;
    if (transposed && rows != k) continue;
    std::vector<double> to(static_cast<std::size_t>(elements) + 1, -1.0);
    rt::pack::panels(width, rows, k, from.data(), rt::Axis(down_panel), rt::Axis(along_panel), to.data());
    Index wrong = 0;
    for (Index i = 0; i < elements / k; ++i) {
      for (Index l = 0; l < k; ++l) {
        const auto at = [](const std::vector<Index>& list, Index j) { return list[static_cast<std::size_t>(j)]; };
        const double expected = i < rows ? from[static_cast<std::size_t>(at(down_panel, i) + at(along_panel, l))] : 0.0;
        wrong += to[static_cast<std::size_t>(i / width * width * k + l * width + i % width)] == expected ? 0 : 1;
      }
    }
    CHECK(wrong == 0);
    CHECK(to.back() == -1.0);
  }
}

struct Layout {
  Index row;
  Index column;
  Index elements;
};

/// Row-major (0), column-major (1), and row-major with element stride 2 (2).
Layout layout_of(int kind, Index rows, Index columns) {
  if (kind == 0) return {columns, 1, rows * columns};
  if (kind == 1) return {1, rows, rows * columns};
  return {2 * columns + 3, 2, rows * (2 * columns + 3)};
}

/// C = A B or C += A B with three layouts of each operand; some rows of C are compared with a plain loop, and nothing
/// outside C is written.
template <class T>
void check_product(Index m, Index n, Index k, int kind, bool accumulate) {
  CAPTURE(m);
  CAPTURE(n);
  CAPTURE(k);
  CAPTURE(kind);
  const Layout la = layout_of(kind % 3, m, k);
  const Layout lb = layout_of(kind / 3 % 3, k, n);
  const Layout lc = layout_of(kind / 9 % 3, m, n);
  const std::vector<T> a = counted<T>(la.elements);
  const std::vector<T> b = counted<T>(lb.elements);
  constexpr T kBeside = 12345;
  std::vector<T> c(static_cast<std::size_t>(lc.elements), kBeside);
  const auto at = [](const Layout& l, Index i, Index j) { return static_cast<std::size_t>(i * l.row + j * l.column); };
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j)
      c[at(lc, i, j)] = accumulate ? static_cast<T>(i % 5) : std::numeric_limits<T>::quiet_NaN();
  }
  rt::blas::gemm<T>(m, n, k, {a.data(), la.row, la.column}, {b.data(), lb.row, lb.column}, accumulate,
                    {c.data(), lc.row, lc.column});
  Index wrong = 0;
  for (Index i = 0; i < m; i += i + 1 < m ? std::min<Index>(61, m - 1 - i) : 1) {
    std::vector<T> expected(static_cast<std::size_t>(n), accumulate ? static_cast<T>(i % 5) : T{0});
    for (Index l = 0; l < k; ++l) {
      for (Index j = 0; j < n; ++j) expected[static_cast<std::size_t>(j)] += a[at(la, i, l)] * b[at(lb, l, j)];
    }
    for (Index j = 0; j < n; ++j) wrong += c[at(lc, i, j)] == expected[static_cast<std::size_t>(j)] ? 0 : 1;
  }
  CHECK(wrong == 0);
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) c[at(lc, i, j)] = kBeside;
  }
  CHECK(std::count(c.begin(), c.end(), kBeside) == lc.elements);
}

template <class T>
void check_products() {
  for (int kind = 0; kind < 27; ++kind) check_product<T>(257, 300, 290, kind, kind % 2 == 0);
  check_product<T>(700, 256, 900, 0, false);  // several blocks of rows and slabs of the sum
  check_product<T>(256, 4200, 256, 0, true);  // several slabs of columns
  check_product<T>(4200, 256, 256, 9, false);
  check_product<T>(255, 300, 290, 0, false);  // not packed by our code
}

}  // namespace

TEST_CASE("packing: rows and columns in tiles") {
  for (const Index width : {6, 8, 14}) {
    for (const Index edge : {1, 4, 5, 14, 40}) {
      check_panels_of_tiles(width, 31, 31, edge);
      check_panels_of_tiles(width, width, 17, edge);
      check_panels_of_tiles(width, 3 * width + 1, 1, edge);
    }
  }
}

TEST_CASE("panels hold the operand, and zeros where rows are missing") {
  check_all_panels<double>();
  check_all_panels<float>();
}

TEST_CASE("products of small integers are exact at every size and layout") {
  check_products<double>();
  check_products<float>();
}

}  // namespace tdsl::tests

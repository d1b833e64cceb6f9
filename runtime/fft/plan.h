#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/plan/space/index.h"

// Plans of Fourier transforms of one length: factors and roots of unity. They depend on the length alone, and so do the
// order of operations and the bits of results.

namespace tdsl::rt::fourier {

using plan::Index;

/// Lines that are transformed together, one per lane of a vector of 64 bytes.
template <class T>
inline constexpr Index kLanes = 64 / static_cast<Index>(sizeof(T));

/// Lengths with a larger prime factor are convolutions (Bluestein's algorithm).
inline constexpr Index kLargestRadix = 31;
/// Longer lines are transformed one by one, as a matrix whose columns and rows are the lanes (six-step form).
inline constexpr Index kLongestInLanes = 4096;

/// One pass of Stockham's algorithm: transforms of `radix` elements, `length / radix` of them for each of `stride`
/// interleaved lines.
struct Stage {
  Index radix = 1;
  Index length = 1;
  Index stride = 1;
  std::size_t twiddles = 0;  ///< the roots of its elements: `radix - 1` for each of `length / radix` places
  std::size_t roots = 0;     ///< radices above 5: the roots of unity of that order
};

/// A length without prime factors above kLargestRadix. Complex numbers are pairs of parts.
template <class T>
struct Stages {
  explicit Stages(Index length = 1);

  Index n;
  std::vector<Stage> stages;
  std::vector<T> roots;
};

/// A length n = rows * columns: element k = i * columns + j of a line is element (i, j) of a matrix.
template <class T>
struct Matrix {
  explicit Matrix(Index n);

  /// Columns share tables in groups of that many.
  static constexpr Index kGroup = 16;
  Index rows;
  Index columns;
  Stages<T> of_columns;      ///< transforms of `rows` elements
  Stages<T> of_rows;         ///< transforms of `columns` elements
  std::vector<T> of_groups;  ///< root^(i j) for j = 0, 16, 32, …: pairs, [j / 16][i]
  std::vector<T> re, im;     ///< the same for j = 0 to 15: [i][j]
};

/// The transform of complex lines of n elements.
template <class T>
struct Plan {
  explicit Plan(Index length);

  Index n;
  Stages<T> stages;                         ///< unless `matrix` or `convolution` is set
  std::unique_ptr<const Matrix<T>> matrix;  ///< long lines
  /// Bluestein's algorithm: with c[k] = exp(-i pi k^2 / n), X[k] = c[k] sum(x[j] c[j] conj(c[k - j])).
  std::shared_ptr<const Plan> convolution;
  std::vector<T> chirp;   ///< c, pairs
  std::vector<T> window;  ///< the transform of conj(c), divided by its length

  /// True if lines are transformed one by one.
  [[nodiscard]] bool is_long() const { return matrix != nullptr || (convolution && convolution->is_long()); }
  /// Elements per line of the work space.
  [[nodiscard]] Index work() const { return convolution ? convolution->n : n; }
};

/// The transform of real lines of n elements: for even n that of n / 2 pairs.
template <class T>
struct RealPlan {
  explicit RealPlan(Index length);

  Index n;
  std::shared_ptr<const Plan<T>> inner;
  std::vector<T> roots;  ///< for even n: exp(-2 pi i k / n) for k <= n / 4, pairs
};

/// Plans are kept for further calls, the latest few of each type. Safe for threads.
template <class T>
std::shared_ptr<const Plan<T>> plan_of(Index n);
template <class T>
std::shared_ptr<const RealPlan<T>> real_plan_of(Index n);

}  // namespace tdsl::rt::fourier

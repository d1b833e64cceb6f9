#pragma once

#include <array>
#include <cstdint>

#include "runtime/fft/plan.h"

namespace tdsl::rt::fourier {

/// X[k] = scale * sum(x[j] exp(-2 pi i j k / n)); `kInverse`, `kToReal` and `kInverseOfReals` have the other sign.
///   kReal    real elements to the n / 2 + 1 first results
///   kToReal  n / 2 + 1 elements, the first of n of which the others are the conjugates, to n reals. Imaginary parts of
///            the first element and, for even n, of the last do not count
///   kForwardOfReals, kInverseOfReals  real elements to all n results
enum class Kind : std::uint8_t { kForward, kInverse, kReal, kToReal, kForwardOfReals, kInverseOfReals };

[[nodiscard]] constexpr bool is_of_reals(Kind kind) {
  return kind == Kind::kReal || kind == Kind::kForwardOfReals || kind == Kind::kInverseOfReals;
}

/// Lines that are transformed together. Element k of line l is at first[l] + k * stride, in parts: a complex element
/// has two.
template <class T>
struct Lines {
  std::array<T*, 16> first{};
  Index stride = 1;
};

/// Transforms of lines of n >= 1 elements (the complex ones, or the reals). A line with elements that are not finite
/// has no finite result.
template <class T>
class Transform {
 public:
  Transform(Kind kind, Index n, double scale);

  /// Transforms `count` lines, at most kLanes<T>. Input and output do not overlap.
  void run(const Lines<const T>& in, const Lines<T>& out, Index count) const;

 private:
  void run_in_lanes(const Lines<const T>& in, const Lines<T>& out, Index count) const;
  void run_line(const T* in, Index in_stride, T* out, Index out_stride) const;

  Kind kind_;
  Index n_;
  T scale_;
  std::shared_ptr<const RealPlan<T>> real_;  ///< of real lines
  std::shared_ptr<const Plan<T>> plan_;
};

/// The forward transform of one complex line (pairs), of any length. `in` and `out` may be the same.
template <class T>
void transform_line(const Plan<T>& plan, const T* in, T* out);

}  // namespace tdsl::rt::fourier

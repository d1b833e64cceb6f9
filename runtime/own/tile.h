// An include guard rather than #pragma once: a user's header may include the installed copy in addition to the
// runtime's.
#ifndef TDSL_OWN_TILE_H
#define TDSL_OWN_TILE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

// The operands of a user's kernel, in the header that a program names in `extern`:
//
//     // kernels.hpp                                       // program.tdsl
//     #include <tdsl/tile.h>                               extern "kernels.hpp" {
//     inline void scale(tdsl::Tile<const double, 2> A,       kernel scale(A: in f64[n, m], c: in f64,
//                       double c,                                         B: out f64[n, m]);
//                       tdsl::Tile<double, 2> B) {         }
//       for (std::int64_t i = 0; i < B.extent(0); ++i) {   let B = scale(A, 2.0);
//         for (std::int64_t j = 0; j < B.extent(1); ++j) B(i, j) = c * A(i, j);
//       }
//     }
//
// An `in` tensor is a Tile of const elements, an `out` tensor a Tile; an `in` scalar comes by value, an `out` scalar as
// a reference. Elements are bool, std::int32_t (i32), std::int64_t (i64), float (f32), double (f64),
// std::complex<float> (c64), std::complex<double> (c128). Tiles are views: cheap to copy, owning nothing. Distinct
// operands do not overlap.

namespace tdsl {

/// A tensor of R dimensions, or a part of one: element (i, j) lies at data() + i * stride(0) + j * stride(1).
/// Subscripts count from 0 to extent(d) - 1 and are not checked.
template <class T, int R>
class Tile {
 public:
  static_assert(R >= 1, "scalars are passed by value or by reference");
  using Index = std::int64_t;

  constexpr Tile(T* data, const std::array<Index, R>& extent, const std::array<Index, R>& stride)
      : data_(data), extent_(extent), stride_(stride) {}
  /// Of elements in row-major order.
  constexpr Tile(T* data, const std::array<Index, R>& extent) : data_(data), extent_(extent) {
    Index count = 1;
    for (std::size_t d = R; d-- > 0;) {
      stride_[d] = count;
      count *= extent[d];
    }
  }
  /// What may be written may be read.
  template <class U>
  requires(std::is_same_v<T, const U> && !std::is_const_v<U>) constexpr Tile(const Tile<U, R>& other)
      : data_(other.data_), extent_(other.extent_), stride_(other.stride_) {}

  /// The element at these subscripts, one per dimension.
  template <class... S>
  requires(sizeof...(S) == static_cast<std::size_t>(R) && (std::is_integral_v<S> && ...)) constexpr T& operator()(
      S... subscript) const {
    Index offset = 0;
    std::size_t d = 0;
    ((offset += static_cast<Index>(subscript) * stride_[d++]), ...);
    return data_[offset];
  }

  /// The first element.
  [[nodiscard]] constexpr T* data() const { return data_; }
  /// Elements along dimension `d`, from 0.
  [[nodiscard]] constexpr Index extent(int d) const { return extent_[static_cast<std::size_t>(d)]; }
  /// How many elements apart neighbours along dimension `d` are.
  [[nodiscard]] constexpr Index stride(int d) const { return stride_[static_cast<std::size_t>(d)]; }

 private:
  template <class, int>
  friend class Tile;

  T* data_ = nullptr;
  std::array<Index, R> extent_{};
  std::array<Index, R> stride_{};
};

}  // namespace tdsl

#endif  // TDSL_OWN_TILE_H

#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "runtime/kernels/blocked/blocked_reduction.h"
#include "runtime/kernels/scalar_math.h"

// Named scalar functions of blocked reductions. Their loops are compiled in the library, for every vector width; other
// functions are compiled with the program.
//
//     rt::blocked_reduction<double>(rows, columns, std::array{ks}, X, C, rt::joins::sum_of_squares<double>, sum);

namespace tdsl::rt::joins {

// Terms of an x and a y.
struct Product {
  template <class T>
  static T of(T x, T y) {
    return scalar::multiply(x, y);
  }
};
struct Sum {
  template <class T>
  static T of(T x, T y) {
    return scalar::add(x, y);
  }
};
struct Distance {
  template <class T>
  static T of(T x, T y) {
    return scalar::abs(scalar::subtract(x, y));
  }
};
struct Smaller {
  template <class T>
  static T of(T x, T y) {
    return scalar::min(x, y);
  }
};
struct Larger {
  template <class T>
  static T of(T x, T y) {
    return scalar::max(x, y);
  }
};

// Joins: the next total. `Numbers`: the function for x and y that are neither nan nor inf, if it is simpler.

/// Sums of float products have one rounding each.
template <class T>
struct SumOfProducts {
  T operator()(T total, T x, T y) const {
    if constexpr (std::is_floating_point_v<T>)
      return std::fma(x, y, total);
    else
      return scalar::add(total, scalar::multiply(x, y));
  }
};
/// Of squared differences.
template <class T>
struct SumOfSquares {
  T operator()(T total, T x, T y) const { return std::fma(x - y, x - y, total); }
};
template <class T>
struct SumOfDistances {
  T operator()(T total, T x, T y) const { return total + scalar::abs(x - y); }
};
template <class T>
struct AnyOfBoth {
  T operator()(T total, T x, T y) const { return (x && y) || total; }
};
template <class T, class Term>
struct Least {
  struct OfNumbers {
    T operator()(T total, T x, T y) const { return scalar::min_number(total, Term::of(x, y)); }
  };
  T operator()(T total, T x, T y) const { return scalar::least(total, Term::of(x, y)); }
  using Numbers = std::conditional_t<std::is_floating_point_v<T>, OfNumbers, std::nullptr_t>;
};
template <class T, class Term>
struct Greatest {
  struct OfNumbers {
    T operator()(T total, T x, T y) const { return scalar::max_number(total, Term::of(x, y)); }
  };
  T operator()(T total, T x, T y) const { return scalar::greatest(total, Term::of(x, y)); }
  using Numbers = std::conditional_t<std::is_floating_point_v<T>, OfNumbers, std::nullptr_t>;
};

template <class T>
using MinOfSums = Least<T, Sum>;
template <class T>
using MinOfMaxima = Least<T, Larger>;
template <class T>
using MaxOfSums = Greatest<T, Sum>;
template <class T>
using MaxOfProducts = Greatest<T, Product>;
template <class T>
using MaxOfDistances = Greatest<T, Distance>;
template <class T>
using MaxOfMinima = Greatest<T, Smaller>;

// As emitted programs call them: codegen/print/nests/named_joins.h.
template <class T>
inline constexpr SumOfProducts<T> sum_of_products;
template <class T>
inline constexpr SumOfSquares<T> sum_of_squares;
template <class T>
inline constexpr SumOfDistances<T> sum_of_distances;
template <class T>
inline constexpr AnyOfBoth<T> any_of_both;
template <class T>
inline constexpr MinOfSums<T> min_of_sums;
template <class T>
inline constexpr MinOfMaxima<T> min_of_maxima;
template <class T>
inline constexpr MaxOfSums<T> max_of_sums;
template <class T>
inline constexpr MaxOfProducts<T> max_of_products;
template <class T>
inline constexpr MaxOfDistances<T> max_of_distances;
template <class T>
inline constexpr MaxOfMinima<T> max_of_minima;

}  // namespace tdsl::rt::joins

// The joins whose loops are in the library, for each type. X(T, Function): the loops of a function.
#define TDSL_JOINS_OF_INTEGERS(X, T) \
  X(T, joins::SumOfProducts<T>)      \
  X(T, joins::MinOfSums<T>)          \
  X(T, joins::MaxOfSums<T>)
#define TDSL_JOINS_OF_FLOATS(X, T)          \
  X(T, joins::SumOfProducts<T>)             \
  X(T, joins::SumOfSquares<T>)              \
  X(T, joins::SumOfDistances<T>)            \
  X(T, joins::MinOfSums<T>)                 \
  X(T, joins::MinOfSums<T>::OfNumbers)      \
  X(T, joins::MinOfMaxima<T>)               \
  X(T, joins::MinOfMaxima<T>::OfNumbers)    \
  X(T, joins::MaxOfSums<T>)                 \
  X(T, joins::MaxOfSums<T>::OfNumbers)      \
  X(T, joins::MaxOfProducts<T>)             \
  X(T, joins::MaxOfProducts<T>::OfNumbers)  \
  X(T, joins::MaxOfDistances<T>)            \
  X(T, joins::MaxOfDistances<T>::OfNumbers) \
  X(T, joins::MaxOfMinima<T>)               \
  X(T, joins::MaxOfMinima<T>::OfNumbers)
#define TDSL_JOINS_OF_BOOLS(X, T) X(T, joins::AnyOfBoth<T>)

#define TDSL_LOOPS_OF_JOIN(T, Function)                                                     \
  template void blocked::tile_steps<blocked::kColumnBytes / static_cast<Index>(sizeof(T))>( \
      SimdLevel, Index, T* const*, const std::tuple<const T*>&, const std::tuple<const T*>&, const Function&);
#define TDSL_EXTERN_JOIN(T, Function) extern TDSL_LOOPS_OF_JOIN(T, Function)

// Projects of `emit --project` compile them with the program.
#ifndef TDSL_JOINS_OF_PROGRAM
namespace tdsl::rt {
TDSL_JOINS_OF_BOOLS(TDSL_EXTERN_JOIN, bool)
TDSL_JOINS_OF_INTEGERS(TDSL_EXTERN_JOIN, std::int32_t)
TDSL_JOINS_OF_INTEGERS(TDSL_EXTERN_JOIN, std::int64_t)
TDSL_JOINS_OF_FLOATS(TDSL_EXTERN_JOIN, float)
TDSL_JOINS_OF_FLOATS(TDSL_EXTERN_JOIN, double)
}  // namespace tdsl::rt
#endif

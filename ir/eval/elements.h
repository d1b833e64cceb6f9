#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "ir/eval/bounds.h"
#include "ir/eval/eval.h"

/// Elements of the evaluator's arrays. All other code handles elements of any type as Slots.
namespace tdsl::ir::eval {

/// An element, a variable of a procedure or an operand of a user monoid: floats and complex numbers in `real`, all
/// others in `whole`, where a u64 has its bits.
struct Slot {
  Real real;
  Whole whole;
};

// --- Storage of elements: the code that depends on the layout of Array

/// An array of the shape with all elements 0.
[[nodiscard]] inline Array zeros(Scalar type, std::vector<std::int64_t> shape) {
  Array a;
  a.type = type;
  a.shape = std::move(shape);
  const auto n = static_cast<std::size_t>(a.size());
  is_float(type) ? a.floats.assign(n, 0.0) : a.integers.assign(n, 0);
  if (is_complex(type)) a.imaginary.assign(n, 0.0);
  return a;
}
[[nodiscard]] inline double bound_at(const Array& array, std::size_t position) {
  return array.bounds.empty() ? 0 : array.bounds[position];
}
/// Sets the bound of one element; allocates the array of bounds at the first nonzero bound.
inline void set_bound(Array& array, std::size_t position, double bound) {
  if (array.bounds.empty()) {
    if (bound == 0) return;
    array.bounds.assign(static_cast<std::size_t>(array.size()), 0.0);
  }
  array.bounds[position] = bound;
}
/// A float or complex element with its bound.
[[nodiscard]] inline Real real_element(const Array& array, std::size_t position) {
  return {array.floats[position], bound_at(array, position), array.imaginary.empty() ? 0 : array.imaginary[position]};
}
/// An integer or bool element with its bound.
[[nodiscard]] inline Whole whole_element(const Array& array, std::size_t position) {
  return {array.integers[position], bound_at(array, position)};
}
[[nodiscard]] inline Slot element(const Array& array, std::size_t position) {
  return is_float(array.type) ? Slot{real_element(array, position), {}} : Slot{{}, whole_element(array, position)};
}
inline void set_element(Array& array, std::size_t position, const Slot& value) {
  if (is_float(array.type)) {
    array.floats[position] = value.real.value;
    if (!array.imaginary.empty()) array.imaginary[position] = value.real.imag;
    set_bound(array, position, value.real.bound);
  } else {
    array.integers[position] = value.whole.value;
    set_bound(array, position, value.whole.bound);
  }
}

/// A number in the order of the elements of an integer type: a u64 has its bits in an i64.
[[nodiscard]] constexpr std::int64_t ordered_bits(Scalar type, std::int64_t value) {
  return type == Scalar::kU64 ? value ^ std::numeric_limits<std::int64_t>::min() : value;
}

// --- Values

/// A rank-0 array with the literal's value converted to `type`.
[[nodiscard]] Array scalar_array(Scalar type, const Literal& literal);
void fill(Array& array, const Slot& value);
/// The value of a slot of type `type` as a literal.
[[nodiscard]] Literal literal_of(Scalar type, const Slot& value);

/// A slot's value as its C++ type T.
template <rt::Element T>
[[nodiscard]] T cpp_value(const Slot& value) {
  if constexpr (rt::kIsComplex<T>) {
    using Part = rt::PartOf<T>;
    return T(static_cast<Part>(value.real.value), static_cast<Part>(value.real.imag));
  } else if constexpr (is_float(rt::element_type_of<T>)) {
    return static_cast<T>(value.real.value);
  } else {
    return static_cast<T>(value.whole.value);
  }
}
/// The exact slot of a C++ value.
template <rt::Element T>
[[nodiscard]] Slot slot_of(T value) {
  if constexpr (rt::kIsComplex<T>) {
    return {{static_cast<double>(value.re), 0, static_cast<double>(value.im)}, {}};
  } else if constexpr (is_float(rt::element_type_of<T>)) {
    return {{static_cast<double>(value), 0}, {}};
  } else {
    return {{}, {static_cast<std::int64_t>(value), 0}};
  }
}

}  // namespace tdsl::ir::eval

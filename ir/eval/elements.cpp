#include "ir/eval/elements.h"

#include "ir/graph/check.h"

namespace tdsl::ir::eval {

Array scalar_array(Scalar type, const Literal& literal) {
  Array a = zeros(type, {});
  if (is_float(type)) {
    const auto value = match(literal, [](auto x) { return static_cast<rt::Complex<double>>(x); });
    a.floats[0] = rounded(type, value.re);
    if (is_complex(type)) a.imaginary[0] = rounded(type, value.im);
  } else {
    TDSL_CHECK(literal.index() < 2, "an integer has an integer value");
    a.integers[0] = literal.index() == 0 ? std::int64_t{std::get<bool>(literal)} : std::get<std::int64_t>(literal);
  }
  return a;
}

void fill(Array& array, const Slot& value) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(array.size()); ++k) set_element(array, k, value);
}

Literal literal_of(Scalar type, const Slot& value) {
  if (is_complex(type)) return rt::Complex<double>(value.real.value, value.real.imag);
  if (is_float(type)) return value.real.value;
  if (type == Scalar::kBool) return value.whole.value != 0;
  return value.whole.value;
}

}  // namespace tdsl::ir::eval

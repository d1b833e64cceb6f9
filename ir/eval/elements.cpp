#include "ir/eval/elements.h"

#include "ir/graph/check.h"

namespace tdsl::ir::eval {

Array scalar_array(Scalar type, const Literal& literal) {
  Array a = zeros(type, {});
  if (is_float(type)) {
    const double value = match(literal, [](auto x) { return static_cast<double>(x); });
    a.floats[0] = type == Scalar::kF32 ? static_cast<double>(static_cast<float>(value)) : value;
  } else {
    TDSL_CHECK(!std::holds_alternative<double>(literal), "an integer has an integer value");
    a.integers[0] = match(literal, [](auto x) { return static_cast<std::int64_t>(x); });
  }
  return a;
}

void fill(Array& array, const Slot& value) {
  for (std::size_t k = 0; k < static_cast<std::size_t>(array.size()); ++k) set_element(array, k, value);
}

Literal literal_of(Scalar type, const Slot& value) {
  if (is_float(type)) return value.real.value;
  if (type == Scalar::kBool) return value.whole.value != 0;
  return value.whole.value;
}

}  // namespace tdsl::ir::eval

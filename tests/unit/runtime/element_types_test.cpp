#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "ir/eval/elements.h"
#include "runtime/base/number_format.h"
#include "runtime/io/npy/npy.h"
#include "runtime/types.h"

using namespace tdsl::rt;

TEST_CASE("all facts of an element type follow from its row") {
  std::string names, cpp_types, descriptors;
  for (const ElementInfo& info : kElementTypes) {
    CHECK(element_type_named(info.name) == info.type);
    visit_element_type(info.type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      CHECK(element_type_of<T> == info.type);
      CHECK(element_size(info.type) == sizeof(T));
      CHECK(is_integer(info.type) == (std::is_integral_v<T> && !std::is_same_v<T, bool>));
      CHECK(is_real(info.type) == std::is_floating_point_v<T>);
      CHECK(is_complex(info.type) == kIsComplex<T>);
      CHECK(is_half(info.type) == kIsHalf<T>);
      CHECK(is_float(info.type) == (is_real(info.type) || is_complex(info.type) || is_half(info.type)));
      CHECK(part_type(info.type) == element_type_of<PartOf<T>>);
    });
    names += std::string(info.name) + " ";
    cpp_types += std::string(info.cpp_type) + " ";
    descriptors += npy_descriptor(info.type) + " ";
  }
  CHECK(names == "bool i32 i64 f32 f64 c64 c128 i8 u8 i16 u16 u32 u64 f16 bf16 ");
  CHECK(cpp_types ==
        "bool std::int32_t std::int64_t float double rt::Complex<float> rt::Complex<double> "
        "std::int8_t std::uint8_t std::int16_t std::uint16_t std::uint32_t std::uint64_t rt::F16 rt::Bf16 ");
  CHECK(descriptors == "|b1 <i4 <i8 <f4 <f8 <c8 <c16 |i1 |u1 <i2 <u2 <u4 <u8 <f2 <V2 ");
  CHECK_FALSE(element_type_named("c256").has_value());
  CHECK(kLargestElement == 16);
}

TEST_CASE("elements of the evaluator read back as they were written") {
  for (const ElementInfo& info : kElementTypes) {
    visit_element_type(info.type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      tdsl::ir::Array array = tdsl::ir::eval::zeros(info.type, {2, 2});
      tdsl::ir::eval::set_element(array, 3, tdsl::ir::eval::slot_of(T(1)));
      CHECK(tdsl::ir::eval::cpp_value<T>(tdsl::ir::eval::element(array, 2)) == T(0));
      CHECK(tdsl::ir::eval::cpp_value<T>(tdsl::ir::eval::element(array, 3)) == T(1));
      CHECK(array.bounds.empty());
      const tdsl::ir::Array one = tdsl::ir::eval::scalar_array(info.type, std::int64_t{1});
      CHECK(tdsl::ir::eval::cpp_value<T>(tdsl::ir::eval::element(one, 0)) == T(1));
      CHECK(format_scalar(T(1)) == (info.type == ElementType::kBool ? "true"
                                    : is_complex(info.type)         ? "1.0+0.0i"
                                    : is_float(info.type)           ? "1.0"
                                                                    : "1"));
    });
  }
}

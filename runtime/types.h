#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>
#include <variant>

#include "runtime/complex.h"
#include "runtime/half.h"

/// The language's scalar types as the runtime stores them (language page, section 3).
namespace tdsl::rt {

/// Tensors have at most this many dimensions.
inline constexpr int kMaxRank = 8;

/// Maximum number of threads per rank: above the core count of a node, below the limit of a thread team.
inline constexpr int kMostThreads = 4096;

/// The element types of the language, one row each: X(enumerator, C++ type, name, kind). The kind is NumPy's letter:
/// 'b' bool, 'i' signed, 'u' unsigned integer, 'f' float, 'c' complex, 'V' a type that NumPy lacks. Messages and
/// checkpoints contain row numbers, so a new type must be the last row. The names of the rows from kI8 on are no
/// reserved words.
#define TDSL_ELEMENT_TYPES(X)                \
  X(kBool, bool, "bool", 'b')                \
  X(kI32, std::int32_t, "i32", 'i')          \
  X(kI64, std::int64_t, "i64", 'i')          \
  X(kF32, float, "f32", 'f')                 \
  X(kF64, double, "f64", 'f')                \
  X(kC64, rt::Complex<float>, "c64", 'c')    \
  X(kC128, rt::Complex<double>, "c128", 'c') \
  X(kI8, std::int8_t, "i8", 'i')             \
  X(kU8, std::uint8_t, "u8", 'u')            \
  X(kI16, std::int16_t, "i16", 'i')          \
  X(kU16, std::uint16_t, "u16", 'u')         \
  X(kU32, std::uint32_t, "u32", 'u')         \
  X(kU64, std::uint64_t, "u64", 'u')         \
  X(kF16, rt::F16, "f16", 'f')               \
  X(kBf16, rt::Bf16, "bf16", 'V')

/// Element type of a tensor or scalar. `kBool` is stored as one byte holding 0 or 1 (C++ `bool`).
enum class ElementType : std::uint8_t {
#define TDSL_ENUMERATOR(enumerator, ...) enumerator,
  TDSL_ELEMENT_TYPES(TDSL_ENUMERATOR)
#undef TDSL_ENUMERATOR
};

/// A row of the table of element types.
struct ElementInfo {
  ElementType type;
  std::string_view enumerator;  ///< "kF64"
  std::string_view cpp_type;    ///< "double"
  std::string_view name;        ///< in the language: "f64"
  char kind;                    ///< NumPy's letter
  std::size_t size;             ///< bytes of one stored element
};
inline constexpr ElementInfo kElementTypes[] = {
#define TDSL_ROW(enumerator, T, name, kind) {ElementType::enumerator, #enumerator, #T, name, kind, sizeof(T)},
    TDSL_ELEMENT_TYPES(TDSL_ROW)
#undef TDSL_ROW
};
[[nodiscard]] constexpr const ElementInfo& element_info(ElementType type) {
  return kElementTypes[static_cast<std::size_t>(type)];
}

/// Bytes of the largest element.
inline constexpr std::size_t kLargestElement = [] {
  std::size_t bytes = 0;
  for (const ElementInfo& info : kElementTypes) bytes = info.size > bytes ? info.size : bytes;
  return bytes;
}();

/// Bytes of one stored element.
[[nodiscard]] constexpr std::size_t element_size(ElementType type) { return element_info(type).size; }

/// The type's name in the language: "f64".
[[nodiscard]] constexpr std::string_view element_name(ElementType type) { return element_info(type).name; }

/// The type with that name in the language, or nothing.
[[nodiscard]] constexpr std::optional<ElementType> element_type_named(std::string_view name) {
  for (const ElementInfo& info : kElementTypes) {
    if (info.name == name) return info.type;
  }
  return std::nullopt;
}

/// True for pairs of floats.
[[nodiscard]] constexpr bool is_complex(ElementType type) { return element_info(type).kind == 'c'; }
/// True for floats of two bytes, which are stored, but not computed with: operators read f32.
[[nodiscard]] constexpr bool is_half(ElementType type) {
  return type == ElementType::kF16 || type == ElementType::kBf16;
}
/// True for types that round and have inf and nan: floats and complex numbers.
[[nodiscard]] constexpr bool is_float(ElementType type) {
  return element_info(type).kind == 'f' || is_half(type) || is_complex(type);
}
/// True for the ordered floats that operators compute: f32 and f64.
[[nodiscard]] constexpr bool is_real(ElementType type) { return element_info(type).kind == 'f' && !is_half(type); }
[[nodiscard]] constexpr bool is_unsigned(ElementType type) { return element_info(type).kind == 'u'; }
[[nodiscard]] constexpr bool is_integer(ElementType type) {
  return element_info(type).kind == 'i' || is_unsigned(type);
}
/// True for types whose names are words of the language only where a type stands: `u8`.
[[nodiscard]] constexpr bool is_contextual(ElementType type) { return type >= ElementType::kI8; }

/// The type of the parts of a complex type, else the type itself.
[[nodiscard]] constexpr ElementType part_type(ElementType type) {
  if (!is_complex(type)) return type;
  return type == ElementType::kC64 ? ElementType::kF32 : ElementType::kF64;
}
/// The complex type with parts of this float type.
[[nodiscard]] constexpr ElementType complex_type(ElementType part) {
  return part == ElementType::kF32 ? ElementType::kC64 : ElementType::kC128;
}
/// True for floats and complex numbers of single precision.
[[nodiscard]] constexpr bool is_narrow(ElementType type) { return part_type(type) == ElementType::kF32; }

namespace detail {
template <class T>
struct TypeOf {};
#define TDSL_TYPE_OF(enumerator, T, ...)                          \
  template <>                                                     \
  struct TypeOf<T> {                                              \
    static constexpr ElementType value = ElementType::enumerator; \
  };
TDSL_ELEMENT_TYPES(TDSL_TYPE_OF)
#undef TDSL_TYPE_OF

template <class, class... T>
struct Skip {
  using Variant = std::variant<T...>;
};
}  // namespace detail

/// The C++ types a tensor may hold.
template <class T>
concept Element = requires {
  detail::TypeOf<T>::value;
};

/// `element_type_of<double>` is `ElementType::kF64`, and so on.
template <Element T>
inline constexpr ElementType element_type_of = detail::TypeOf<T>::value;

/// A value of any element type.
#define TDSL_ALTERNATIVE(enumerator, T, ...) , T
using ScalarValue = detail::Skip<void TDSL_ELEMENT_TYPES(TDSL_ALTERNATIVE)>::Variant;
#undef TDSL_ALTERNATIVE

/// Calls `f(std::type_identity<T>{})` with the C++ type of `type` and returns its result:
/// `visit_element_type(type, [&](auto tag) { using T = typename decltype(tag)::type; … });`
template <class F>
constexpr decltype(auto) visit_element_type(ElementType type, F&& f) {
  switch (type) {
#define TDSL_CASE(enumerator, T, ...) \
  case ElementType::enumerator: return f(std::type_identity<T>{});
    TDSL_ELEMENT_TYPES(TDSL_CASE)
#undef TDSL_CASE
  }
  __builtin_unreachable();
}

}  // namespace tdsl::rt

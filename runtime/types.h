#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

/// The language's scalar types as the runtime stores them (language page, section 3). Free of every dependency.
namespace tdsl::rt {

/// Tensors have at most this many dimensions.
inline constexpr int kMaxRank = 8;

/// Threads of a rank, at most: more than a node has cores, fewer than a thread team can be made of.
inline constexpr int kMostThreads = 4096;

/// Element type of a tensor or scalar. `kBool` is stored as one byte holding 0 or 1 (C++ `bool`). The values are
/// stable: they are written into messages and checkpoints.
enum class ElementType : std::uint8_t { kBool = 0, kI32 = 1, kI64 = 2, kF32 = 3, kF64 = 4 };

/// The C++ types a tensor may hold.
template <class T>
concept Element = std::same_as<T, bool> || std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t> ||
    std::same_as<T, float> || std::same_as<T, double>;

/// Bytes of one stored element.
[[nodiscard]] constexpr std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kBool: return 1;
    case ElementType::kI32:
    case ElementType::kF32: return 4;
    case ElementType::kI64:
    case ElementType::kF64: return 8;
  }
  return 0;
}

/// The type's name in the language: "bool", "i32", "i64", "f32", "f64".
[[nodiscard]] constexpr std::string_view element_name(ElementType type) {
  switch (type) {
    case ElementType::kBool: return "bool";
    case ElementType::kI32: return "i32";
    case ElementType::kI64: return "i64";
    case ElementType::kF32: return "f32";
    case ElementType::kF64: return "f64";
  }
  return "?";
}

/// The type with that name in the language, or nothing.
[[nodiscard]] constexpr std::optional<ElementType> element_type_named(std::string_view name) {
  for (const ElementType type :
       {ElementType::kBool, ElementType::kI32, ElementType::kI64, ElementType::kF32, ElementType::kF64}) {
    if (element_name(type) == name) return type;
  }
  return std::nullopt;
}

namespace detail {
template <Element T>
consteval ElementType element_type_of_impl() {
  if constexpr (std::same_as<T, bool>) return ElementType::kBool;
  if constexpr (std::same_as<T, std::int32_t>) return ElementType::kI32;
  if constexpr (std::same_as<T, std::int64_t>) return ElementType::kI64;
  if constexpr (std::same_as<T, float>) return ElementType::kF32;
  if constexpr (std::same_as<T, double>) return ElementType::kF64;
}
}  // namespace detail

/// `element_type_of<double>` is `ElementType::kF64`, and so on.
template <Element T>
inline constexpr ElementType element_type_of = detail::element_type_of_impl<T>();

[[nodiscard]] constexpr bool is_floating(ElementType type) {
  return type == ElementType::kF32 || type == ElementType::kF64;
}
[[nodiscard]] constexpr bool is_integer(ElementType type) {
  return type == ElementType::kI32 || type == ElementType::kI64;
}

/// Calls `f(std::type_identity<T>{})` with the C++ type of `type` and returns its result:
/// `visit_element_type(type, [&](auto tag) { using T = typename decltype(tag)::type; … });`
template <class F>
constexpr decltype(auto) visit_element_type(ElementType type, F&& f) {
  switch (type) {
    case ElementType::kBool: return f(std::type_identity<bool>{});
    case ElementType::kI32: return f(std::type_identity<std::int32_t>{});
    case ElementType::kI64: return f(std::type_identity<std::int64_t>{});
    case ElementType::kF32: return f(std::type_identity<float>{});
    case ElementType::kF64: break;
  }
  return f(std::type_identity<double>{});
}

}  // namespace tdsl::rt

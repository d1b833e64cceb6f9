#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "runtime/check.h"
#include "runtime/io/npy/npy.h"

/// Element types in `.npy` data.
namespace tdsl::rt {

template <class T>
[[nodiscard]] T load_npy(const std::byte* from, bool swapped) {
  std::array<std::byte, sizeof(T)> bytes;
  std::memcpy(bytes.data(), from, sizeof(T));
  // The parts of a complex number are swapped one by one.
  const auto size = static_cast<std::ptrdiff_t>(sizeof(PartOf<T>));
  for (auto part = bytes.begin(); swapped && part != bytes.end(); part += size) std::reverse(part, part + size);
  if constexpr (std::is_same_v<T, bool>) {
    return bytes[0] != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
}

/// The element types of `.npy` data: X(kind, C++ type, element type).
#define TDSL_NPY_TYPES(X)        \
  X('b', bool, kBool)            \
  X('i', std::int8_t, kI8)       \
  X('i', std::int16_t, kI16)     \
  X('i', std::int32_t, kI32)     \
  X('i', std::int64_t, kI64)     \
  X('u', std::uint8_t, kU8)      \
  X('u', std::uint16_t, kU16)    \
  X('u', std::uint32_t, kU32)    \
  X('u', std::uint64_t, kU64)    \
  X('f', F16, kF16)              \
  X('f', float, kF32)            \
  X('f', double, kF64)           \
  X('c', Complex<float>, kC64)   \
  X('c', Complex<double>, kC128) \
  X('V', Bf16, kBf16)

struct NpyType {
  char kind;
  int bytes;
  ElementType type;
};
inline constexpr NpyType kNpyTypes[] = {
#define TDSL_NPY_ROW(kind, T, type) {kind, sizeof(T), ElementType::type},
    TDSL_NPY_TYPES(TDSL_NPY_ROW)
#undef TDSL_NPY_ROW
};

/// Calls `f(std::type_identity<From>{})` with the C++ type of the stored elements.
template <class F>
void visit_npy_type(const NpyHeader& header, F&& f) {
#define TDSL_NPY_CASE(k, T, type) \
  if (header.kind == k && static_cast<std::size_t>(header.bytes) == sizeof(T)) return f(std::type_identity<T>{});
  TDSL_NPY_TYPES(TDSL_NPY_CASE)
#undef TDSL_NPY_CASE
  TDSL_CHECK(false, "an element type the header parser let through");
}

/// A stored value in the type read, to which it widens.
template <class To, class From>
[[nodiscard]] To widened(From value) {
  if constexpr (kIsComplex<From> && !kIsComplex<To>) {
    TDSL_CHECK(false, "no complex number widens to a real one");
    return To{};
  } else if constexpr (kIsHalf<From> && !std::is_same_v<From, To>) {
    return static_cast<To>(static_cast<float>(value));
  } else {
    return static_cast<To>(value);
  }
}

}  // namespace tdsl::rt

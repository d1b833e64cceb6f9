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
  if (swapped) { std::reverse(bytes.begin(), bytes.end()); }
  if constexpr (std::is_same_v<T, bool>) {
    return bytes[0] != std::byte{0};
  } else {
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
}

/// Calls `f(std::type_identity<From>{})` with the C++ type of the stored elements.
template <class F>
void visit_npy_type(const NpyHeader& header, F&& f) {
  const int key = header.kind == 'b' ? 0 : 16 * (header.kind == 'i' ? 1 : header.kind == 'u' ? 2 : 3) + header.bytes;
  switch (key) {
    case 0: return f(std::type_identity<bool>{});
    case 16 + 1: return f(std::type_identity<std::int8_t>{});
    case 16 + 2: return f(std::type_identity<std::int16_t>{});
    case 16 + 4: return f(std::type_identity<std::int32_t>{});
    case 16 + 8: return f(std::type_identity<std::int64_t>{});
    case 32 + 1: return f(std::type_identity<std::uint8_t>{});
    case 32 + 2: return f(std::type_identity<std::uint16_t>{});
    case 32 + 4: return f(std::type_identity<std::uint32_t>{});
    case 32 + 8: return f(std::type_identity<std::uint64_t>{});
    case 48 + 4: return f(std::type_identity<float>{});
    case 48 + 8: return f(std::type_identity<double>{});
    default: TDSL_CHECK(false, "an element type the header parser let through");
  }
}

}  // namespace tdsl::rt

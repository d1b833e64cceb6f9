#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "runtime/exact.h"

namespace tdsl::rt {

/// The most bytes of one tensor, and so the most elements along one dimension. Bytes of a thousand such tensors still
/// fit 64 bits.
inline constexpr std::int64_t kMostTensorBytes = std::int64_t{1} << 53;

/// Whether sizes that must agree do: a range that ends below 0 is empty, and so is a dimension of that size.
[[nodiscard]] constexpr bool same_size(Exact left, Exact right) { return left == right || (left <= 0 && right <= 0); }

/// Whether 64 bits hold the distance from `lo` to `hi`, in either direction.
[[nodiscard]] constexpr bool is_countable(std::int64_t lo, std::int64_t hi) {
  std::int64_t span = 0;
  return !__builtin_sub_overflow(hi, lo, &span);
}
/// Message for a range that is not countable.
[[nodiscard]] inline std::string uncountable_text(std::string_view index) {
  return "the range of `" + std::string(index) + "` spans more than 2^63 - 1 integers";
}

/// Whether a tensor may have these extents; an extent of 0 excuses no other.
[[nodiscard]] inline bool is_legal_size(std::span<const std::int64_t> shape, std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, extent == 0 ? 1 : extent, &bytes) || bytes > kMostTensorBytes)
      return false;
  }
  return true;
}

/// The same of a tensor in blocks of its stored elements: as many as 64 bits count.
[[nodiscard]] inline bool is_legal_stored_size(std::span<const std::int64_t> shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || extent > kMostTensorBytes ||
        __builtin_mul_overflow(elements, extent == 0 ? 1 : extent, &elements))
      return false;
  }
  return true;
}

/// Message for an extent found by data that differs from that of `--set`.
[[nodiscard]] inline std::string found_text(std::string_view name, std::int64_t count, std::int64_t given) {
  return "the extent " + std::string(name) + " is found by data: it is " + std::to_string(count) + ", but --set " +
         std::string(name) + "=" + std::to_string(given) + " asserts another";
}

/// Message for a tensor that is too large: `A is f64[3037000500, 3037000500], which is too large: …`. An empty `name`
/// denotes an unnamed result.
[[nodiscard]] inline std::string too_large_text(std::string_view name, std::string_view element,
                                                std::span<const std::int64_t> shape, bool stored = false) {
  std::string text = name.empty() ? "the result" : std::string(name);
  text += " is " + std::string(element);
  for (std::size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "[" : ", ") + std::to_string(shape[d]);
  return text + "], which is too large: " +
         (stored ? "a compressed tensor has fewer than 2^63 elements, stored or not"
                 : "a tensor has at most 2^53 bytes");
}

}  // namespace tdsl::rt

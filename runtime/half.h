#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

/// Floats of two bytes as tensors store them. Depends on no other header of the runtime.
namespace tdsl::rt {

namespace half {

/// A float that rounds to fewer digits as the double does: of the two neighbors of a double that is not a float the
/// one whose last bit is 1.
constexpr float rounded_to_odd(double x) {
  const float near = static_cast<float>(x);
  const double back = static_cast<double>(near);
  if (back == x || x != x) return near;
  const bool beyond = (back < 0 ? -back : back) > (x < 0 ? -x : x);
  return std::bit_cast<float>((std::bit_cast<std::uint32_t>(near) - (beyond ? 1U : 0U)) | 1U);
}

constexpr std::uint32_t kInfinity = 0x7f800000;  ///< the bits of a float

/// IEEE 754's binary16: 5 bits of exponent, 11 significant bits. Without branches, so that loops vectorize.
struct Ieee {
  static constexpr std::uint16_t bits_of(float x) {
    constexpr std::uint32_t kBeyond = 0x47800000;  // 2^16
    constexpr std::uint32_t kNormal = 0x38800000;  // 2^-14
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t size = bits & 0x7fffffffU;
    // The digits of 0.5 end where those of a subnormal number do.
    const std::uint32_t subnormal =
        std::bit_cast<std::uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    const std::uint32_t normal = ((size + 0xfffU + ((size >> 13U) & 1U)) >> 13U) - (112U << 10U);
    const std::uint32_t finite = size < kNormal ? subnormal : normal;
    const std::uint32_t number = size >= kBeyond ? 0x7c00U : finite;
    const std::uint32_t all = size > kInfinity ? 0x7e00U : number;
    return static_cast<std::uint16_t>(all | ((bits >> 16U) & 0x8000U));
  }
  static constexpr float value_of(std::uint16_t bits) {
    const std::uint32_t size = bits & 0x7fffU;
    // The product moves the exponents of subnormal numbers, too.
    const float finite = std::bit_cast<float>(size << 13U) * 0x1p112F;
    const std::uint32_t all = size >= 0x7c00U ? (size << 13U) | kInfinity : std::bit_cast<std::uint32_t>(finite);
    return std::bit_cast<float>(all | (std::uint32_t{bits & 0x8000U} << 16U));
  }
};

/// The upper half of a float: its exponents, 8 significant bits.
struct Brain {
  static constexpr std::uint16_t bits_of(float x) {
    const auto bits = std::bit_cast<std::uint32_t>(x);
    const std::uint32_t number = (bits + 0x7fffU + ((bits >> 16U) & 1U)) >> 16U;
    const bool is_nan = (bits & 0x7fffffffU) > kInfinity;
    return static_cast<std::uint16_t>(is_nan ? 0x7fc0U | ((bits >> 16U) & 0x8000U) : number);
  }
  static constexpr float value_of(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }
};

}  // namespace half

/// A float that is stored in two bytes and computed with as a `float`, to which it converts. Made of a number it is
/// the nearest one, of two the even one; numbers beyond the largest become infinite.
template <class Format>
struct Half {
  std::uint16_t bits;

  Half() = default;  ///< trivial: blocks are raw memory
  template <class R>
  requires std::is_arithmetic_v<R>
  constexpr Half(R number) : bits(Format::bits_of(nearby(number))) {}  // NOLINT(google-explicit-constructor): as floats
  constexpr operator float() const { return Format::value_of(bits); }  // NOLINT(google-explicit-constructor)

  constexpr Half& operator+=(float x) { return *this = Half(static_cast<float>(*this) + x); }

 private:
  template <class R>
  static constexpr float nearby(R number) {
    if constexpr (std::is_same_v<R, float>) {
      return number;
    } else {
      return half::rounded_to_odd(static_cast<double>(number));
    }
  }
};

using F16 = Half<half::Ieee>;
using Bf16 = Half<half::Brain>;

template <class T>
inline constexpr bool kIsHalf = false;
template <class Format>
inline constexpr bool kIsHalf<Half<Format>> = true;

}  // namespace tdsl::rt

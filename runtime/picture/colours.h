#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tdsl::rt {

/// Red, green, blue.
using Colour = std::array<std::uint8_t, 3>;

inline constexpr Colour kBadColour = {255, 0, 255};  ///< nan and infinities
inline constexpr Colour kPaperColour = {255, 255, 255};
inline constexpr Colour kBandColour = {166, 206, 227};
inline constexpr Colour kLineColour = {31, 90, 160};
/// Number of colours before they repeat.
inline constexpr std::size_t kCategories = 20;

/// `level` is in [0, 1]. From dark violet to yellow: magnitudes.
[[nodiscard]] Colour viridis(double level);
/// From blue over white, at 1/2, to red: numbers of both signs.
[[nodiscard]] Colour diverging(double level);
/// For the k-th value of a category, k >= 0.
[[nodiscard]] Colour category(std::size_t k);

}  // namespace tdsl::rt

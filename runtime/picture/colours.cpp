#include "runtime/picture/colours.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace tdsl::rt {

namespace {

constexpr Colour rgb(std::uint32_t code) {
  return {static_cast<std::uint8_t>(code >> 16), static_cast<std::uint8_t>(code >> 8), static_cast<std::uint8_t>(code)};
}

/// Between equally spaced stops.
Colour between(std::span<const std::uint32_t> stops, double level) {
  const double at = std::clamp(level, 0.0, 1.0) * static_cast<double>(stops.size() - 1);
  const auto first = std::min(static_cast<std::size_t>(at), stops.size() - 2);
  const auto part = static_cast<int>(std::lround((at - static_cast<double>(first)) * 256));
  const Colour from = rgb(stops[first]), to = rgb(stops[first + 1]);
  Colour mixed{};
  for (std::size_t c = 0; c < mixed.size(); ++c)
    mixed[c] = static_cast<std::uint8_t>((from[c] * (256 - part) + to[c] * part + 128) / 256);
  return mixed;
}

}  // namespace

Colour viridis(double level) {
  static constexpr std::uint32_t kStops[] = {0x440154, 0x482475, 0x414487, 0x355f8d, 0x2a788e, 0x21918c,
                                             0x22a884, 0x44bf70, 0x7ad151, 0xbddf26, 0xfde725};
  return between(kStops, level);
}

Colour diverging(double level) {
  static constexpr std::uint32_t kStops[] = {0x053061, 0x2166ac, 0x4393c3, 0x92c5de, 0xd1e5f0, 0xf7f7f7,
                                             0xfddbc7, 0xf4a582, 0xd6604d, 0xb2182b, 0x67001f};
  return between(kStops, level);
}

Colour category(std::size_t k) {
  static constexpr std::uint32_t kColours[kCategories] = {
      0xe6e6e6, 0x1f77b4, 0xff7f0e, 0x2ca02c, 0xd62728, 0x9467bd, 0x8c564b, 0xe377c2, 0xbcbd22, 0x17becf,
      0x7f7f7f, 0xaec7e8, 0xffbb78, 0x98df8a, 0xff9896, 0xc5b0d5, 0xc49c94, 0xf7b6d2, 0xdbdb8d, 0x9edae5};
  return rgb(kColours[k % kCategories]);
}

}  // namespace tdsl::rt

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/picture/colours.h"

namespace tdsl::rt {

/// Row by row, from the top left.
struct Image {
  std::int64_t width = 0, height = 0;
  std::vector<Colour> pixels;

  Image() = default;
  Image(std::int64_t w, std::int64_t h, Colour colour)
      : width(w), height(h), pixels(static_cast<std::size_t>(w * h), colour) {}
  [[nodiscard]] Colour& at(std::int64_t row, std::int64_t column) {
    return pixels[static_cast<std::size_t>(row * width + column)];
  }
  [[nodiscard]] const Colour& at(std::int64_t row, std::int64_t column) const {
    return pixels[static_cast<std::size_t>(row * width + column)];
  }
};

/// Every pixel as a block of `down` by `across`.
[[nodiscard]] Image enlarged(const Image& image, std::int64_t down, std::int64_t across);
/// The bytes of a PNG file of at least one pixel: 8 bits per colour, compressed by zlib. `description` is stored as
/// text in it; characters outside of ASCII become `?`.
[[nodiscard]] std::string png_of(const Image& image, std::string_view description);
/// Text for a terminal, two rows of pixels per line: half blocks in 24-bit colours.
[[nodiscard]] std::string half_blocks_of(const Image& image);

}  // namespace tdsl::rt

#include "runtime/picture/picture.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "runtime/base/number_format.h"
#include "runtime/picture/scale.h"

namespace tdsl::rt {

namespace {

/// Images below this edge are enlarged by whole factors.
constexpr std::int64_t kSmallEdge = 256;
/// Rows of a PNG file's 1-D picture, and of the strip of a stored vector.
constexpr std::int64_t kBandHeight = 256, kStripHeight = 32;

/// "4 x 3", elements per pixel, rounded up.
std::string elements_per_pixel(const Pixels& pixels) {
  const auto along = [](std::int64_t elements, std::int64_t of_pixels) {
    return std::to_string((elements + of_pixels - 1) / of_pixels);
  };
  const std::string across = along(pixels.columns(), pixels.width());
  return pixels.rows() == 1 ? across : along(pixels.rows(), pixels.height()) + " x " + across;
}

std::string range_text(const Pixels& pixels) {
  const ShownElements& shown = pixels.shown();
  if (shown.least > shown.most) return pixels.source().stored && shown.nonzero == 0 ? "" : "no finite element";
  const bool whole = is_integer(pixels.source().type);
  const auto text = [&](double x) {
    return whole && std::fabs(x) < 0x1p62 ? std::to_string(static_cast<std::int64_t>(x)) : format_scalar(x);
  };
  return text(shown.least) + " to " + text(shown.most);
}

std::string pixel_text(const Pixels& pixels, const PictureLook& look) {
  const bool single = pixels.width() == pixels.columns() && pixels.height() == pixels.rows();
  const std::string elements = elements_per_pixel(pixels);
  if (pixels.source().stored) return "colour: number of stored elements in a pixel of " + elements + ", logarithmic";
  std::string text;
  if (pixels.is_band() && !single) text = "a column shows range and mean of up to " + elements + " elements";
  if (!pixels.is_band() && !single) text = "a pixel shows the largest magnitude of up to " + elements + " elements";
  if (look.logarithmic) text += (text.empty() ? "" : "; ") + std::string("logarithmic");
  return text;
}

}  // namespace

std::string caption_of(const Pixels& pixels, const PictureLook& look) {
  const PictureSource& source = pixels.source();
  std::string text = source.name + source.slice.text() + ": " + format_type(source.type, source.shape);
  const auto add = [&text](const std::string& part) {
    if (!part.empty()) text += "; " + part;
  };
  const ShownElements& shown = pixels.shown();
  if (pixels.width() == 0) {
    add("empty");
  } else {
    const std::string all = std::to_string(pixels.rows() * pixels.columns());
    if (source.type == ElementType::kBool) add(std::to_string(shown.nonzero) + " of " + all + " true");
    if (source.type != ElementType::kBool && source.stored)
      add(std::to_string(shown.nonzero) + " of " + all + " elements stored");
    if (source.type != ElementType::kBool) add(range_text(pixels));
    if (shown.nan > 0) add(std::to_string(shown.nan) + " nan");
    if (shown.infinite > 0) add(std::to_string(shown.infinite) + " infinite");
    add(pixel_text(pixels, look));
  }
  add(look.note);
  return text;
}

namespace {

/// The columns of a 1-D picture as bands, with their means as a line.
Image band_image(const Pixels& pixels, const PictureScale& scale, std::int64_t height) {
  Image image(pixels.width(), height, kPaperColour);
  const auto row_of = [&](double value) {
    const double level = std::clamp(value <= 0 && scale.least() > 0 ? 0.0 : scale.level(value), 0.0, 1.0);
    return height - 1 - static_cast<std::int64_t>(std::floor(level * static_cast<double>(height - 1) + 0.5));
  };
  for (std::int64_t x = 0; x < image.width; ++x) {
    const Column& column = pixels.bands()[static_cast<std::size_t>(x)];
    const bool finite = column.least <= column.most;
    if (finite) {
      for (std::int64_t y = row_of(column.most); y <= row_of(column.least); ++y) image.at(y, x) = kBandColour;
      image.at(row_of(column.sum.mean()), x) = kLineColour;
    }
    const std::int64_t marked = column.bad == 0 ? 0 : finite ? std::max<std::int64_t>(1, height / 32) : height;
    for (std::int64_t y = 0; y < marked; ++y) image.at(y, x) = kBadColour;
  }
  return image;
}

}  // namespace

Image image_of(const Pixels& pixels, const PictureLook& look, std::int64_t band_height) {
  if (pixels.width() == 0) return {1, 1, kPaperColour};
  const PictureScale scale(pixels, look);
  if (pixels.is_band()) return band_image(pixels, scale, band_height);
  Image image(pixels.width(), pixels.height(), kPaperColour);
  for (std::int64_t row = 0; row < image.height; ++row) {
    for (std::int64_t column = 0; column < image.width; ++column)
      image.at(row, column) = scale.colour(scale.value_at(pixels, row, column));
  }
  return image;
}

std::string png_of(const Pixels& pixels, const PictureLook& look) {
  const Image image = image_of(pixels, look, kBandHeight);
  const std::string caption = caption_of(pixels, look);
  if (pixels.is_band()) return png_of(enlarged(image, 1, std::max<std::int64_t>(1, kSmallEdge / image.width)), caption);
  const std::int64_t factor = std::max<std::int64_t>(1, kSmallEdge / std::max(image.width, image.height));
  return png_of(enlarged(image, image.height == 1 ? kStripHeight : factor, factor), caption);
}

std::string characters_of(const Pixels& pixels, const PictureLook& look, std::int64_t band_height) {
  static constexpr std::string_view kInk = " .:-=+*#%@";
  const Image image = image_of(pixels, look, band_height);
  // As dark as a colour is far from white: bright colours are light on any terminal.
  const auto ink_of = [](const Colour& colour) {
    if (colour == kBadColour) return '!';
    const int light = (3 * colour[0] + 6 * colour[1] + colour[2]) / 10;
    return kInk[static_cast<std::size_t>((255 - light) * static_cast<int>(kInk.size() - 1) / 255)];
  };
  std::string text;
  for (std::int64_t row = 0; row < image.height; row += 2) {
    for (std::int64_t column = 0; column < image.width; ++column) {
      const char upper = ink_of(image.at(row, column));
      const char lower = row + 1 < image.height ? ink_of(image.at(row + 1, column)) : upper;
      text += upper == '!' || kInk.find(upper) > kInk.find(lower) ? upper : lower;
    }
    text += '\n';
  }
  return text;
}

}  // namespace tdsl::rt

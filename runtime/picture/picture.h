#pragma once

#include <string>

#include "runtime/picture/image.h"
#include "runtime/picture/pixels.h"

namespace tdsl::rt {

/// How a picture is drawn, and what its text says in addition.
struct PictureLook {
  bool logarithmic = false;  ///< log10 of magnitudes; a 1-D picture has a logarithmic axis
  std::string note{};        ///< last part of the caption
};

/// A picture as a part of --stats.
struct ShownPicture {
  std::string name;
  std::string caption;
  std::string svg;
};

/// The text summary: name, type, range, numbers of nan and infinite elements, meaning of a pixel. Parts are separated
/// by
/// `; `.
[[nodiscard]] std::string caption_of(const Pixels& pixels, const PictureLook& look = {});
/// A pixel per pixel; a 1-D picture has `band_height` rows. An empty array is one white pixel.
[[nodiscard]] Image image_of(const Pixels& pixels, const PictureLook& look, std::int64_t band_height);
/// A PNG file: the image alone, small ones enlarged; its text is the caption.
[[nodiscard]] std::string png_of(const Pixels& pixels, const PictureLook& look = {});
/// An SVG file with axes, colours and caption as text.
[[nodiscard]] std::string svg_of(const Pixels& pixels, const PictureLook& look = {});
/// Characters from blank to dense, two rows of pixels per line, for terminals without UTF-8.
[[nodiscard]] std::string characters_of(const Pixels& pixels, const PictureLook& look, std::int64_t band_height);

}  // namespace tdsl::rt

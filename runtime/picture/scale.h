#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/picture/colours.h"
#include "runtime/picture/picture.h"

namespace tdsl::rt {

/// From values of pixels to levels in [0, 1] and colours; the same for all pixels of a picture.
class PictureScale {
 public:
  enum class Kind : std::uint8_t {
    kMagnitude,  ///< values of one sign
    kSigned,     ///< 0 is in the middle
    kCategory,   ///< bool, and integers with few values
    kCount       ///< elements per pixel, logarithmic
  };

  PictureScale(const Pixels& pixels, const PictureLook& look);

  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] double least() const { return least_; }
  [[nodiscard]] double most() const { return most_; }
  /// Of a finite value.
  [[nodiscard]] double level(double value) const;
  /// Nan and infinities are magenta.
  [[nodiscard]] Colour colour(double value) const;
  /// The meaning of a pixel of a 2-D picture.
  [[nodiscard]] double value_at(const Pixels& pixels, std::int64_t row, std::int64_t column) const;
  /// The value for a level; of a category the k-th one is least() + k.
  [[nodiscard]] double value_of(double level) const;
  /// For an axis: at most ten characters, four digits of a float.
  [[nodiscard]] std::string text(double value) const;

 private:
  void use_logarithm(const Pixels& pixels);

  Kind kind_ = Kind::kMagnitude;
  bool logarithmic_ = false;
  bool whole_ = false;  ///< values are integers
  bool logical_ = false;
  double least_ = 0, most_ = 0;
};

}  // namespace tdsl::rt

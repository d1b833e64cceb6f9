#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/types.h"

namespace tdsl::rt {

/// The dimensions that a picture shows, and the subscripts of the others.
struct PictureSlice {
  /// Per dimension: nothing if it is shown (`:`), otherwise the subscript; a negative one counts from the end.
  std::vector<std::optional<std::int64_t>> at;

  /// The dimensions that are shown, in order.
  [[nodiscard]] std::vector<std::size_t> shown() const;
  /// `[:, :, 3]`; empty if all dimensions are shown.
  [[nodiscard]] std::string text() const;
};

/// `NAME`, `NAME[:, :, 3]`, either with `=FILE`.
struct PictureRequest {
  std::string name;
  std::optional<PictureSlice> slice;
  std::optional<std::string> file;  ///< .png or .svg; without one the picture is a part of --stats
};

/// Parses the value of --picture. Throws RunError (usage); `what` begins the message.
[[nodiscard]] PictureRequest parse_picture(std::string_view text, std::string_view what);
/// Parses `[:, :, 3]` or `:, :, 3`. Throws RunError (usage).
[[nodiscard]] PictureSlice parse_slice(std::string_view text, std::string_view what);
/// The slice, or one that shows all dimensions. Throws RunError (usage) unless it has `rank` dimensions and shows one
/// or two of them. `name`: the array, for messages.
[[nodiscard]] PictureSlice slice_of(const std::optional<PictureSlice>& given, std::size_t rank, std::string_view name,
                                    std::string_view what);
/// The slice without negative subscripts. Throws RunError (usage) if a subscript is outside of the shape.
[[nodiscard]] PictureSlice within(PictureSlice slice, std::span<const std::int64_t> shape, std::string_view what);
/// True for `.svg`, false for `.png`. Throws RunError (usage) for other names.
[[nodiscard]] bool is_svg(std::string_view file, std::string_view what);

}  // namespace tdsl::rt

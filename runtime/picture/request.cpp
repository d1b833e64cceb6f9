#include "runtime/picture/request.h"

#include <charconv>

#include "runtime/check.h"

namespace tdsl::rt {

namespace {

[[noreturn]] void refuse_picture(std::string_view what, const std::string& message) {
  throw RunError(std::string(what) + ": " + message + " [bad-option]", ExitCode::kUsage);
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

/// `[:, :, 0]`: an example of a slice with two shown dimensions.
std::string example_slice(std::size_t rank) {
  std::string text = "[:, :";
  for (std::size_t d = 2; d < rank; ++d) text += ", 0";
  return text + "]";
}

}  // namespace

std::vector<std::size_t> PictureSlice::shown() const {
  std::vector<std::size_t> dimensions;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (!at[d]) dimensions.push_back(d);
  }
  return dimensions;
}

std::string PictureSlice::text() const {
  if (shown().size() == at.size()) return "";
  std::string text = "[";
  for (const std::optional<std::int64_t>& x : at) {
    if (text.size() > 1) text += ", ";
    text += x ? std::to_string(*x) : ":";
  }
  return text + "]";
}

PictureSlice parse_slice(std::string_view text, std::string_view what) {
  std::string_view rest = trimmed(text);
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);
  PictureSlice slice;
  while (true) {
    const std::size_t comma = rest.find(',');
    const std::string_view item = trimmed(rest.substr(0, comma));
    std::int64_t subscript = 0;
    const char* const end = item.data() + item.size();
    if (item == ":") {
      slice.at.emplace_back();
    } else if (const auto [last, error] = std::from_chars(item.data(), end, subscript);
               error == std::errc() && last == end && !item.empty()) {
      slice.at.emplace_back(subscript);
    } else {
      refuse_picture(what, "`" + std::string(text) + "` is not a slice such as [:, :, 3]");
    }
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  if (slice.at.size() > static_cast<std::size_t>(kMaxRank))
    refuse_picture(what, "arrays have at most " + std::to_string(kMaxRank) + " dimensions");
  return slice;
}

PictureRequest parse_picture(std::string_view text, std::string_view what) {
  PictureRequest request;
  std::size_t end = text.find_first_of("[=");
  request.name = std::string(trimmed(text.substr(0, end)));
  if (request.name.empty()) refuse_picture(what, "`" + std::string(text) + "` has not the form NAME or NAME=FILE");
  if (end != std::string_view::npos && text[end] == '[') {
    const std::size_t close = text.find(']', end);
    if (close == std::string_view::npos) refuse_picture(what, "`" + std::string(text) + "` lacks a `]`");
    request.slice = parse_slice(text.substr(end, close + 1 - end), what);
    end = close + 1;
    if (end < text.size() && text[end] != '=')
      refuse_picture(what, "`" + std::string(text) + "` has not the form NAME[SLICE]=FILE");
  }
  if (end < text.size()) {
    request.file = std::string(text.substr(end + 1));
    static_cast<void>(is_svg(*request.file, what));
  }
  return request;
}

PictureSlice slice_of(const std::optional<PictureSlice>& given, std::size_t rank, std::string_view name,
                      std::string_view what) {
  const std::string array = "`" + std::string(name) + "`";
  if (rank == 0) refuse_picture(what, array + " is a scalar, which has no picture");
  if (!given) {
    if (rank > 2) {
      refuse_picture(what, array + " has " + std::to_string(rank) + " dimensions; show two of them, for example " +
                               std::string(name) + example_slice(rank));
    }
    PictureSlice all;
    all.at.resize(rank);
    return all;
  }
  if (given->at.size() != rank) {
    refuse_picture(what, array + " has " + std::to_string(rank) + " dimension" + (rank == 1 ? "" : "s") +
                             ", the slice has " + std::to_string(given->at.size()));
  }
  const std::size_t shown = given->shown().size();
  if (shown < 1 || shown > 2)
    refuse_picture(what, "a picture shows one or two dimensions, the slice " + given->text() + " of " + array +
                             " shows " + std::to_string(shown));
  return *given;
}

PictureSlice within(PictureSlice slice, std::span<const std::int64_t> shape, std::string_view what) {
  for (std::size_t d = 0; d < shape.size(); ++d) {
    if (!slice.at[d]) continue;
    const std::int64_t given = *slice.at[d];
    if (given < 0) *slice.at[d] += shape[d];
    if (*slice.at[d] < 0 || *slice.at[d] >= shape[d]) {
      refuse_picture(what, "subscript " + std::to_string(given) + " is outside of dimension " + std::to_string(d) +
                               ", which has " + std::to_string(shape[d]) + " elements");
    }
  }
  return slice;
}

bool is_svg(std::string_view file, std::string_view what) {
  if (file.ends_with(".svg") && file.size() > 4) return true;
  if (!file.ends_with(".png") || file.size() == 4)
    refuse_picture(what, "`" + std::string(file) + "` is not a .png or .svg file");
  return false;
}

}  // namespace tdsl::rt

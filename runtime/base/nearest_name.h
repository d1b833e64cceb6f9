#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tdsl::rt {

/// The candidate closest to a misspelt `name`, case-insensitive, or empty if none is close enough: the edit distance,
/// in which a swap of neighbours counts as one edit, is at most a third of the longer length. Of equally close
/// candidates one with the same letters wins (`tanh` for `tahn`, not `tan`), then the first.
[[nodiscard]] std::string nearest_name(std::string_view name, std::span<const std::string> candidates);

}  // namespace tdsl::rt

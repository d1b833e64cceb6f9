#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tdsl::tools {

/// Strips blanks from both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// Splits at separators; a text without any is one part.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view text, char separator);
/// Parses a non-negative integer; otherwise empty.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text);

/// Quotes a word for POSIX shells if necessary.
[[nodiscard]] std::string shell_quoted(std::string_view word);
[[nodiscard]] std::string shell_quoted(const std::vector<std::string>& words);

/// Parses Slurm's time limits `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`, in seconds; 0 for `infinite` and
/// `UNLIMITED`.
[[nodiscard]] std::optional<std::int64_t> seconds_in(std::string_view text);
/// `HH:MM:SS` or `D-HH:MM:SS`.
[[nodiscard]] std::string slurm_time(std::int64_t seconds);
/// For diagnostics: `40 s`, `12 min`, `3.5 h`, `2.1 days`.
[[nodiscard]] std::string rough_time(double seconds);
/// For diagnostics: `512 MiB`, `21.3 GiB`.
[[nodiscard]] std::string binary_bytes(double bytes);

}  // namespace tdsl::tools

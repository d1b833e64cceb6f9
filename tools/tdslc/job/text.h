#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tdsl::tools {

/// Without blanks at both ends.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// The parts between separators; one part of a text without any.
[[nodiscard]] std::vector<std::string_view> parts_of(std::string_view text, char separator);
/// A whole non-negative number; nothing for anything else.
[[nodiscard]] std::optional<std::int64_t> number_in(std::string_view text);

/// A word as a POSIX shell takes it: plain, or in single quotes.
[[nodiscard]] std::string shell_quoted(std::string_view word);
[[nodiscard]] std::string shell_quoted(const std::vector<std::string>& words);

/// Slurm's forms of a time limit: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`, in seconds; 0: `infinite`,
/// `UNLIMITED`.
[[nodiscard]] std::optional<std::int64_t> seconds_in(std::string_view text);
/// `HH:MM:SS` or `D-HH:MM:SS`.
[[nodiscard]] std::string slurm_time(std::int64_t seconds);
/// For diagnostics: `40 s`, `12 min`, `3.5 h`, `2.1 days`.
[[nodiscard]] std::string rough_time(double seconds);
/// For diagnostics: `512 MiB`, `21.3 GiB`.
[[nodiscard]] std::string binary_bytes(double bytes);

}  // namespace tdsl::tools

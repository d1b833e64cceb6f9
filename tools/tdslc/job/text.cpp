#include "tools/tdslc/job/text.h"

#include <fmt/format.h>

#include <charconv>

namespace tdsl::tools {

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < 0) return std::nullopt;
  return number;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+=.,:/@%^";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string shell_quoted(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + shell_quoted(word);
  return text;
}

std::optional<std::int64_t> seconds_in(std::string_view text) {
  if (text == "infinite" || text == "UNLIMITED") return 0;
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  if (dash != std::string_view::npos) {
    const auto number = number_in(text.substr(0, dash));
    if (!number || *number > 100'000) return std::nullopt;
    days = *number;
    text.remove_prefix(dash + 1);
  }
  std::vector<std::int64_t> numbers;
  for (const std::string_view part : parts_of(text, ':')) {
    const auto number = number_in(part);
    if (!number || *number > 100'000'000) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() > 3) return std::nullopt;
  const bool from_hours = dash != std::string_view::npos || numbers.size() == 3;
  std::int64_t unit = from_hours ? 3600 : 60, seconds = days * 86400;
  for (const std::int64_t number : numbers) {
    seconds += number * unit;
    unit /= 60;
  }
  return seconds;
}

std::string slurm_time(std::int64_t seconds) {
  const std::int64_t days = seconds / 86400, rest = seconds % 86400;
  return (days > 0 ? fmt::format("{}-", days) : std::string()) +
         fmt::format("{:02}:{:02}:{:02}", rest / 3600, rest % 3600 / 60, rest % 60);
}

std::string rough_time(double seconds) {
  if (seconds < 1) return fmt::format("{:.2g} s", seconds);
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  if (seconds < 2 * 86400.0) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} days", seconds / 86400);
}

std::string binary_bytes(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", bytes, unit < 3 ? 0 : 1, kUnits[unit]);
}

}  // namespace tdsl::tools

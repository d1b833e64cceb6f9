#include "runtime/base/nearest_name.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace tdsl::rt {

namespace {

char lower(char c) { return static_cast<char>(std::tolower(static_cast<unsigned char>(c))); }

/// Edit distance with insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) { d[i][0] = i; }
  for (std::size_t j = 0; j <= b.size(); ++j) { d[0][j] = j; }
  for (std::size_t i = 1; i <= a.size(); ++i) {
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = lower(a[i - 1]) == lower(b[j - 1]) ? 0 : 1;
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && lower(a[i - 1]) == lower(b[j - 2]) && lower(a[i - 2]) == lower(b[j - 1])) {
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
      }
    }
  }
  return d[a.size()][b.size()];
}

}  // namespace

std::string nearest_name(std::string_view name, std::span<const std::string> candidates) {
  std::string best;
  std::pair<std::size_t, bool> least;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(name.size(), candidate.size());
    if (candidate == name || longer < 2 || longer > 64) { continue; }
    const bool other_letters = !std::ranges::is_permutation(name, candidate, {}, lower, lower);
    const std::pair distance(edit_distance(name, candidate), other_letters);
    if (distance.first * 3 <= longer && (best.empty() || distance < least)) {
      best = candidate;
      least = distance;
    }
  }
  return best;
}

}  // namespace tdsl::rt

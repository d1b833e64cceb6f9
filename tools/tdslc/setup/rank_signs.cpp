#include "tools/tdslc/setup/rank_signs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <utility>
#include <vector>

namespace tdsl::tools {

namespace {

/// The liveness file of a rank that did not exit normally.
struct Sign {
  int rank = 0;
  int signal = 0;         ///< the signal caught; 0: the process ended before it could write
  std::int64_t time = 0;  ///< when it was caught
};

std::vector<Sign> read_signs(const std::string& folder) {
  constexpr std::string_view kPrefix = "rank-";
  std::vector<Sign> signs;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(kPrefix)) continue;
    Sign sign{std::atoi(name.c_str() + kPrefix.size())};
    std::ifstream(entry.path()) >> sign.signal >> sign.time;
    signs.push_back(sign);
  }
  std::ranges::sort(signs, {}, &Sign::rank);
  return signs;
}

}  // namespace

std::string signal_text(int signal) {
  const char* name = ::sigdescr_np(signal);
  return name == nullptr ? fmt::format("signal {}", signal) : fmt::format("signal {} ({})", signal, name);
}

int signal_of_all(const std::string& folder, std::int64_t ranks) {
  const std::vector<Sign> signs = read_signs(folder);
  if (signs.empty() || static_cast<std::int64_t>(signs.size()) != ranks) return 0;
  const bool alike = std::ranges::all_of(signs, [&](const Sign& sign) { return sign.signal == signs.front().signal; });
  return alike ? signs.front().signal : 0;
}

std::string lost_ranks(const std::string& folder, int exit_code, const std::string& killed) {
  if (exit_code <= 128) return {};
  const int signal = exit_code - 128;
  const std::vector<Sign> signs = read_signs(folder);
  const auto earliest = [](const std::vector<Sign>& of) {
    return fmt::format("rank {} was ended by {}", of.front().rank, signal_text(of.front().signal));
  };

  // The launcher terminates the other ranks when one has ended: first with signals that they catch, then with SIGKILL.
  // So a rank that caught the first signal is more informative than one that vanished.
  std::vector<Sign> caught, silent;
  for (const Sign& sign : signs) (sign.signal == 0 ? silent : caught).push_back(sign);
  std::ranges::sort(caught, {}, [&](const Sign& sign) { return std::pair(sign.signal != signal, sign.time); });
  if (!caught.empty() && (silent.empty() || caught.front().signal == signal)) return earliest(caught);
  if (silent.empty()) return {};
  std::vector<int> ranks;
  for (const Sign& sign : silent) ranks.push_back(sign.rank);
  return fmt::format("rank{} {} {} ended by {}{}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "),
                     ranks.size() == 1 ? "was" : "were", signal_text(signal),
                     signal == SIGKILL ? killed : std::string());
}

}  // namespace tdsl::tools

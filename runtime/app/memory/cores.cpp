#include "runtime/app/memory/cores.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "runtime/shapes.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kMostHosts = 4;
constexpr std::size_t kMostGroups = 8;

/// `0-3,6`
std::string list_text(const std::vector<int>& cores) {
  std::string text;
  for (std::size_t begin = 0; begin < cores.size();) {
    std::size_t end = begin + 1;
    while (end < cores.size() && cores[end] == cores[end - 1] + 1) ++end;
    text += (text.empty() ? "" : ",") + std::to_string(cores[begin]);
    if (end - begin > 1) text += "-" + std::to_string(cores[end - 1]);
    begin = end;
  }
  return text;
}

/// Hosts in order of their first rank, each with its rank numbers.
std::vector<std::pair<std::string, std::vector<std::size_t>>> by_host(const std::vector<RankCores>& ranks) {
  std::vector<std::pair<std::string, std::vector<std::size_t>>> hosts;
  std::map<std::string, std::size_t> number;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto [found, fresh] = number.emplace(ranks[r].host, hosts.size());
    if (fresh) hosts.push_back({ranks[r].host, {}});
    hosts[found->second].second.push_back(r);
  }
  return hosts;
}

std::string host_text(const std::vector<RankCores>& ranks, const std::vector<std::size_t>& here) {
  std::vector<std::pair<std::vector<int>, std::size_t>> groups;  // cores, number of ranks on them
  for (const std::size_t r : here) {
    const auto same = std::ranges::find(groups, ranks[r].allowed, &std::pair<std::vector<int>, std::size_t>::first);
    if (same == groups.end()) {
      groups.emplace_back(ranks[r].allowed, 1);
    } else {
      ++same->second;
    }
  }
  std::string text = "cores ";
  for (std::size_t g = 0; g < std::min(groups.size(), kMostGroups); ++g) {
    text += (g == 0 ? "" : " | ") + list_text(groups[g].first);
    if (groups[g].second > 1) text += " for " + counted(groups[g].second, "rank");
  }
  return text + (groups.size() > kMostGroups ? " | ..." : "");
}

}  // namespace

std::uint64_t processor_of(std::istream& cpuinfo) {
  // FNV-1a over the lines of the first processor.
  std::uint64_t hash = 14695981039346656037u;
  bool named = false;
  for (std::string line; std::getline(cpuinfo, line) && !line.empty();) {
    const std::string_view name = std::string_view(line).substr(0, line.find_first_of("\t:"));
    if (name != "vendor_id" && name != "cpu family" && name != "model" && name != "model name" && name != "flags" &&
        name != "CPU part" && name != "Features")
      continue;
    named = true;
    for (const char c : line) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  }
  return named ? hash : 0;
}

bool equal_processors(const std::vector<RankCores>& ranks) {
  return std::ranges::all_of(ranks, [&](const RankCores& rank) { return rank.processor == ranks.front().processor; });
}

std::string host_name() {
  static const std::string name = [] {
    std::array<char, HOST_NAME_MAX + 1> host{};
    return std::string(::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "");
  }();
  return name;
}

RankCores cores_of_this_process() {
  RankCores cores;
  if (std::ifstream cpuinfo("/proc/cpuinfo"); cpuinfo) cores.processor = processor_of(cpuinfo);
  cores.host = host_name();
  cores.online = std::max(1, static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)));
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) {
    for (int c = 0; c < CPU_SETSIZE; ++c) {
      if (CPU_ISSET(c, &set)) cores.allowed.push_back(c);
    }
  } else {
    for (int c = 0; c < cores.online; ++c) cores.allowed.push_back(c);
  }
  return cores;
}

std::string encode(const RankCores& cores) {
  std::string text = std::to_string(cores.processor) + " " + std::to_string(cores.online);
  for (const int c : cores.allowed) text += " " + std::to_string(c);
  return text + "\n" + cores.host;
}

RankCores decode_cores(const std::string& text) {
  RankCores cores;
  const std::size_t line = text.find('\n');
  std::istringstream numbers(text.substr(0, line));
  numbers >> cores.processor >> cores.online;
  for (int c = 0; numbers >> c;) cores.allowed.push_back(c);
  cores.host = text.substr(line + 1);
  return cores;
}

std::string cores_line(const std::vector<RankCores>& ranks, int threads) {
  std::string text = counted(ranks.size(), "rank") + " x " + counted(static_cast<std::size_t>(threads), "thread") + ":";
  const auto hosts = by_host(ranks);
  for (std::size_t h = 0; h < std::min(hosts.size(), kMostHosts); ++h) {
    text += (h == 0 ? " " : "; ") + hosts[h].first + ": " + host_text(ranks, hosts[h].second);
  }
  return text + (hosts.size() > kMostHosts ? "; and " + counted(hosts.size() - kMostHosts, "more node") : "");
}

namespace {

/// The launch command that gives every rank its own cores, for the launcher in use.
std::string placed_command(const std::vector<RankCores>& ranks, int wanted, Launcher launcher,
                           const std::string& command) {
  const std::string size = std::to_string(ranks.size());
  const std::string cores = std::to_string(wanted);
  if (launcher == Launcher::kPmix)
    return "srun --mpi=pmix -n " + size + " --cpus-per-task=" + cores + " --cpu-bind=cores " + command;
  const auto hosts = by_host(ranks);
  const std::size_t each = hosts.front().second.size();
  const bool even = std::ranges::all_of(hosts, [&](const auto& host) { return host.second.size() == each; });
  return "mpirun -n " + size + " --map-by " + (even ? "ppr:" + std::to_string(each) + ":node" : "slot") +
         ":PE=" + cores + " --bind-to core " + command;
}

}  // namespace

std::string placement_warning(const std::vector<RankCores>& ranks, int wanted, Launcher launcher,
                              const std::string& command) {
  const std::string remedy = ": start with " + placed_command(ranks, wanted, launcher, command);
  const auto threads = static_cast<std::size_t>(wanted);
  for (const auto& [host, here] : by_host(ranks)) {
    const auto online = static_cast<std::size_t>(ranks[here.front()].online);
    std::set<int> usable;
    for (const std::size_t r : here) usable.insert(ranks[r].allowed.begin(), ranks[r].allowed.end());
    const std::size_t all = here.size() * threads;
    if (all > online) continue;  // oversubscribed on request: no launcher option avoids shared cores
    for (const std::size_t r : here) {
      const std::vector<int>& allowed = ranks[r].allowed;
      if (allowed.size() >= threads) continue;
      return "rank " + std::to_string(r) + " wants " + counted(threads, "thread") +
             ", but the launcher has pinned it to core" + (allowed.size() == 1 ? " " : "s ") + list_text(allowed) +
             " of " + host + remedy;
    }
    if (usable.size() < all) {
      return counted(here.size(), "rank") + " of " + host + " are pinned to the same cores " +
             list_text({usable.begin(), usable.end()}) + " while others are free" + remedy;
    }
  }
  return {};
}

}  // namespace tdsl::rt

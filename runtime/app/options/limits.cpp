#include "runtime/app/options/limits.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string_view>

namespace tdsl::rt {

namespace {

/// Larger than any machine's memory: cgroup version 1 expresses "no limit" as a number near 2^63.
constexpr std::int64_t kNoLimit = std::int64_t{1} << 60;

std::vector<std::string> words_of(const std::string& line) {
  std::istringstream words(line);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Mount point of a cgroup hierarchy and the group at its root.
struct Mount {
  std::string root;
  std::string point;
};

/// `35 31 0:32 ROOT POINT options - TYPE source OPTIONS`
std::optional<Mount> mount_of(const std::string& mounts, std::string_view type, std::string_view option) {
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = words_of(line);
    const auto dash = std::ranges::find(words, "-");
    if (words.size() < 5 || words.end() - dash < 4 || dash[1] != type) continue;
    const std::string options = "," + dash[3] + ",";
    if (option.empty() || options.find("," + std::string(option) + ",") != std::string::npos)
      return Mount{words[3], words[4]};
  }
  return std::nullopt;
}

/// Path of this process's group, from `N:CONTROLLER:PATH` or `0::PATH`.
std::optional<std::string> group_of(const std::string& groups, std::string_view controller) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    if (controllers.find("," + std::string(controller) + ",") != std::string::npos) return line.substr(second + 1);
  }
  return std::nullopt;
}

/// Directories of a group and its ancestors, as far as they are mounted. In a container the hierarchy may begin at the
/// container's own group.
std::vector<std::string> folders_of(const Mount& mount, std::string group) {
  if (mount.root != "/" && group.starts_with(mount.root)) group.erase(0, mount.root.size());
  if (mount.root != "/" && group.starts_with("/..")) group.clear();
  std::vector<std::string> folders;
  while (!group.empty() && group != "/") {
    folders.push_back(mount.point + group);
    group.erase(group.rfind('/'));
  }
  folders.push_back(mount.point);
  return folders;
}

std::optional<std::int64_t> number_after(const std::string& text, std::string_view name) {
  const std::size_t at = text.starts_with(name) ? 0 : text.find("\n" + std::string(name));
  if (at == std::string::npos) return std::nullopt;
  const char* begin = text.data() + at + name.size() + (at == 0 ? 0 : 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
  // A value out of range is no limit.
  if (error == std::errc::result_out_of_range) return kNoLimit;
  return error == std::errc() ? std::optional(value) : std::nullopt;
}

void take(MemoryGroup& group, std::int64_t bytes, const std::string& folder) {
  if (bytes <= 0 || bytes >= kNoLimit || (group.limit.bytes != 0 && bytes >= group.limit.bytes)) return;
  group.limit = {bytes, "the limit of the control group " + folder};
}

}  // namespace

std::optional<std::string> read_system_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(file), {});
}

MemoryGroup memory_group(const SystemFiles& files) {
  MemoryGroup group;
  const auto groups = files("/proc/self/cgroup");
  const auto mounts = files("/proc/self/mountinfo");
  if (!groups || !mounts) return group;
  if (const auto path = group_of(*groups, "memory")) {
    if (const auto mount = mount_of(*mounts, "cgroup", "memory")) {
      const std::string own = folders_of(*mount, *path).front();
      if (const auto text = files(own + "/memory.stat"))
        take(group, number_after(*text, "hierarchical_memory_limit ").value_or(0), own);
      // Each group counts its own processes only.
      for (const std::string& folder : folders_of(*mount, *path))
        group.counters.push_back(folder + "/memory.oom_control");
    }
  }
  const auto path = group_of(*groups, "");
  const auto mount = mount_of(*mounts, "cgroup2", "");
  if (!path || !mount) return group;
  const std::vector<std::string> folders = folders_of(*mount, *path);
  std::size_t ours = folders.size() - 1;  // the first group is shared by all
  for (std::size_t k = 0; k < folders.size(); ++k) {
    const std::int64_t before = group.limit.bytes;
    if (const auto text = files(folders[k] + "/memory.max"))
      take(group, number_after(*text, "").value_or(0), folders[k]);
    if (group.limit.bytes != before) ours = k + 1;
  }
  // A group counts all kills below it; above the group with the limit these may belong to other jobs.
  for (std::size_t k = 0; k < ours; ++k) group.counters.push_back(folders[k] + "/memory.events");
  return group;
}

std::int64_t count_kills(const MemoryGroup& group, const SystemFiles& files) {
  std::int64_t kills = 0;
  for (const std::string& counter : group.counters) kills += killed_processes(files(counter).value_or("").c_str());
  return kills;
}

std::int64_t killed_processes(const char* text) noexcept {
  constexpr char kName[] = "oom_kill ";
  for (const char* line = text; line != nullptr && *line != '\0';) {
    if (std::strncmp(line, kName, sizeof kName - 1) == 0) {
      std::int64_t count = 0;
      for (const char* digit = line + sizeof kName - 1; *digit >= '0' && *digit <= '9'; ++digit)
        count = 10 * count + (*digit - '0');
      return count;
    }
    line = std::strchr(line, '\n');
    if (line != nullptr) ++line;
  }
  return 0;
}

}  // namespace tdsl::rt

#include "runtime/app/memory/rank_memory.h"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "runtime/base/number_format.h"

namespace tdsl::rt {

namespace {

/// Bytes from a line `NAME:   N kB` of a /proc file; 0 if missing.
std::int64_t kilobytes_of(const SystemFiles& files, const std::string& path, std::string_view name) {
  const auto text = files(path);
  if (!text) return 0;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(name) || line.size() == name.size() || line[name.size()] != ':') continue;
    std::int64_t value = 0;
    std::istringstream(line.substr(name.size() + 1)) >> value;
    return value * 1024;
  }
  return 0;
}

/// Limits shared by the ranks of a node.
struct NodeLimit {
  MemoryLimit limit;
  bool machine = false;
};

NodeLimit node_limit(const SystemFiles& files, const MemoryShare& share) {
  NodeLimit least{memory_group(files).limit, false};
  const auto consider = [&least](std::int64_t bytes, const char* source, bool machine) {
    if (bytes <= 0 || (least.limit.bytes != 0 && bytes >= least.limit.bytes)) return;
    least = {{bytes, source}, machine};
  };
  consider(share.slurm_node, "the memory of the Slurm job on a node", false);
  consider(kilobytes_of(files, "/proc/meminfo", "MemTotal"), "the machine's memory", true);
  return least;
}

/// Usable part of `bytes` when `used` are in use. At least a fixed share, because library pages are counted for every
/// rank.
RankMemory usable(std::int64_t bytes, std::int64_t used) {
  RankMemory memory;
  memory.most = std::max<std::int64_t>({1, bytes / kPartForBlocks, bytes - used - kProcessBytes});
  memory.beside = used + kProcessBytes;
  memory.bytes = std::max<std::int64_t>(1, static_cast<std::int64_t>(kUsableMemory * static_cast<double>(memory.most)));
  return memory;
}

}  // namespace

RankMemory rank_memory(const SystemFiles& files, const MemoryShare& share) {
  RankMemory memory;
  const NodeLimit node = node_limit(files, share);
  if (node.limit.bytes > 0) {
    memory = usable(node.limit.bytes / share.ranks,
                    share.resident > 0 ? share.resident : kilobytes_of(files, "/proc/self/status", "VmRSS"));
    memory.machine = node.machine;
    memory.ranks = share.ranks;
    memory.source = node.limit.source + " is " + format_bytes(node.limit.bytes) +
                    (share.ranks > 1 ? " for " + std::to_string(share.ranks) + " ranks" : "");
  }
  if (share.address_space <= 0) return memory;
  const std::int64_t used = kilobytes_of(files, "/proc/self/status", "VmSize") + (share.threads - 1) * kThreadAddresses;
  RankMemory addresses = usable(share.address_space, used);
  if (memory.bytes != 0 && addresses.bytes >= memory.bytes) return memory;
  addresses.source = "the address space of a process (ulimit -v) is " + format_bytes(share.address_space);
  return addresses;
}

std::string encode(const RankMemory& memory) {
  return std::to_string(memory.bytes) + ' ' + std::to_string(memory.most) + ' ' + std::to_string(memory.beside) + ' ' +
         std::to_string(memory.ranks) + ' ' + (memory.machine ? '1' : '0') + ' ' + memory.source;
}

RankMemory least_memory(std::span<const std::string> of_ranks) {
  RankMemory least;
  for (const std::string& text : of_ranks) {
    std::istringstream words(text);
    RankMemory memory;
    words >> memory.bytes >> memory.most >> memory.beside >> memory.ranks >> memory.machine;
    words.get();
    std::getline(words, memory.source);
    if (memory.bytes != 0 && (least.bytes == 0 || memory.bytes < least.bytes)) least = memory;
  }
  return least;
}

}  // namespace tdsl::rt

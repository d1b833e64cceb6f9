#include "runtime/app/run/launch_check.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "runtime/app/memory/cores.h"
#include "runtime/check.h"
#include "runtime/shapes.h"

namespace tdsl::rt {

namespace {

std::string path_of_program() {
  std::array<char, PATH_MAX> path;
  const ssize_t length = ::readlink("/proc/self/exe", path.data(), path.size());
  return {path.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// FNV-1a over words, in four independent streams.
std::uint64_t hash_of(const std::byte* bytes, std::size_t count) {
  constexpr std::uint64_t kPrime = 1099511628211u;
  std::array<std::uint64_t, 4> streams{14695981039346656037u, 1, 2, 3};
  std::size_t i = 0;
  for (; i + 32 <= count; i += 32) {
    for (std::size_t s = 0; s < 4; ++s) {
      std::uint64_t word;
      std::memcpy(&word, bytes + i + 8 * s, 8);
      streams[s] = (streams[s] ^ word) * kPrime;
      streams[s] ^= streams[s] >> 29;
    }
  }
  std::uint64_t hash = count;
  for (const std::uint64_t stream : streams) hash = (hash ^ stream) * kPrime;
  for (; i < count; ++i) hash = (hash ^ static_cast<std::uint64_t>(bytes[i])) * kPrime;
  return std::max<std::uint64_t>(hash, 1);
}

std::uint64_t hash_of_program() {
  const int fd = ::open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  struct stat status {};
  std::uint64_t hash = 0;
  if (::fstat(fd, &status) == 0 && status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* bytes = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (bytes != MAP_FAILED) {
      hash = hash_of(static_cast<const std::byte*>(bytes), size);
      ::munmap(bytes, size);
    }
  }
  ::close(fd);
  return hash;
}

bool has_fabric() {
  std::error_code ignored;
  const std::filesystem::directory_iterator devices("/sys/class/infiniband", ignored);
  return !ignored && devices != std::filesystem::directory_iterator();
}

std::string rank_text(std::size_t rank, const LaunchFacts& facts) {
  return "rank " + std::to_string(rank) + " on " + facts.host;
}

}  // namespace

LaunchFacts launch_facts(const std::string& missing) {
  LaunchFacts facts;
  facts.host = host_name();
  facts.program = path_of_program();
  facts.content = hash_of_program();
  facts.missing = missing;
  facts.fabric = has_fabric();
  return facts;
}

std::string encode(const LaunchFacts& facts) {
  return facts.host + "\n" + std::to_string(facts.content) + "\n" + (facts.fabric ? "1" : "0") + "\n" + facts.missing +
         "\n" + facts.program;
}

LaunchFacts decode_launch_facts(const std::string& text) {
  std::array<std::string, 5> parts;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const std::size_t end = k + 1 == parts.size() ? text.size() : text.find('\n', begin);
    TDSL_CHECK(end != std::string::npos, "facts of a launch have five parts");
    parts[k] = text.substr(begin, end - begin);
    begin = end + 1;
  }
  return {parts[0], parts[4], std::stoull(parts[1]), parts[3], parts[2] == "1"};
}

std::string launch_error(const std::vector<LaunchFacts>& ranks) {
  for (std::size_t r = 1; r < ranks.size(); ++r) {
    const LaunchFacts& first = ranks.front();
    const LaunchFacts& other = ranks[r];
    if (first.content == 0 || other.content == 0 || first.content == other.content) continue;
    return "the ranks run different executables: " + rank_text(0, first) + " runs " + first.program + ", " +
           rank_text(r, other) + " runs " + other.program +
           (first.program == other.program
                ? " with other content: copy the file to every node, or start one that all nodes see"
                : ": start the same file everywhere");
  }
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].missing.empty()) continue;
    return "the processor of " + rank_text(r, ranks[r]) + " lacks " + ranks[r].missing +
           ", which this executable uses: rebuild without --native, or build on that node";
  }
  return {};
}

std::vector<std::string> launch_warnings(const std::vector<LaunchFacts>& ranks, const Environment& environment,
                                         int threads, const std::string& command) {
  std::vector<std::string> warnings;
  for (const Setting& setting : unusable_transports(environment)) {
    warnings.push_back(setting.name + "=" + setting.value + " cannot reach other nodes and was ignored: unset " +
                       setting.name);
  }
  const auto plain = [&](const Setting& setting) {
    return setting.name == "OMPI_MCA_pml"
               ? setting.value == "ob1"
               : setting.value.find("tcp") != std::string::npos && setting.value.front() != '^';
  };
  const auto slow = std::ranges::find_if(environment.transports, plain);
  if (environment.several_nodes && slow != environment.transports.end() &&
      std::ranges::any_of(ranks, &LaunchFacts::fabric)) {
    warnings.push_back(slow->name + "=" + slow->value + " keeps the ranks from the nodes' fast network: unset " +
                       slow->name);
  }
  const int cores = environment.slurm_cpus_per_task.value_or(1);
  if (environment.omp_num_threads && threads == *environment.omp_num_threads && threads < cores) {
    warnings.push_back("OMP_NUM_THREADS=" + std::to_string(threads) + " leaves " +
                       counted(static_cast<std::size_t>(cores - threads), "core") + " of every rank's " +
                       std::to_string(cores) + " idle: unset it, or start with --threads " + std::to_string(cores));
  }
  for (const Setting& setting : environment.blas_threads) {
    if (setting.value == "1") continue;
    warnings.push_back(setting.name + "=" + setting.value +
                       " has no effect (BLAS is called single-threaded from the rank's threads): use --threads");
    break;
  }
  const auto size = static_cast<int>(ranks.size());
  const int tasks = environment.slurm_tasks.value_or(size);
  if (environment.launcher == Launcher::kMpirun && size < tasks && size * threads < tasks * cores) {
    warnings.push_back(counted(ranks.size(), "rank") + (size == 1 ? " runs" : " run") + ", but the job has room for " +
                       std::to_string(tasks) + ": start with mpirun -n " + std::to_string(tasks) + " " + command);
  }
  return warnings;
}

}  // namespace tdsl::rt

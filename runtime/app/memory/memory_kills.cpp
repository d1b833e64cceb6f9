#include "runtime/app/memory/memory_kills.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <new>
#include <optional>
#include <sstream>
#include <utility>

#include "runtime/app/memory/cores.h"
#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/engine/store/spare_memory.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kMostCounters = 8;

/// Process ids of a run that see each other, by position; 0: not registered yet, or exited normally.
using ProcessTable = std::atomic<pid_t>;
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// State for the signal handler.
struct KillWatch {
  std::array<int, kMostCounters> files{};
  std::size_t count = 0;
  std::int64_t before = 0;
  ProcessTable* table = nullptr;
  std::size_t processes = 0;
  std::size_t own = 0;
  sockaddr_un speaker{};
  std::string message;
};
KillWatch* kill_watch = nullptr;
/// Shared memory descriptor; all processes of a node map that of the node's first rank.
int shared_memory = -1;

std::int64_t count_kills(const KillWatch& w) noexcept {
  std::int64_t kills = 0;
  for (std::size_t k = 0; k < w.count; ++k) {
    std::array<char, 512> text;
    const ssize_t length = ::pread(w.files[k], text.data(), text.size() - 1, 0);
    text[static_cast<std::size_t>(std::max<ssize_t>(length, 0))] = '\0';
    kills += killed_processes(text.data());
  }
  return kills;
}

/// True if a process is gone or a zombie. Async-signal-safe.
bool has_ended(pid_t process) noexcept {
  std::array<char, 32> path{"/proc/"};
  char* end = std::to_chars(path.data() + 6, path.data() + 20, process).ptr;
  std::memcpy(end, "/stat", 6);
  const int file = ::open(path.data(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == ENOENT;
  std::array<char, 128> text{};  // `PID (NAME) STATE`; names have at most 15 characters
  const ssize_t length = ::read(file, text.data(), text.size() - 1);
  ::close(file);
  const char* name_end = length > 0 ? std::strrchr(text.data(), ')') : nullptr;
  return length <= 0 || (name_end != nullptr && (name_end[2] == 'Z' || name_end[2] == 'X'));
}

/// True if another process of the run has vanished without unregistering. The group may also contain unrelated
/// processes.
bool has_lost_process(const KillWatch& w) noexcept {
  for (std::size_t k = 0; k < w.processes; ++k) {
    const pid_t process = w.table[k];
    if (k != w.own && process != 0 && has_ended(process)) return true;
  }
  return false;
}

/// Claims an abstract socket name, which the kernel gives to one process per node and releases when that process ends.
bool is_speaker(const KillWatch& w) noexcept {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&w.speaker), sizeof w.speaker) == 0;
}

/// One process's identity.
struct RunPart {
  std::string place;  ///< host and process namespace
  pid_t process = 0;
  int memory = -1;
};

std::string place_of_this_process() {
  std::array<char, 64> processes{};
  if (::readlink("/proc/self/ns/pid", processes.data(), processes.size() - 1) <= 0) return {};
  return host_name() + "/" + processes.data();
}

RunPart decode_part(const std::string& text) {
  std::istringstream in(text);
  RunPart part;
  in >> part.process >> part.memory >> part.place;
  return part;
}

/// Maps the table of the processes visible to this one, in the shared memory of the first of them. Without the table
/// nothing is known about other processes.
void join_table(KillWatch& w, const std::vector<std::string>& parts, int rank) {
  const RunPart mine = decode_part(parts[static_cast<std::size_t>(rank)]);
  std::optional<RunPart> first;
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const RunPart other = decode_part(parts[k]);
    if (other.place != mine.place || mine.place.empty()) continue;
    if (!first) first = other;
    if (k == static_cast<std::size_t>(rank)) w.own = w.processes;
    ++w.processes;
  }
  if (!first || first->memory < 0) return;
  const std::string path = "/proc/" + std::to_string(first->process) + "/fd/" + std::to_string(first->memory);
  const int memory = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (memory < 0) return;
  const std::size_t bytes = w.processes * sizeof(ProcessTable);
  // The owner may be the last to arrive.
  void* const table = ::ftruncate(memory, static_cast<off_t>(bytes)) == 0
                          ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0)
                          : MAP_FAILED;
  ::close(memory);
  if (table == MAP_FAILED) return;
  w.table = static_cast<ProcessTable*>(table);
  w.table[w.own] = ::getpid();
}

}  // namespace

void offer_to_be_killed() {
  constexpr int kMore = 500, kMost = 1000;
  std::ifstream before("/proc/self/oom_score_adj");
  int score = 0;
  if (!(before >> score)) return;
  std::ofstream("/proc/self/oom_score_adj") << std::min(kMost, score + kMore);
}

std::string kill_watch_part() {
  if (shared_memory < 0) shared_memory = ::memfd_create("tdsl", MFD_CLOEXEC);
  return std::to_string(::getpid()) + " " + std::to_string(shared_memory) + " " + place_of_this_process();
}

void watch_memory_kills(const std::string& run, const std::vector<std::string>& parts, int rank,
                        const SystemFiles& files) {
  const MemoryGroup group = memory_group(files);
  auto* fresh = new KillWatch();
  for (const std::string& counter : group.counters) {
    const int fd = fresh->count < kMostCounters ? ::open(counter.c_str(), O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) fresh->files[fresh->count++] = fd;
  }
  if (fresh->count == 0) {
    delete fresh;
    return;
  }
  fresh->before = count_kills(*fresh);
  join_table(*fresh, parts, rank);
  if (fresh->table == nullptr) {
    delete fresh;
    return;
  }
  fresh->speaker.sun_family = AF_UNIX;
  const std::string name = "tdsl-" + run;
  // After a zero byte: an abstract name, not in any file system.
  std::memcpy(fresh->speaker.sun_path + 1, name.data(), std::min(name.size(), sizeof fresh->speaker.sun_path - 1));
  const bool limited = group.limit.bytes != 0;
  fresh->message =
      "the system killed a process of this run on " + host_name() + " because memory ran out" +
      (limited ? ": " + group.limit.source + " is " + format_bytes(group.limit.bytes) + ", for all ranks there"
               : std::string()) +
      "; no output file was written. Give the job more memory, or its ranks less by --memory\n";
  delete std::exchange(kill_watch, fresh);
}

bool report_memory_kill() noexcept {
  const KillWatch* w = kill_watch;
  if (w == nullptr || count_kills(*w) <= w->before || !has_lost_process(*w)) return false;
  if (is_speaker(*w)) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, w->message.data(), w->message.size());
  }
  return true;
}

void end_unkilled() noexcept {
  if (kill_watch != nullptr) kill_watch->table[kill_watch->own] = 0;
}

namespace {

/// Memory is exhausted if an allocation of this size fails.
constexpr std::size_t kProbeBytes = std::size_t{64} << 20;

struct sigaction abort_before {};

/// Only async-signal-safe calls here.
[[noreturn]] void end_without_memory() noexcept {
  constexpr char kMessage[] = "out of memory\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kMessage, sizeof kMessage - 1);
  unlink_temporaries();
  ::_exit(static_cast<int>(ExitCode::kRunTime));
}

void end_uncaught() noexcept {
  spend_spare_memory();
  try {
    if (std::current_exception() != nullptr) throw;
  } catch (const std::bad_alloc&) { end_without_memory(); } catch (...) {
  }
  std::abort();
}

void end_aborted(int signal) {
  void* const probe = ::mmap(nullptr, kProbeBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (probe == MAP_FAILED) end_without_memory();
  ::munmap(probe, kProbeBytes);
  ::sigaction(SIGABRT, &abort_before, nullptr);
  ::raise(signal);
}

}  // namespace

void catch_uncaught_bad_alloc() { std::set_terminate(end_uncaught); }

void catch_aborts_without_memory() {
  struct sigaction action {};
  action.sa_handler = end_aborted;
  action.sa_flags = SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGABRT, &action, &abort_before);
}

}  // namespace tdsl::rt

#include "runtime/app/memory_kills.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/app/limits.h"
#include "runtime/app/number_format.h"

namespace tdsl::rt {

namespace {

constexpr std::size_t kMostCounters = 8;

/// All that a signal handler needs; never freed.
struct KillWatch {
  std::array<int, kMostCounters> files{};
  std::size_t count = 0;
  std::int64_t before = 0;
  sockaddr_un speaker{};
  std::string message;
};
KillWatch* kill_watch = nullptr;

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

/// A name that the system gives to one process of a node, and takes back when that ends.
bool is_speaker(const KillWatch& w) noexcept {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  return socket < 0 || ::bind(socket, reinterpret_cast<const sockaddr*>(&w.speaker), sizeof w.speaker) == 0;
}

}  // namespace

void watch_memory_kills(const std::string& run) {
  const MemoryGroup group = memory_group(read_system_file);
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
  fresh->speaker.sun_family = AF_UNIX;
  const std::string name = "tdsl-" + run;
  // After a zero byte: a name that no file system has.
  std::memcpy(fresh->speaker.sun_path + 1, name.data(), std::min(name.size(), sizeof fresh->speaker.sun_path - 1));
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  const bool limited = group.limit.bytes != 0;
  fresh->message = "the system killed a process of this run on " + std::string(host.data()) + " because memory ran out" +
                   (limited ? ": " + group.limit.source + " is " + format_bytes(group.limit.bytes) + ", for all ranks there" : std::string()) +
                   "; no output file was written. Give the job more memory, or its ranks less by --memory\n";
  kill_watch = fresh;
}

bool report_memory_kill() noexcept {
  const KillWatch* w = kill_watch;
  if (w == nullptr || count_kills(*w) <= w->before) return false;
  if (is_speaker(*w)) {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, w->message.data(), w->message.size());
  }
  return true;
}

}  // namespace tdsl::rt

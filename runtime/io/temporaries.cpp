#include "runtime/io/temporaries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <deque>
#include <mutex>
#include <utility>

#include "runtime/check.h"

namespace tdsl::rt {

namespace {

constinit std::array<std::atomic<const char*>, 1024> table{};
static_assert(std::atomic<const char*>::is_always_lock_free);

/// A copy of the name that is never freed, since a signal handler may read it at any time, even during exit. A run
/// opens few files, so the leak is small.
const char* keep_name(const std::string& path) {
  static std::mutex mutex;
  static std::deque<std::string>& names = *new std::deque<std::string>();
  const std::scoped_lock lock(mutex);
  return names.emplace_back(path).c_str();
}

/// Removes a directory that contains only files, with system calls only: opendir is not async-signal-safe. It is
/// renamed first, so that no new file is added.
void remove_folder(const char* name) noexcept {
  constexpr char kEnd[] = "-gone";
  std::array<char, 4096> gone;
  const std::size_t length = std::strlen(name);
  if (length + sizeof kEnd > gone.size()) return;
  std::memcpy(gone.data(), name, length);
  std::memcpy(gone.data() + length, kEnd, sizeof kEnd);
  if (::rename(name, gone.data()) != 0) return;  // another rank has renamed it
  const int fd = ::open(gone.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  alignas(dirent64) std::array<char, 4096> entries;
  bool removed = true;
  while (std::exchange(removed, false)) {  // removing entries may hide others from the listing
    ::lseek(fd, 0, SEEK_SET);
    for (long bytes = 0; (bytes = ::syscall(SYS_getdents64, fd, entries.data(), entries.size())) > 0;) {
      for (long at = 0; at < bytes;) {
        const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
        removed = (entry->d_type != DT_DIR && ::unlinkat(fd, entry->d_name, 0) == 0) || removed;
        at += entry->d_reclen;
      }
    }
  }
  ::close(fd);
  ::rmdir(gone.data());
}

}  // namespace

int register_temporary(const std::string& path) {
  const char* name = keep_name(path);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char* expected = nullptr;
    if (table[i].compare_exchange_strong(expected, name)) { return static_cast<int>(i); }
  }
  throw RunError("too many files are being written at once (" + std::to_string(table.size()) + ")");
}

void forget_temporary(int slot) noexcept {
  if (slot >= 0) { table[static_cast<std::size_t>(slot)].store(nullptr); }
}

void unlink_temporaries() noexcept {
  for (std::atomic<const char*>& entry : table) {
    if (const char* name = entry.exchange(nullptr)) {
      const int before = errno;
      if (::unlink(name) != 0 && errno == EISDIR) remove_folder(name);
      errno = before;
    }
  }
}

}  // namespace tdsl::rt

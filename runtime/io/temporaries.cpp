#include "runtime/io/temporaries.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <vector>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"

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

/// Removes the directory's files. False: an entry could not be removed, or the directory could not be read.
bool empty_folder(int fd) noexcept {
  alignas(dirent64) std::array<char, 4096> entries;
  ::lseek(fd, 0, SEEK_SET);
  bool all = true;
  long bytes = 0;
  while ((bytes = ::syscall(SYS_getdents64, fd, entries.data(), entries.size())) > 0) {
    for (long at = 0; at < bytes;) {
      const auto* const entry = reinterpret_cast<const dirent64*>(entries.data() + at);
      const bool self = std::strcmp(entry->d_name, ".") == 0 || std::strcmp(entry->d_name, "..") == 0;
      if (!self && ::unlinkat(fd, entry->d_name, 0) != 0 && errno != ENOENT) all = false;
      at += entry->d_reclen;
    }
  }
  return all && bytes == 0;
}

/// Removes a directory that contains only files, with system calls only: opendir is not async-signal-safe. It is
/// renamed first, so that no new file is added. Every rank removes files, because the launcher may kill any of them
/// before it has finished.
void remove_folder(const char* name) noexcept {
  constexpr char kEnd[] = "-gone";
  std::array<char, 4096> gone;
  const std::size_t length = std::strlen(name);
  if (length + sizeof kEnd > gone.size()) return;
  std::memcpy(gone.data(), name, length);
  std::memcpy(gone.data() + length, kEnd, sizeof kEnd);
  ::rename(name, gone.data());  // fails after another rank has renamed it
  const int fd = ::open(gone.data(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  // A listing may miss entries while others are removed, and a file may be created in an opened directory.
  while (empty_folder(fd) && ::rmdir(gone.data()) != 0 && (errno == ENOTEMPTY || errno == EEXIST)) {}
  ::close(fd);
}

}  // namespace

int register_temporary(const std::string& path) {
  const char* name = keep_name(path);
  for (std::size_t i = 0; i < table.size(); ++i) {
    const char* expected = nullptr;
    if (table[i].compare_exchange_strong(expected, name)) { return static_cast<int>(i); }
  }
  throw RunError("too many files are being written at once (" + std::to_string(table.size()) + ") [cannot-write]");
}

void forget_temporary(int slot) noexcept {
  if (slot >= 0) { table[static_cast<std::size_t>(slot)].store(nullptr); }
}

void unlink_temporaries() noexcept {
  for (std::atomic<const char*>& entry : table) {
    if (const char* name = entry.exchange(nullptr)) {
      const int before = errno;
      if (::unlink(name) != 0 && (errno == EISDIR || errno == ENOENT)) remove_folder(name);
      errno = before;
    }
  }
}

namespace {

struct Owner {
  std::string job;
  int rank = 0;
};

Owner& owner() {
  static Owner& value = *new Owner();
  return value;
}

std::string beginning_of(const std::string& target) { return "." + file_name_of(target).substr(0, 180) + ".tmp-"; }

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

/// Removes a file or tile directory without an active writer. On a file system without locks it counts as in use.
void remove_abandoned(const std::string& path) {
  const bool folder = std::filesystem::is_directory(std::filesystem::symlink_status(path));
  const int fd = ::open(path.c_str(), (folder ? O_RDONLY | O_DIRECTORY : O_RDWR) | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return;
  std::error_code ignored;
  if (::flock(fd, LOCK_EX | LOCK_NB) == 0) std::filesystem::remove_all(path, ignored);
  ::close(fd);
}

}  // namespace

void name_temporaries(const std::string& job, int rank) {
  // A numeric job id can be part of a file name.
  const bool plain = job.find_first_not_of("0123456789") == std::string::npos;
  owner() = {plain ? job : std::string(), rank};
}

std::string temporary_name(const std::string& target) {
  const std::string beginning = directory_of(target) + "/" + beginning_of(target);
  if (owner().job.empty()) {
    const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
    std::array<char, 48> suffix;
    std::snprintf(suffix.data(), suffix.size(), "%lx-%llx", static_cast<unsigned long>(::getpid()),
                  static_cast<unsigned long long>(clock));
    return beginning + suffix.data();
  }
  const std::string plain = beginning + owner().job + "-" + std::to_string(owner().rank);
  // Two steps of a job that write the same file get different names.
  std::string name = plain;
  for (int k = 2; exists(name); ++k) name = plain + "-" + std::to_string(k);
  return name;
}

void mark_temporary(int fd) noexcept { [[maybe_unused]] const int locked = ::flock(fd, LOCK_EX | LOCK_NB); }

void remove_leftovers(const std::string& target) noexcept try {
  if (owner().job.empty()) return;
  std::error_code absent;
  const std::filesystem::path resolved = std::filesystem::canonical(target, absent);
  const std::string path = absent ? target : resolved.string();
  const std::string beginning = beginning_of(path) + owner().job + "-";
  std::vector<std::string> leftovers;
  for (const auto& entry : std::filesystem::directory_iterator(directory_of(path))) {
    if (entry.path().filename().string().starts_with(beginning)) leftovers.push_back(entry.path().string());
  }
  for (const std::string& leftover : leftovers) remove_abandoned(leftover);
} catch (...) {  // an unreadable directory is reported when the output is created
}

}  // namespace tdsl::rt

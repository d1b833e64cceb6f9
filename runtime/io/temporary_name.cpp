#include "runtime/io/temporary_name.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <vector>

#include "runtime/io/file_bytes.h"

namespace tdsl::rt {

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

#include "runtime/io/open_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"

namespace tdsl::rt {

namespace {

FileIdentity identity_of(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size,
          std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec};
}

/// Every rank reads elements at arbitrary offsets, which only regular files support.
void require_regular(mode_t mode, const std::string& path) {
  if (!S_ISREG(mode)) {
    throw RunError("`" + path + "` is not a regular file, but " + file_kind_name(mode) + " [cannot-read]");
  }
}

}  // namespace

OpenFile::OpenFile(std::string path) : path_(std::move(path)) {
  struct stat named {};
  if (::stat(path_.c_str(), &named) == 0) { require_regular(named.st_mode, path_); }
  // If the path has become a FIFO meanwhile, O_NONBLOCK opens it without waiting for a writer.
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd_ < 0) { fail_file(path_, "cannot open", errno); }
  try {
    struct stat status {};
    if (::fstat(fd_, &status) != 0) { fail_file(path_, "cannot examine", errno); }
    require_regular(status.st_mode, path_);
    identity_ = identity_of(status);
  } catch (...) {
    ::close(fd_);
    throw;
  }
}

OpenFile::~OpenFile() {
  if (fd_ >= 0) { ::close(fd_); }
}

OpenFile::OpenFile(OpenFile&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), identity_(other.identity_) {}

OpenFile& OpenFile::operator=(OpenFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(fd_, other.fd_);
  std::swap(identity_, other.identity_);
  return *this;
}

void OpenFile::require_unchanged() const {
  struct stat status {};
  if (::fstat(fd_, &status) != 0) { fail_file(path_, "cannot examine", errno); }
  const FileIdentity now = identity_of(status);
  if (now == identity_) { return; }
  throw RunError("`" + path_ + "` was changed after its header had been read: " +
                 (now.bytes == identity_.bytes
                      ? "somebody has written to it"
                      : "it had " + std::to_string(identity_.bytes) + " bytes and has " + std::to_string(now.bytes)) +
                 " [file-changed]");
}

}  // namespace tdsl::rt

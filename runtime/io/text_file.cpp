#include "runtime/io/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <random>
#include <span>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/open_stream.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

/// Closes its descriptor on destruction, and removes the temporary file unless it has been renamed.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(int fd, std::string temporary) : fd_(fd), temporary_(std::move(temporary)) {
    if (fd_ >= 0) slot_ = register_temporary(temporary_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ < 0) return;
    ::close(fd_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
    forget_temporary(slot_);
  }
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] bool rename(const std::string& path) {
    if (::rename(temporary_.c_str(), path.c_str()) != 0) return false;
    temporary_.clear();
    return true;
  }

 private:
  int fd_;
  int slot_ = -1;
  std::string temporary_;
};

void write_all(int fd, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_file(path, "cannot write", errno);
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

std::string temporary_of(const std::string& target) {
  std::random_device random;
  std::array<char, 32> suffix;
  std::snprintf(suffix.data(), suffix.size(), ".tmp-%08x%08x", random(), random());
  return directory_of(target) + "/." + file_name_of(target).substr(0, 180) + suffix.data();
}

}  // namespace

void require_text_target(const std::string& path) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail_file(path, "cannot write", EISDIR);
  if (exists && !takes_text(path, status.st_mode)) {
    throw RunError(
        "cannot write `" + path + "`: it is " + file_kind_name(status.st_mode) + ", not a regular file [cannot-write]",
        ExitCode::kUsage);
  }
  if (exists && ::access(path.c_str(), W_OK) != 0) fail_file(path, "cannot write", errno);
  if (exists && !S_ISREG(status.st_mode)) return;
  if (::access(directory_of(resolve_target(path)).c_str(), W_OK | X_OK) != 0) fail_file(path, "cannot write", errno);
}

void write_text_file(const std::string& path, std::string_view text) {
  require_text_target(path);
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    const Descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.fd() < 0) fail_file(path, "cannot write", errno);
    return write_all(out.fd(), text, path);
  }
  const std::string target = resolve_target(path);
  const std::string temporary = temporary_of(target);
  Descriptor out(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666), temporary);
  if (out.fd() < 0) fail_file(path, "cannot write", errno);
  if (exists && ::fchmod(out.fd(), status.st_mode & 0777) != 0) fail_file(path, "cannot write", errno);
  write_all(out.fd(), text, path);
  if (::fsync(out.fd()) != 0 || !out.rename(target)) fail_file(path, "cannot write", errno);
}

std::string read_text_file(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) fail_file(path, "cannot read", errno);
  if (!S_ISREG(status.st_mode))
    throw RunError("cannot read `" + path + "`: it is not a regular file, but " + file_kind_name(status.st_mode) +
                   " [cannot-read]");
  const Descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (in.fd() < 0) fail_file(path, "cannot read", errno);
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  read_at(in.fd(), std::as_writable_bytes(std::span(text)), 0, path);
  return text;
}

}  // namespace tdsl::rt

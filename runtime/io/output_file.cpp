#include "runtime/io/output_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

/// Mode of the finished file: that of the file it replaces, otherwise the default given the umask. Throws if the target
/// cannot be replaced.
mode_t check_target(const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) { fail_file(target, "cannot write", errno); }
    return 0;
  }
  if (!S_ISREG(status.st_mode)) {
    throw RunError("cannot write `" + target + "`: it is not a regular file [cannot-write]");
  }
  if (::access(target.c_str(), W_OK) != 0) { fail_file(target, "cannot write", errno); }
  return status.st_mode & 07777;
}

[[noreturn]] void fail_reservation(const std::string& path, int fd, std::int64_t bytes, int error) {
  std::string message = "cannot write `" + path + "`: it needs " + format_bytes(bytes);
  struct statvfs disk {};
  // Truncation releases the space that a failed reservation has allocated.
  if ((error == ENOSPC || error == EDQUOT) && ::ftruncate(fd, 0) == 0 && ::fstatvfs(fd, &disk) == 0) {
    const auto free = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
    throw RunError(
        message +
        (error == EDQUOT ? ", more than your quota leaves" : ", the disk has " + format_bytes(free) + " left") +
        " [disk-full]");
  }
  throw RunError(message + ": " + std::strerror(error) + " [cannot-write]");
}

/// True if the file system reports less than `bytes` available. Some report nothing.
bool too_small(int fd, std::int64_t bytes) {
  struct statvfs disk {};
  return ::fstatvfs(fd, &disk) == 0 && disk.f_frsize != 0 && disk.f_blocks != 0 &&
         disk.f_bavail < static_cast<std::uint64_t>(bytes) / disk.f_frsize;
}

/// Reserves the file's full size after the part already reserved. A failing reservation may temporarily take all free
/// space from other programs, so impossible sizes are rejected first.
void reserve(int fd, std::int64_t reserved, std::int64_t bytes, const std::string& path) {
  if (bytes == reserved) return;
  if (too_small(fd, bytes - reserved)) { fail_reservation(path, fd, bytes, ENOSPC); }
  int error = 0;
  do { error = ::fallocate(fd, 0, reserved, bytes - reserved) == 0 ? 0 : errno; } while (error == EINTR);
  if (error == EOPNOTSUPP || error == ENOSYS) { error = ::ftruncate(fd, bytes) == 0 ? 0 : errno; }
  if (error != 0) { fail_reservation(path, fd, bytes, error); }
}

/// Unique identification on this machine: `DEVICE:INODE`.
std::string file_number(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 ? "" : std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

}  // namespace

OutputFile OutputFile::create(const std::string& path, Unfinished unfinished) {
  OutputFile f;
  f.path_ = resolve_target(path);
  const mode_t mode = check_target(f.path_);
  if (unfinished == Unfinished::kUnnamed) { f.create_unnamed(); }
  if (f.fd_ < 0) { f.create_named(path); }
  f.creator_ = true;  // the destructor unlinks from here on
  if (mode != 0 && ::fchmod(f.fd_, mode) != 0) { fail_file(path, "cannot set the mode of", errno); }
  return f;
}

void OutputFile::reserve(std::int64_t bytes, std::int64_t reserved) const { rt::reserve(fd_, reserved, bytes, path_); }

void OutputFile::write(std::span<const std::byte> bytes, std::int64_t offset) const {
  TDSL_CHECK(fd_ >= 0, "an open file");
  write_at(fd_, bytes, offset, path_);
}

/// Leaves fd_ negative if the file system does not support unnamed files, or if /proc does not show them.
void OutputFile::create_unnamed() {
  fd_ = ::open(directory_of(path_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd_ < 0) { return; }
  temporary_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
  const int again = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC);
  if (again < 0 || file_number(again) != file_number(fd_)) { ::close(std::exchange(fd_, -1)); }
  if (again >= 0) { ::close(again); }
}

void OutputFile::create_named(const std::string& path) {
  named_ = true;
  temporary_ = temporary_name(path_);
  // Registered before creation, so that a signal never finds it unregistered.
  slot_ = register_temporary(temporary_);
  fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    const int error = errno;
    release();
    fail_file(path, "cannot write", error);
  }
  mark_temporary(fd_);
}

/// Creates the name from which `rename` replaces the target atomically.
void OutputFile::give_temporary_name() {
  const std::string descriptor = std::exchange(temporary_, temporary_name(path_));
  slot_ = register_temporary(temporary_);
  named_ = true;
  mark_temporary(fd_);
  if (::linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    fail_file(path_, "cannot give the finished file its name", errno);
  }
}

std::string OutputFile::token() const {
  std::string token;
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(path_);
  put(temporary_);
  put(named_ ? "" : file_number(fd_));
  return token;
}

std::string take_token_part(std::string_view& token) {
  const std::size_t end = token.find('\0');
  TDSL_CHECK(end != std::string_view::npos, "a token that a rank has made");
  std::string part(token.substr(0, end));
  token.remove_prefix(end + 1);
  return part;
}

OutputFile OutputFile::open(std::string_view& token) {
  OutputFile f;
  f.path_ = take_token_part(token);
  f.temporary_ = take_token_part(token);
  const std::string number = take_token_part(token);
  f.named_ = number.empty();
  if (f.named_) { f.slot_ = register_temporary(f.temporary_); }
  f.fd_ = ::open(f.temporary_.c_str(), O_WRONLY | O_CLOEXEC);
  if (f.fd_ < 0 || (!f.named_ && file_number(f.fd_) != number)) {
    const int error = f.fd_ < 0 ? errno : ESTALE;
    f.release();
    fail_file(f.path_, "cannot write from every rank (do all nodes see its directory?)", error);
  }
  return f;
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      named_(other.named_),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)),
      creator_(std::exchange(other.creator_, false)) {}

OutputFile::~OutputFile() {
  if (creator_) {
    discard();
  } else {
    release();
  }
}

void OutputFile::sync() const {
  TDSL_CHECK(fd_ >= 0, "sync of an open file");
  if (::fsync(fd_) != 0) { fail_file(path_, "cannot write", errno); }
}

void OutputFile::commit() {
  TDSL_CHECK(fd_ >= 0 && creator_, "only the creator commits, once");
  sync();
  if (!named_) { give_temporary_name(); }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_file(path_, "cannot give the finished file its name", errno);
  }
  creator_ = false;
  release();
  // The new directory entry itself must survive a crash; file systems that cannot sync a directory do not need it.
  const int directory = ::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

void OutputFile::discard() noexcept {
  if (fd_ >= 0 && named_) { ::unlink(temporary_.c_str()); }
  creator_ = false;
  release();
}

void OutputFile::release() noexcept {
  forget_temporary(std::exchange(slot_, -1));
  if (fd_ >= 0) { ::close(std::exchange(fd_, -1)); }
}

}  // namespace tdsl::rt

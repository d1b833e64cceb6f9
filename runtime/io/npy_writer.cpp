#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "runtime/app/number_format.h"
#include "runtime/check.h"
#include "runtime/io/box_rows.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/npy.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

constexpr std::int64_t kWriteBufferBytes = std::int64_t{4} << 20;
constexpr std::int64_t kDirectWriteBytes = std::int64_t{64} << 10;

/// The file a path leads to, through symbolic links, so that a link stays a link when its target is replaced.
std::string resolve_target(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  return resolved ? std::string(resolved.get()) : path;
}

/// `.NAME.tmp-PID-CLOCK` beside the target; shortened so that NAME plus the rest stays a legal file name.
std::string temporary_name(const std::string& target) {
  const auto clock = std::chrono::steady_clock::now().time_since_epoch().count();
  std::array<char, 64> suffix;
  std::snprintf(suffix.data(), suffix.size(), ".tmp-%lx-%llx", static_cast<unsigned long>(::getpid()),
                static_cast<unsigned long long>(clock));
  return directory_of(target) + "/." + file_name_of(target).substr(0, 180) + suffix.data();
}

/// The mode the finished file gets: that of the file it replaces, else what the user's umask gives a new file. Throws
/// if the target cannot be replaced.
mode_t check_target(const std::string& target) {
  struct stat status {};
  if (::stat(target.c_str(), &status) != 0) {
    if (errno != ENOENT) {
      fail_file(target, "cannot write", errno);
    }
    return 0;
  }
  if (!S_ISREG(status.st_mode)) {
    throw RunError("cannot write '" + target + "': it is not a regular file");
  }
  if (::access(target.c_str(), W_OK) != 0) {
    fail_file(target, "cannot write", errno);
  }
  return status.st_mode & 07777;
}

[[noreturn]] void fail_reservation(const std::string& path, int fd, std::int64_t bytes, int error) {
  std::string message = "cannot write '" + path + "': it needs " + format_bytes(bytes);
  struct statvfs disk {};
  // What a failed reservation has taken already is free again when the file is closed.
  if ((error == ENOSPC || error == EDQUOT) && ::ftruncate(fd, 0) == 0 && ::fstatvfs(fd, &disk) == 0) {
    const auto free = static_cast<std::int64_t>(disk.f_bavail) * static_cast<std::int64_t>(disk.f_frsize);
    throw RunError(message + (error == EDQUOT ? ", more than your quota leaves"
                                              : ", the disk has " + format_bytes(free) + " left"));
  }
  throw RunError(message + ": " + std::strerror(error));
}

/// Whether the file system says that it has no room for so many bytes. Some say nothing about their size.
bool too_small(int fd, std::int64_t bytes) {
  struct statvfs disk {};
  return ::fstatvfs(fd, &disk) == 0 && disk.f_frsize != 0 && disk.f_blocks != 0 &&
         disk.f_bavail < static_cast<std::uint64_t>(bytes) / disk.f_frsize;
}

/// Reserves the file's whole size. A reservation that fails may first take all that is left, and with it the room of others:
/// what cannot fit is refused before.
void reserve(int fd, std::int64_t bytes, const std::string& path) {
  if (too_small(fd, bytes)) {
    fail_reservation(path, fd, bytes, ENOSPC);
  }
  int error = 0;
  do {
    error = ::fallocate(fd, 0, 0, bytes) == 0 ? 0 : errno;
  } while (error == EINTR);
  if (error == EOPNOTSUPP || error == ENOSYS) {
    error = ::ftruncate(fd, bytes) == 0 ? 0 : errno;
  }
  if (error != 0) {
    fail_reservation(path, fd, bytes, error);
  }
}

/// Tells a file from all others of this machine: `DEVICE:INODE`.
std::string file_number(int fd) {
  struct stat status {};
  return ::fstat(fd, &status) != 0 ? "" : std::to_string(status.st_dev) + ":" + std::to_string(status.st_ino);
}

/// Packs neighbouring rows and writes each group with one call.
template <class T>
class RowWriter {
 public:
  RowWriter(int fd, std::int64_t data_offset, const std::string& path, const T* source)
      : fd_(fd), data_offset_(data_offset), path_(path), source_(source) {}

  void add(FileRow row) {
    constexpr std::int64_t size = sizeof(T);
    if (row.memory_stride == 1 && row.count * size >= kDirectWriteBytes) {
      flush();
      write(source_ + row.memory_offset, row.file_index, row.count);
      return;
    }
    if (packed_ > 0 && row.file_index != first_ + packed_) {
      flush();
    }
    for (std::int64_t done = 0; done < row.count;) {
      if (packed_ == kCapacity) {
        flush();
      }
      if (packed_ == 0) {
        first_ = row.file_index + done;
      }
      const std::int64_t n = std::min(row.count - done, kCapacity - packed_);
      pack(row, done, n);
      done += n;
    }
  }

  void flush() {
    if (packed_ > 0) {
      write(buffer_.get(), first_, packed_);
      packed_ = 0;
    }
  }

 private:
  static constexpr std::int64_t kCapacity = kWriteBufferBytes / static_cast<std::int64_t>(sizeof(T));

  void pack(const FileRow& row, std::int64_t done, std::int64_t n) {
    if (!buffer_) {
      buffer_ = std::make_unique_for_overwrite<T[]>(static_cast<std::size_t>(kCapacity));
    }
    const T* from = source_ + row.memory_offset + done * row.memory_stride;
    T* to = buffer_.get() + packed_;
    for (std::int64_t i = 0; i < n; ++i) {
      to[i] = from[i * row.memory_stride];
    }
    packed_ += n;
  }

  void write(const T* data, std::int64_t file_index, std::int64_t count) const {
    write_at(fd_, std::as_bytes(std::span(data, static_cast<std::size_t>(count))),
             data_offset_ + file_index * static_cast<std::int64_t>(sizeof(T)), path_);
  }

  int fd_;
  std::int64_t data_offset_;
  const std::string& path_;
  const T* source_;
  std::unique_ptr<T[]> buffer_;
  std::int64_t first_ = 0;   // file index of the first packed element
  std::int64_t packed_ = 0;  // elements in the buffer
};

}  // namespace

NpyWriter NpyWriter::create(const std::string& path, ElementType type, std::span<const std::int64_t> shape, Unfinished unfinished) {
  if (path.empty() || path.back() == '/') {
    throw RunError("cannot write '" + path + "': it names no file");
  }
  NpyWriter w;
  w.path_ = resolve_target(path);
  w.type_ = type;
  w.shape_.assign(shape.begin(), shape.end());
  const mode_t mode = check_target(w.path_);
  (void)writable_kind(path);
  const std::string header = npy_header_bytes(type, shape);
  w.data_offset_ = static_cast<std::int64_t>(header.size());
  std::int64_t bytes = static_cast<std::int64_t>(element_size(type));
  for (const std::int64_t extent : shape) {
    TDSL_CHECK(extent >= 0 && !__builtin_mul_overflow(bytes, extent, &bytes), "an output has a size");
  }
  if (unfinished == Unfinished::kUnnamed) {
    w.create_unnamed();
  }
  if (w.fd_ < 0) {
    w.create_named(path);
  }
  w.creator_ = true;  // from here on the destructor unlinks
  if (mode != 0 && ::fchmod(w.fd_, mode) != 0) {
    fail_file(path, "cannot set the mode of", errno);
  }
  reserve(w.fd_, w.data_offset_ + bytes, path);
  write_at(w.fd_, std::as_bytes(std::span(header)), 0, path);
  return w;
}

/// Leaves fd_ negative where the file system has no such files, or where /proc does not show them.
void NpyWriter::create_unnamed() {
  fd_ = ::open(directory_of(path_).c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    return;
  }
  temporary_ = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(fd_);
  const int again = ::open(temporary_.c_str(), O_WRONLY | O_CLOEXEC);
  if (again < 0 || file_number(again) != file_number(fd_)) {
    ::close(std::exchange(fd_, -1));
  }
  if (again >= 0) {
    ::close(again);
  }
}

void NpyWriter::create_named(const std::string& path) {
  named_ = true;
  temporary_ = temporary_name(path_);
  // Registered before it exists, so that no signal finds it unregistered.
  slot_ = register_temporary(temporary_);
  fd_ = ::open(temporary_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd_ < 0) {
    const int error = errno;
    release();
    fail_file(path, "cannot write", error);
  }
}

/// The name from which `rename` replaces the target in one step.
void NpyWriter::give_temporary_name() {
  const std::string descriptor = std::exchange(temporary_, temporary_name(path_));
  slot_ = register_temporary(temporary_);
  named_ = true;
  if (::linkat(AT_FDCWD, descriptor.c_str(), AT_FDCWD, temporary_.c_str(), AT_SYMLINK_FOLLOW) != 0) {
    fail_file(path_, "cannot give the finished file its name", errno);
  }
}

std::string NpyWriter::token() const {
  // Parts end in a zero byte, the one character a file name cannot hold.
  std::string token;
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(path_);
  put(temporary_);
  put(named_ ? "" : file_number(fd_));
  put(element_name(type_));
  put(std::to_string(data_offset_));
  for (const std::int64_t extent : shape_) {
    put(std::to_string(extent));
  }
  return token;
}

NpyWriter NpyWriter::open(std::string_view token) {
  const auto take = [&token] {
    const std::size_t end = token.find('\0');
    TDSL_CHECK(end != std::string_view::npos, "a token made by NpyWriter::token");
    const std::string part(token.substr(0, end));
    token.remove_prefix(end + 1);
    return part;
  };
  NpyWriter w;
  w.path_ = take();
  w.temporary_ = take();
  const std::string number = take();
  w.named_ = number.empty();
  const auto type = element_type_named(take());
  TDSL_CHECK(type.has_value(), "a token made by NpyWriter::token");
  w.type_ = *type;
  w.data_offset_ = std::stoll(take());
  while (!token.empty()) {
    w.shape_.push_back(std::stoll(take()));
  }
  if (w.named_) {
    w.slot_ = register_temporary(w.temporary_);
  }
  w.fd_ = ::open(w.temporary_.c_str(), O_WRONLY | O_CLOEXEC);
  if (w.fd_ < 0 || (!w.named_ && file_number(w.fd_) != number)) {
    const int error = w.fd_ < 0 ? errno : ESTALE;
    w.release();
    fail_file(w.path_, "cannot write from every rank (do all nodes see its directory?)", error);
  }
  return w;
}

NpyWriter::NpyWriter(NpyWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      named_(other.named_),
      type_(other.type_),
      shape_(std::move(other.shape_)),
      data_offset_(other.data_offset_),
      fd_(std::exchange(other.fd_, -1)),
      slot_(std::exchange(other.slot_, -1)),
      creator_(std::exchange(other.creator_, false)) {}

NpyWriter::~NpyWriter() {
  if (creator_) {
    discard();
  } else {
    release();
  }
}

template <Element T>
void NpyWriter::write_box(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, const T* src,
                          std::span<const std::int64_t> strides) const {
  TDSL_CHECK(fd_ >= 0 && type_ == element_type_of<T>, "an open file of the written type");
  const BoxRows rows(shape_, false, lo, hi, strides);
  RowWriter<T> writer(fd_, data_offset_, path_, src);
  rows.for_each([&](const FileRow& row) { writer.add(row); });
  writer.flush();
}

void NpyWriter::sync() const {
  TDSL_CHECK(fd_ >= 0, "sync of an open file");
  if (::fsync(fd_) != 0) {
    fail_file(path_, "cannot write", errno);
  }
}

void NpyWriter::commit() {
  TDSL_CHECK(fd_ >= 0 && creator_, "only the creator commits, once");
  sync();
  if (!named_) {
    give_temporary_name();
  }
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    fail_file(path_, "cannot give the finished file its name", errno);
  }
  creator_ = false;
  release();
  // The new name itself must survive a crash; file systems that cannot sync a directory have nothing to lose.
  const int directory = ::open(directory_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (directory >= 0) {
    ::fsync(directory);
    ::close(directory);
  }
}

void NpyWriter::discard() noexcept {
  if (fd_ >= 0 && named_) {
    ::unlink(temporary_.c_str());
  }
  creator_ = false;
  release();
}

void NpyWriter::release() noexcept {
  forget_temporary(std::exchange(slot_, -1));
  if (fd_ >= 0) {
    ::close(std::exchange(fd_, -1));
  }
}

#define TDSL_INSTANTIATE(T)                                                                                     \
  template void NpyWriter::write_box<T>(std::span<const std::int64_t>, std::span<const std::int64_t>, const T*, \
                                        std::span<const std::int64_t>) const;
TDSL_INSTANTIATE(bool)
TDSL_INSTANTIATE(std::int32_t)
TDSL_INSTANTIATE(std::int64_t)
TDSL_INSTANTIATE(float)
TDSL_INSTANTIATE(double)
#undef TDSL_INSTANTIATE

}  // namespace tdsl::rt

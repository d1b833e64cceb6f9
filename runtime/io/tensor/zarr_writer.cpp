#include <fcntl.h>
#include <linux/fs.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/temporaries.h"
#include "runtime/io/tensor/zarr.h"

// Life cycle of a tile directory being written: temporary name, sync, final name.

namespace tdsl::rt {

namespace {

/// Tokens of other writers begin with a path.
constexpr std::string_view kZarrMark{"\1zarr\0", 6};

void sync_path(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool good = fd >= 0 && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (!good) fail_file(path, "cannot write", error);
}

void write_whole(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) fail_file(path, "cannot write", errno);
  try {
    write_at(fd, std::as_bytes(std::span(text)), 0, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  ::close(fd);
}

void require_room(const std::string& folder, const std::string& path, ElementType type, ExtentSpan shape) {
  double bytes = static_cast<double>(element_size(type));
  for (const std::int64_t extent : shape) bytes *= static_cast<double>(extent);
  struct statvfs disk {};
  if (::statvfs(folder.c_str(), &disk) != 0 || disk.f_frsize == 0 || disk.f_blocks == 0) return;
  const double room = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize);
  if (room >= bytes) return;
  throw RunError("cannot write `" + path + "`: it needs " + format_bytes(static_cast<std::int64_t>(bytes)) +
                 ", the disk has " + format_bytes(static_cast<std::int64_t>(room)) + " left [disk-full]");
}

bool is_there(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

void require_zarr_target(const std::string& path) {
  if (::access(directory_of(path).c_str(), W_OK | X_OK) != 0) fail_file(path, "cannot write", errno);
  struct stat target {};
  if (::stat(path.c_str(), &target) != 0) return;
  if (!S_ISDIR(target.st_mode))
    throw RunError("cannot write `" + path + "`: it is not a directory of tiles [cannot-write]");
  if (!is_there(path + "/.zarray"))
    throw RunError("cannot write `" + path + "`: this directory is no Zarr array; only one is replaced [cannot-write]");
}

std::shared_ptr<ZarrWriter> ZarrWriter::create(const std::string& path, ElementType type, ExtentSpan shape) {
  const std::string target = resolve_target(path);
  require_zarr_target(target);
  require_room(directory_of(target), path, type, shape);
  const std::shared_ptr<ZarrWriter> w(new ZarrWriter());
  w->path_ = target;
  w->type_ = type;
  w->shape_.assign(shape.begin(), shape.end());
  w->tile_ = zarr_tile(type, shape);
  const std::string temporary = temporary_name(target);
  // Registered before creation, so that a signal never finds it unregistered.
  w->slot_ = register_temporary(temporary);
  if (::mkdir(temporary.c_str(), 0777) != 0) fail_file(path, "cannot write", errno);
  w->temporary_ = temporary;
  w->lock_ = ::open(temporary.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  mark_temporary(w->lock_);
  write_whole(temporary + "/.zarray", zarray_text(type, shape, w->tile_));
  return w;
}

std::string ZarrWriter::token() const {
  std::string token(kZarrMark);
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(path_);
  put(temporary_);
  put(element_name(type_));
  for (const std::int64_t extent : shape_) put(std::to_string(extent));
  return token;
}

std::shared_ptr<ZarrWriter> ZarrWriter::open(std::string_view token) {
  if (!token.starts_with(kZarrMark)) return nullptr;
  token.remove_prefix(kZarrMark.size());
  const std::shared_ptr<ZarrWriter> w(new ZarrWriter());
  w->path_ = take_token_part(token);
  w->temporary_ = take_token_part(token);
  w->slot_ = register_temporary(w->temporary_);
  w->type_ = element_type_named(take_token_part(token)).value_or(ElementType::kF64);
  while (!token.empty()) w->shape_.push_back(std::stoll(take_token_part(token)));
  w->tile_ = zarr_tile(w->type_, w->shape_);
  if (!is_there(w->temporary_ + "/.zarray")) {
    throw RunError("`" + w->path_ +
                   "` is being written where this rank does not see it: outputs need a file system that all ranks "
                   "share [cannot-write]");
  }
  return w;
}

void ZarrWriter::sync() const {
  const std::scoped_lock lock(mutex_);
  for (const std::string& name : written_) sync_path(temporary_ + "/" + name);
}

void ZarrWriter::commit() {
  sync_path(temporary_ + "/.zarray");
  sync_path(temporary_);
  if (!is_there(path_)) {
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail_file(path_, "cannot write", errno);
  } else if (::renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, path_.c_str(), RENAME_EXCHANGE) == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(temporary_, ignored);
  } else {  // no atomic exchange on this file system: for a moment neither version exists
    const std::string old =
        path_ + ".before-" + std::to_string(::getpid());  // not a name that another run removes as a leftover
    if (::rename(path_.c_str(), old.c_str()) != 0) fail_file(path_, "cannot write", errno);
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
      const int error = errno;
      if (::rename(old.c_str(), path_.c_str()) != 0)
        throw RunError("cannot write `" + path_ + "`: " + std::strerror(error) + "; the previous version is now `" +
                       old + "` [cannot-write]");
      fail_file(path_, "cannot write", error);
    }
    std::error_code ignored;
    std::filesystem::remove_all(old, ignored);
  }
  release();
  ::close(std::exchange(lock_, -1));
  sync_path(directory_of(path_));
}

void ZarrWriter::release() noexcept {
  temporary_.clear();
  forget_temporary(std::exchange(slot_, -1));
}

ZarrWriter::~ZarrWriter() {
  if (lock_ >= 0) {
    std::error_code ignored;
    if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
    ::close(lock_);
  }
  release();
}

}  // namespace tdsl::rt

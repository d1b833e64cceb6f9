#include "runtime/disk/spill_file.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include "runtime/base/number_format.h"
#include "runtime/check.h"
#include "runtime/io/file_system.h"
#include "runtime/plan/home.h"

namespace tdsl::rt {

using plan::Index;
using plan::kDiskGrain;

namespace {

constexpr Index kBuffer = Index{1} << 20;
/// Runs separated by at most this many bytes are read together.
constexpr Index kNear = 16 << 10;

Index grains_below(Index bytes) { return bytes / kDiskGrain * kDiskGrain; }
Index grains_above(Index bytes) { return grains_below(bytes + kDiskGrain - 1); }
bool is_aligned(const std::byte* data) { return reinterpret_cast<std::uintptr_t>(data) % kDiskGrain == 0; }

struct FreeBuffer {
  void operator()(std::byte* data) const { std::free(data); }
};

}  // namespace

std::string unfit_to_spill(const std::string& folder) {
  switch (file_system_of(folder)) {
    case FileSystem::kMemory: return "is memory, not a disk";
    case FileSystem::kShared: return "is on a network";
    case FileSystem::kLocal: break;
  }
  return {};
}

SpillFile::SpillFile(std::string folder, Index bytes, bool insisted, int ranks, bool cached)
    : folder_(std::move(folder)) {
  if (const std::string why = insisted || folder_.empty() ? std::string() : unfit_to_spill(folder_); !why.empty()) {
    throw RunError("what memory has no room for cannot be kept in `" + folder_ + "`: it " + why +
                   "; name a folder on a local disk with --spill DIR (or this one, if it is to be) [spill]");
  }
  try {
    if (!folder_.empty()) {
      open_file(cached);
      reserve(bytes, ranks);
    }
  } catch (...) {
    if (direct_ >= 0) ::close(direct_);
    if (fd_ >= 0) ::close(fd_);
    throw;
  }
  for (std::size_t k = 0; k < threads_.size(); ++k) threads_[k] = std::thread([this, k] { work(static_cast<int>(k)); });
}

SpillFile::~SpillFile() {
  stop();
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  if (direct_ >= 0) ::close(direct_);
  if (fd_ >= 0) ::close(fd_);
}

void SpillFile::fail(const std::string& what, int error) const {
  throw RunError("cannot " + what + " in `" + folder_ + "` (--spill): " + std::strerror(error) + " [spill]");
}

/// Opens an unnamed file, or a named one that is unlinked at once.
void SpillFile::open_file(bool cached) {
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (fd_ < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    std::string name = folder_ + "/.tdsl-spill-XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) ::unlink(name.c_str());
  }
  if (fd_ < 0) fail("keep blocks", errno);
  if (cached) return;
  direct_ = ::open(("/proc/self/fd/" + std::to_string(fd_)).c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
  if (direct_ >= 0 && !transfers_grains()) ::close(std::exchange(direct_, -1));
}

/// True if the file supports direct I/O: some file systems accept O_DIRECT but reject transfers of our grain size.
bool SpillFile::transfers_grains() const {
  const std::unique_ptr<std::byte, FreeBuffer> grain(
      static_cast<std::byte*>(std::aligned_alloc(kDiskGrain, kDiskGrain)));
  if (grain == nullptr) return false;
  std::memset(grain.get(), 0, kDiskGrain);
  try {
    write_at(direct_, 0, kDiskGrain, grain.get());
    read_at(direct_, 0, kDiskGrain, grain.get());
  } catch (const RunError&) { return false; }
  return true;
}

/// Checks free space before reserving: a failed reservation may hold all of it until the file is truncated, so that
/// other programs would find the disk full. If the file system cannot reserve, no rank of the node has written yet, so
/// the free space must suffice for all of them.
void SpillFile::reserve(Index bytes, int ranks) const {
  if (bytes == 0) return;
  const std::optional<Index> free = free_bytes();
  if (free && *free < bytes) no_room(bytes, ranks, free);
  int error = EINTR;
  while (error == EINTR) {
    if (::fallocate(fd_, 0, 0, bytes) == 0) return;
    error = errno;
  }
  const bool unsupported = error == EOPNOTSUPP || error == ENOSYS;
  if (unsupported && (!free || *free / std::max(ranks, 1) >= bytes)) return;
  if (unsupported) no_room(bytes, ranks, free);
  if (::ftruncate(fd_, 0) != 0) fail("cut", errno);
  if (error != ENOSPC && error != EFBIG && error != EDQUOT) fail("make room for " + format_bytes(bytes), error);
  no_room(bytes, ranks, free_bytes());
}

std::optional<Index> SpillFile::free_bytes() const {
  struct statvfs about {};
  if (::fstatvfs(fd_, &about) != 0) return std::nullopt;
  return static_cast<Index>(about.f_bavail) * static_cast<Index>(about.f_frsize);
}

/// The free space may have been reserved by the node's other ranks in the meantime, and released again.
void SpillFile::no_room(Index bytes, int ranks, std::optional<Index> free) const {
  const std::string keeper = ranks > 1 ? "each of " + std::to_string(ranks) + " ranks of a node" : "a rank";
  const std::string all = ranks > 1 ? ", " + format_bytes(bytes * ranks) + " in all" : "";
  throw RunError("there is no room for the " + format_bytes(bytes) + " that " + keeper + " keeps on disk in `" +
                 folder_ + "`" + all + (free ? ", which has " + format_bytes(*free) + " free" : std::string()) +
                 "; name another folder with --spill DIR, or give more --memory or ranks [disk-full]");
}

void SpillFile::tell(std::function<void(int)> when) {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return working_ == 0 || when_ == nullptr; });  // a callback is running
  when_ = std::move(when);
}

void SpillFile::stop() {
  std::unique_lock lock(mutex_);
  requests_.clear();
  idle_.wait(lock, [this] { return working_ == 0; });
}

std::size_t SpillFile::test_some(std::vector<DiskCompletion>& done) {
  const std::lock_guard lock(mutex_);
  const std::size_t count = done_.size();
  std::move(done_.begin(), done_.end(), std::back_inserter(done));
  done_.clear();
  return count;
}

void SpillFile::queue(Request request) {
  {
    const std::lock_guard lock(mutex_);
    requests_.push_back(std::move(request));
  }
  wake_.notify_one();
}

void SpillFile::begin_write(Index offset, std::span<const std::byte> from, std::uint64_t cookie) {
  queue({cookie, [this, offset, from](std::byte* buffer) { write_now(offset, from, buffer); }});
}
void SpillFile::begin_read(const DiskBox& box, std::byte* to, std::uint64_t cookie) {
  queue({cookie, [this, box, to](std::byte* buffer) { read_now(box, to, buffer); }});
}
void SpillFile::begin_load(std::function<void()> read, std::uint64_t cookie) {
  queue({cookie, [read = std::move(read)](std::byte*) { read(); }});
}

void SpillFile::work(int thread) {
  const std::unique_ptr<std::byte, FreeBuffer> buffer(
      static_cast<std::byte*>(std::aligned_alloc(kDiskGrain, kBuffer + kDiskGrain)));
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return over_ || !requests_.empty(); });
    if (over_) return;
    Request request = std::move(requests_.front());
    requests_.pop_front();
    ++working_;
    const std::function<void(int)> when = when_;
    lock.unlock();
    DiskCompletion completion{request.cookie, {}, thread, DiskCompletion::Clock::now(), {}};
    try {
      if (buffer == nullptr) throw std::bad_alloc();
      request.work(buffer.get());
    } catch (const std::bad_alloc&) { completion.error = "out of memory"; } catch (const std::exception& error) {
      completion.error = error.what();
    }
    completion.ended = DiskCompletion::Clock::now();
    request.work = nullptr;  // it may own memory, which must be released by the time of completion
    lock.lock();
    done_.push_back(std::move(completion));
    lock.unlock();
    if (when) when(thread);
    lock.lock();
    if (--working_ == 0) idle_.notify_all();
  }
}

// --- bytes -----------------------------------------------------------------------------------------------------------

void SpillFile::write_at(int fd, Index offset, Index bytes, const std::byte* from) const {
  while (bytes > 0) {
    const ssize_t n = ::pwrite(fd, from, static_cast<std::size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("write a block", errno);
    offset += n;
    from += n;
    bytes -= n;
  }
}

void SpillFile::read_at(int fd, Index offset, Index bytes, std::byte* to) const {
  while (bytes > 0) {
    const ssize_t n = ::pread(fd, to, static_cast<std::size_t>(bytes), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail("read a block", errno);
    if (n == 0) fail("read a block", EIO);
    offset += n;
    to += n;
    bytes -= n;
  }
}

/// Writes cached data back and drops it from the page cache. Until the kernel has confirmed the write, the cache may
/// hold the only copy.
void SpillFile::settle(Index offset, Index bytes) const {
  if (::sync_file_range(fd_, offset, bytes,
                        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER) == 0) {
    drop(offset, bytes);
    return;
  }
  if (errno != ENOSYS && errno != ESPIPE && errno != EINVAL) fail("write a block", errno);
  drops_ = false;  // not supported by this file system
}

void SpillFile::drop(Index offset, Index bytes) const {
  if (drops_) ::posix_fadvise(fd_, offset, bytes, POSIX_FADV_DONTNEED);
}

/// Writes whole grains directly, and the remainder of an extent through the buffer.
void SpillFile::write_now(Index offset, std::span<const std::byte> from, std::byte* buffer) const {
  const auto bytes = static_cast<Index>(from.size());
  if (direct_ < 0) {
    write_at(fd_, offset, bytes, from.data());
    settle(offset, bytes);
    return;
  }
  Index written = is_aligned(from.data()) ? grains_below(bytes) : 0;
  write_at(direct_, offset, written, from.data());
  while (written < bytes) {
    const Index part = std::min(bytes - written, kBuffer);
    std::memcpy(buffer, from.data() + written, static_cast<std::size_t>(part));
    std::memset(buffer + part, 0, static_cast<std::size_t>(grains_above(part) - part));
    write_at(direct_, offset + written, grains_above(part), buffer);
    written += part;
  }
}

void SpillFile::read_run(Index offset, Index bytes, std::byte* to, std::byte* buffer) const {
  if (direct_ < 0) return read_at(fd_, offset, bytes, to);
  Index done = 0;
  if (is_aligned(to) && offset % kDiskGrain == 0) {
    done = grains_below(bytes);
    read_at(direct_, offset, done, to);
  }
  while (done < bytes) {
    const Index begin = grains_below(offset + done);
    const Index skipped = offset + done - begin;
    const Index part = std::min(bytes - done, kBuffer - skipped);
    read_at(direct_, begin, grains_above(skipped + part), buffer);
    std::memcpy(to + done, buffer + skipped, static_cast<std::size_t>(part));
    done += part;
  }
}

/// Combines short runs that are close together into one read.
void SpillFile::read_now(const DiskBox& box, std::byte* to, std::byte* buffer) const {
  struct Run {
    Index offset, bytes, place;
  };
  std::vector<Run> together;
  const auto end_of = [](const Run& run) { return run.offset + run.bytes; };
  const auto read = [&] {
    if (together.empty()) return;
    if (together.size() == 1) {
      const Run& run = together.front();
      read_run(run.offset, run.bytes, to + run.place, buffer);
    } else {
      const Index begin = grains_below(together.front().offset);
      const Index end = end_of(together.back());
      read_at(direct_ < 0 ? fd_ : direct_, begin, direct_ < 0 ? end - begin : grains_above(end - begin), buffer);
      for (const Run& run : together)
        std::memcpy(to + run.place, buffer + (run.offset - begin), static_cast<std::size_t>(run.bytes));
    }
    together.clear();
  };
  for_each_run(box, [&](Index offset, Index bytes, Index place) {
    if (!together.empty()) {
      const bool near = offset - end_of(together.back()) <= std::max(kNear, bytes);
      if (!near || offset + bytes - grains_below(together.front().offset) > kBuffer) read();
    }
    together.push_back({offset, bytes, place});
  });
  read();
  if (direct_ < 0) drop(box.offset, grains_above(box.whole.volume() * box.element_bytes));
}

}  // namespace tdsl::rt

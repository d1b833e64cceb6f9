#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/disk/extents.h"
#include "runtime/plan/space/index.h"

/// Storage for blocks evicted from memory. Executables use a file (spill_file.h); tests simulate one. The engine calls
/// everything except `stop` while holding its lock, so no call blocks.
namespace tdsl::rt {

/// The box `part` of an array of `whole`, stored in C order in the disk's file at `offset`.
struct DiskBox {
  plan::Index offset = 0;
  plan::Index element_bytes = 1;
  plan::Box whole, part;
};
/// Calls f(file offset, bytes, offset in the dense part) for each contiguous run of the part.
void for_each_run(const DiskBox& box, const std::function<void(plan::Index, plan::Index, plan::Index)>& f);

/// Maximum number of I/O threads of a disk.
inline constexpr int kDiskThreads = 2;

/// A completed request.
struct DiskCompletion {
  using Clock = std::chrono::steady_clock;
  std::uint64_t cookie = 0;
  std::string error;  ///< empty on success
  int thread = 0;     ///< the thread that executed it
  Clock::time_point begun, ended;
};

/// Bytes of blocks and pieces, before any rounding by the file system.
struct DiskTraffic {
  plan::Index written = 0;
  plan::Index read = 0;    ///< reads of spilled data
  plan::Index loaded = 0;  ///< reads of input files that serve as storage
  plan::Index requests = 0;
};

class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  // Requests. Offsets and sizes are in bytes. Cookies are chosen by the caller and unique among pending requests.
  // Requests execute and complete in any order, even for the same range: read a block only after its write has
  // completed. Errors are reported in DiskCompletion, never as exceptions.

  /// The memory must not change until the completion with `cookie`.
  void write(plan::Index offset, std::span<const std::byte> from, std::uint64_t cookie);
  /// Reads the part's elements in C order into `to`, which belongs to the disk until completion.
  void read(const DiskBox& box, std::byte* to, std::uint64_t cookie);
  /// Calls `read`, the reader of another file, on one of the disk's threads; an exception becomes the request's error.
  /// `bytes` are counted as traffic.
  void load(std::function<void()> read, plan::Index bytes, std::uint64_t cookie);
  /// Appends the requests completed since the last call; returns their number.
  virtual std::size_t test_some(std::vector<DiskCompletion>& done) = 0;

  /// Sets a callback that a disk thread calls, with its number, after requests have completed; null: no callback.
  virtual void tell(std::function<void(int)> when) = 0;
  /// True if callbacks are not supported, so that test_some must be polled.
  [[nodiscard]] virtual bool must_be_asked() const { return false; }
  /// Cancels requests that have not started; returns when none is pending.
  virtual void stop() = 0;

  [[nodiscard]] DiskSpace& extents() { return extents_; }
  [[nodiscard]] const DiskSpace& extents() const { return extents_; }
  [[nodiscard]] const DiskTraffic& traffic() const { return traffic_; }

 private:
  virtual void begin_write(plan::Index offset, std::span<const std::byte> from, std::uint64_t cookie) = 0;
  virtual void begin_read(const DiskBox& box, std::byte* to, std::uint64_t cookie) = 0;
  virtual void begin_load(std::function<void()> read, std::uint64_t cookie) = 0;

  DiskSpace extents_;
  DiskTraffic traffic_;
};

}  // namespace tdsl::rt

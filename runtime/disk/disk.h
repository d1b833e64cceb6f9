#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "runtime/disk/extents.h"
#include "runtime/plan/space/index.h"

/// Where blocks are that are not in memory. Executables have a file (spill_file.h); tests simulate one. The engine
/// calls everything but `stop` under its lock: nothing here waits.
namespace tdsl::rt {

/// The box `part` of an array of `whole` that lies in C order in the disk's file, from `offset` on.
struct DiskBox {
  plan::Index offset = 0;
  plan::Index element_bytes = 1;
  plan::Box whole, part;
};
/// Calls f(place in the file, bytes, place in the dense part) for the runs of consecutive bytes that make up the part.
void for_each_run(const DiskBox& box, const std::function<void(plan::Index, plan::Index, plan::Index)>& f);

/// Threads that a disk may have of its own.
inline constexpr int kDiskThreads = 2;

/// A request that is over.
struct DiskCompletion {
  using Clock = std::chrono::steady_clock;
  std::uint64_t cookie = 0;
  std::string error;  ///< empty: it is done
  int thread = 0;     ///< that has done it
  Clock::time_point begun, ended;
};

/// Bytes of blocks and pieces, whatever the file system makes of them.
struct DiskTraffic {
  plan::Index written = 0;
  plan::Index read = 0;    ///< of what was written
  plan::Index loaded = 0;  ///< of files that are homes themselves
  plan::Index requests = 0;
};

class Disk {
 public:
  Disk() = default;
  Disk(const Disk&) = delete;
  Disk& operator=(const Disk&) = delete;
  virtual ~Disk() = default;

  // Requests. Offsets and sizes are in bytes. A cookie is the caller's, and no two requests under way have the same
  // one. Requests are carried out, and end, in any order, also those of one place: a block is read after its write has
  // ended. An error is in its DiskCompletion, never an exception.

  /// Memory must stay as it is until the completion with `cookie`.
  void write(plan::Index offset, std::span<const std::byte> from, std::uint64_t cookie);
  /// `to` gets the part's elements, in C order, and is the disk's until the completion.
  void read(const DiskBox& box, std::byte* to, std::uint64_t cookie);
  /// Another file's reader does the work, in a thread of the disk's; it may throw, which is the request's error.
  /// `bytes` are counted.
  void load(std::function<void()> read, plan::Index bytes, std::uint64_t cookie);
  /// Appends what is over since the last call; returns how many.
  virtual std::size_t test_some(std::vector<DiskCompletion>& done) = 0;

  /// From now on `when` is called by a thread of the disk's, with its number, after requests have ended; null: nobody
  /// is.
  virtual void tell(std::function<void(int)> when) = 0;
  /// Whether nobody is told, so that test_some has to be called again and again.
  [[nodiscard]] virtual bool must_be_asked() const { return false; }
  /// What has not begun never will; returns when nothing is under way.
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

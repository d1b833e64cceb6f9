#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/disk/disk.h"

namespace tdsl::rt {

/// An unnamed file for blocks evicted from memory. It disappears when the process ends, for any reason.
///
/// Two threads read and write, bypassing the page cache where the file system allows it (O_DIRECT): caching would take
/// the memory that spilling is to save. Transfers that are not aligned to grains go through the threads' buffers.
class SpillFile final : public Disk {
 public:
  /// Creates the file in `folder`, with room for `bytes`. Throws RunError if there is no room, or if the folder is
  /// unsuitable for bulk data (in memory, or on another machine's disk), unless the user `insisted` on it. With an
  /// empty folder only input files are read. `ranks` of this node use as much space each. `cached` (for tests): behaves
  /// as if O_DIRECT were unsupported.
  SpillFile(std::string folder, plan::Index bytes, bool insisted, int ranks = 1, bool cached = false);
  ~SpillFile() override;

  std::size_t test_some(std::vector<DiskCompletion>& done) override;
  void tell(std::function<void(int)> when) override;
  void stop() override;
  [[nodiscard]] const std::string& folder() const { return folder_; }
  /// True if the page cache is bypassed.
  [[nodiscard]] bool direct() const { return direct_ >= 0; }

 private:
  struct Request {
    std::uint64_t cookie = 0;
    std::function<void(std::byte*)> work;  ///< takes the thread's buffer
  };

  void begin_write(plan::Index offset, std::span<const std::byte> from, std::uint64_t cookie) override;
  void begin_read(const DiskBox& box, std::byte* to, std::uint64_t cookie) override;
  void begin_load(std::function<void()> read, std::uint64_t cookie) override;
  void queue(Request request);
  void work(int thread);

  void open_file(bool cached);
  [[nodiscard]] bool transfers_grains() const;
  void reserve(plan::Index bytes, int ranks) const;
  [[nodiscard]] std::optional<plan::Index> free_bytes() const;
  [[noreturn]] void no_room(plan::Index bytes, int ranks, std::optional<plan::Index> free) const;
  void write_now(plan::Index offset, std::span<const std::byte> from, std::byte* buffer) const;
  void settle(plan::Index offset, plan::Index bytes) const;
  void drop(plan::Index offset, plan::Index bytes) const;
  void read_now(const DiskBox& box, std::byte* to, std::byte* buffer) const;
  void read_run(plan::Index offset, plan::Index bytes, std::byte* to, std::byte* buffer) const;
  void read_at(int fd, plan::Index offset, plan::Index bytes, std::byte* to) const;
  void write_at(int fd, plan::Index offset, plan::Index bytes, const std::byte* from) const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string folder_;
  int fd_ = -1;
  int direct_ = -1;                         ///< the same file opened with O_DIRECT; negative if unsupported
  mutable std::atomic<bool> drops_ = true;  ///< data written is dropped from the page cache

  std::mutex mutex_;
  std::condition_variable wake_, idle_;
  std::deque<Request> requests_;
  std::vector<DiskCompletion> done_;
  std::function<void(int)> when_;
  int working_ = 0;
  bool over_ = false;
  std::array<std::thread, kDiskThreads> threads_;
};

/// Why a folder is unsuitable for spilling; empty if it is suitable.
[[nodiscard]] std::string unfit_to_spill(const std::string& folder);

}  // namespace tdsl::rt

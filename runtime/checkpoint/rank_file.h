#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "runtime/io/open_file.h"
#include "runtime/plan/op.h"

// A rank's file of a checkpoint: its blocks, each from a multiple of 4 KiB on, then a footer that says where they are.
// Numbers in the footer are little-endian; a box is the row-major bytes of its elements, a compressed block its own
// bytes, an absent one none.
//
//     blocks | entries {tensor, rank, lo[8], hi[8], offset, bytes, XXH64 of them} | magic, entries, offset of the
//     first, XXH64 of all that from the entries on

namespace tdsl::rt::checkpoint {

using plan::Box;
using plan::Index;

/// A block in a rank's file.
struct SavedBlock {
  plan::TensorId tensor = -1;
  Box box;
  Index offset = 0;
  Index bytes = 0;
  std::uint64_t sum = 0;
};

/// What the manifest says of a file.
struct FileSeal {
  Index bytes = 0;
  std::uint64_t footer = 0;  ///< XXH64
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};

class RankFileWriter {
 public:
  /// Throws RunError, also where there is such a file.
  explicit RankFileWriter(std::string path);
  ~RankFileWriter();
  RankFileWriter(const RankFileWriter&) = delete;
  RankFileWriter& operator=(const RankFileWriter&) = delete;

  /// Any thread, several at a time. Throws RunError.
  void write(plan::TensorId tensor, const Box& box, std::span<const std::byte> bytes);
  /// The footer, and everything down to the disk. Nothing is written afterwards.
  [[nodiscard]] FileSeal finish();

 private:
  std::string path_;
  int fd_ = -1;
  std::mutex mutex_;
  Index end_ = 0;
  std::vector<SavedBlock> blocks_;
};

/// All functions that read throw RunError that names the file where the system cannot read it. Any thread, several at a
/// time.
class RankFileReader {
 public:
  /// Reads the footer. Throws Damaged where size or footer are not those of the seal.
  RankFileReader(std::string path, const FileSeal& seal);

  [[nodiscard]] const std::vector<SavedBlock>& blocks() const { return blocks_; }
  /// The block that is this box; null: there is none.
  [[nodiscard]] const SavedBlock* find(plan::TensorId tensor, const Box& box) const;
  /// `bytes.size()` bytes of a block from byte `from` of it on, which must lie inside; not verified.
  void read(const SavedBlock& block, Index from, std::span<std::byte> bytes) const;
  /// Compares every block with its sum; Damaged has the name that `name_of` gives the tensor of the first one that
  /// differs, if any, or its number.
  void verify(const std::function<std::string(plan::TensorId)>& name_of = {}) const;

 private:
  OpenFile file_;
  std::vector<SavedBlock> blocks_;  ///< sorted by tensor and corner
};

}  // namespace tdsl::rt::checkpoint

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

// A rank's file of a checkpoint: its blocks, each at a multiple of 4 KiB, then a footer with their positions. Numbers
// in the footer are little-endian; a box is stored as the row-major bytes of its elements, a compressed block as its
// own bytes, an absent one as none.
//
//     blocks | entries {tensor, rank, lo[8], hi[8], offset, bytes, XXH64 of them} | magic, entries, offset of the
//     first, XXH64 of the preceding bytes from the entries on

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

/// The manifest's record of a file.
struct FileSeal {
  Index bytes = 0;
  std::uint64_t footer = 0;  ///< XXH64
  friend bool operator==(const FileSeal&, const FileSeal&) = default;
};

class RankFileWriter {
 public:
  /// Throws RunError, also if the file exists.
  explicit RankFileWriter(std::string path);
  ~RankFileWriter();
  RankFileWriter(const RankFileWriter&) = delete;
  RankFileWriter& operator=(const RankFileWriter&) = delete;

  /// Thread-safe. Throws RunError.
  void write(plan::TensorId tensor, const Box& box, std::span<const std::byte> bytes);
  /// Writes the footer and syncs the file to disk. No writes may follow.
  [[nodiscard]] FileSeal finish();

 private:
  std::string path_;
  int fd_ = -1;
  std::mutex mutex_;
  Index end_ = 0;
  std::vector<SavedBlock> blocks_;
};

/// Functions that read throw RunError with the file's name if the system cannot read it. Thread-safe.
class RankFileReader {
 public:
  /// Reads the footer. Throws Damaged if size or footer differ from the seal.
  RankFileReader(std::string path, const FileSeal& seal);

  [[nodiscard]] const std::vector<SavedBlock>& blocks() const { return blocks_; }
  /// The block of exactly this box; null: none.
  [[nodiscard]] const SavedBlock* find(plan::TensorId tensor, const Box& box) const;
  /// Reads `bytes.size()` bytes from byte `from` of the block, all within it; not verified.
  void read(const SavedBlock& block, Index from, std::span<std::byte> bytes) const;
  /// Compares every block with its checksum; throws Damaged with the tensor of the first block that differs: the name
  /// given by `name_of`, or the number.
  void verify(const std::function<std::string(plan::TensorId)>& name_of = {}) const;

 private:
  OpenFile file_;
  std::vector<SavedBlock> blocks_;  ///< sorted by tensor and corner
};

}  // namespace tdsl::rt::checkpoint

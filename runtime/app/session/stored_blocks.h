#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/checkpoint/manifest.h"
#include "runtime/kernels/task.h"
#include "runtime/sparse/block.h"

namespace tdsl::rt {

/// Bytes aligned to 64, like blocks.
class BlockBytes {
 public:
  explicit BlockBytes(Index bytes) : lines_(static_cast<std::size_t>(plan::ceil_div(bytes, kLine))) {}
  [[nodiscard]] std::byte* data() { return lines_.empty() ? nullptr : lines_.front().bytes.data(); }

 private:
  static constexpr Index kLine = 64;
  struct alignas(kLine) Line {
    std::array<std::byte, kLine> bytes;
  };
  std::vector<Line> lines_;
};

/// The blocks of a checkpoint. The files with the blocks that overlap a box follow from the saved layout of the tensor,
/// so any number of ranks can read them: only the overlap, in pieces of about 1 MiB, with few files open at a time.
class StoredBlocks : public std::enable_shared_from_this<StoredBlocks> {
 public:
  StoredBlocks(std::string checkpoint, checkpoint::Manifest manifest)
      : checkpoint_(std::move(checkpoint)), manifest_(std::move(manifest)) {}

  [[nodiscard]] const std::string& checkpoint() const { return checkpoint_; }
  [[nodiscard]] const checkpoint::Manifest& manifest() const { return manifest_; }
  /// The kernel that reads a task's output from the saved blocks.
  [[nodiscard]] Kernel kernel(const checkpoint::LiveTensor& tensor) const;

 private:
  using Reader = std::shared_ptr<const checkpoint::RankFileReader>;
  /// A block that overlaps a box.
  struct Meeting {
    Index rank = 0;  ///< the rank whose file has it
    checkpoint::SavedBlock block;
    sparse::BlockHead head;  ///< for a block of data-dependent size
  };
  [[nodiscard]] Reader file(const checkpoint::LiveTensor& tensor, Index rank) const;
  [[nodiscard]] std::vector<Meeting> meeting(const checkpoint::LiveTensor& tensor, const Box& box) const;
  void read_dense(const checkpoint::LiveTensor& tensor, const TaskArgs& t) const;
  void read_sized(const checkpoint::LiveTensor& tensor, const TaskArgs& t) const;
  template <class T>
  void read_parts(const checkpoint::LiveTensor& tensor, const std::vector<Meeting>& blocks, const TaskArgs& t) const;

  std::string checkpoint_;
  checkpoint::Manifest manifest_;
  mutable std::mutex mutex_;
  struct Open {
    std::int64_t base = 0;
    Index rank = 0;
    Reader file;
  };
  mutable std::vector<Open> open_;  ///< the most recently used one is last
};

/// Layout for saving a deferred tensor: tiles of at most 1 MiB (more if uncut dimensions are longer), distributed over
/// the ranks.
[[nodiscard]] plan::Distribution saved_tiles(const plan::TensorDesc& tensor, Index ranks);

/// The kernel that writes a task's operand to a rank's file. The first error is kept, and nothing is written after it.
class SavedBlocks {
 public:
  explicit SavedBlocks(const std::string& path);

  [[nodiscard]] static Kernel kernel(const std::shared_ptr<SavedBlocks>& blocks, const plan::TensorDesc& tensor);
  /// The same for a deferred tensor: `source` generates each tile, which is freed once written.
  [[nodiscard]] static Kernel kernel(const std::shared_ptr<SavedBlocks>& blocks, const plan::TensorDesc& tensor,
                                     Kernel source);
  /// The seal of the completed file. Throws RunError, also for earlier errors.
  [[nodiscard]] checkpoint::FileSeal finish();

 private:
  void write(const plan::TensorDesc& tensor, const Operand& block);
  void fail(const std::string& error);

  std::unique_ptr<checkpoint::RankFileWriter> file_;
  std::mutex mutex_;
  std::string error_;
};

}  // namespace tdsl::rt

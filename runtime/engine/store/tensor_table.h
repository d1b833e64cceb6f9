#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <unordered_map>

#include "runtime/engine/store/block.h"
#include "runtime/plan/op_plan.h"

namespace tdsl::rt {

/// One tensor on this rank: its placement, and the owned blocks that exist or are awaited. Entries of blocks are
/// created at first use and removed when nothing holds them.
struct TensorInstance {
  plan::PlacedTensor placed;
  bool named = true;           ///< the program can still refer to it
  plan::Index readers = 0;     ///< submitted operations that read it and are not fully admitted
  plan::Index incomplete = 0;  ///< owned blocks not complete yet
  int site = 0;                ///< of the operation that computes it
  plan::Index first_away =
      0;  ///< first tile coordinate in the first dimension whose owned blocks are not kept in memory
  std::function<void(const plan::Box&, std::byte*)> read_file;  ///< for a tensor whose home is its own file
  std::unordered_map<plan::Index, Block> blocks;                ///< by row-major tile number

  [[nodiscard]] plan::TensorId id() const { return placed.desc.id; }
  [[nodiscard]] plan::Index element_bytes() const { return placed.desc.element.bytes; }
  [[nodiscard]] bool sized() const { return placed.desc.sized(); }
  /// True if the owned block is not kept in memory.
  [[nodiscard]] bool away(const plan::Coord& tile) const {
    return placed.housing.home != plan::Home::kMemory && tile.rank > 0 && tile[0] >= first_away;
  }
  /// The block's elements; the buffer must exist.
  [[nodiscard]] plan::Box box_of(plan::Index block) const {
    return placed.distribution.box(placed.distribution.coord(block));
  }
};

/// The tensors of a rank and the rule for freeing their blocks. Not thread-safe: the engine's lock protects it.
class TensorTable {
 public:
  explicit TensorTable(plan::Index rank) : rank_(rank) {}

  /// Enters a tensor that an operation will compute.
  TensorInstance& add(plan::PlacedTensor placed);
  [[nodiscard]] TensorInstance* find(plan::TensorId id);
  /// The tensor, which must exist.
  [[nodiscard]] TensorInstance& at(plan::TensorId id);
  /// The owned block, created at first use.
  [[nodiscard]] Block& block(TensorInstance& tensor, plan::Index number);

  /// Frees the block if nothing holds it, and removes the tensor with its last block.
  void free_if_unheld(TensorInstance& tensor, plan::Index number);
  /// Drops the program's last name of the tensor.
  void drop_name(plan::TensorId id);
  /// An operation that reads the tensor has been fully admitted.
  void drop_reader(TensorInstance& tensor);

  [[nodiscard]] plan::Index live_blocks() const;
  template <class Predicate>
  [[nodiscard]] bool any_of(Predicate predicate) const {
    for (const auto& [id, tensor] : tensors_) {
      if (predicate(*tensor)) return true;
    }
    return false;
  }
  [[nodiscard]] std::size_t size() const { return tensors_.size(); }

 private:
  void free_unheld(TensorInstance& tensor);
  void forget_if_over(TensorInstance& tensor);

  plan::Index rank_;
  std::unordered_map<plan::TensorId, std::unique_ptr<TensorInstance>> tensors_;
};

}  // namespace tdsl::rt

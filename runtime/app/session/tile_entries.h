#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/io/entries/entries.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/space/distribution.h"

namespace tdsl::rt {

// Note [Entries find their tiles]
// A file of entries says nothing of which of them a tile needs, so tasks cannot read their boxes as they do of a dense
// file. At start every rank parses its share of the file and keeps the entries, 16 bytes each. When the planner has
// placed the tensor, every rank sends each entry to the owners of its tile, once, and sorts what it gets by tile:
// entries keep the order of the file, because shares follow each other as ranks do, messages keep their order, and the
// sort is stable. So duplicates are added in file order whatever the number of ranks. Nobody ever has more than its
// share of the text's entries and those of its tiles, 32 bytes per entry at the peak.

/// The entries of the tiles that this rank owns of one tensor, tile by tile, in file order.
class TileEntries {
 public:
  /// Every rank calls it at the same place of the program, with its share of the file's entries, in the order of ranks.
  TileEntries(Engine& engine, int rank, plan::Distribution where, Entries share);

  [[nodiscard]] const EntryForm& form() const { return form_; }
  /// Of the tile that the box is.
  [[nodiscard]] std::span<const std::byte> entries_of(const Box& tile) const;

 private:
  [[nodiscard]] Index tile_of(const std::byte* entry) const;
  [[nodiscard]] std::size_t slot_of(Index tile) const;
  [[nodiscard]] Engine::Received hand_out(Engine& engine, int rank, Entries share) const;
  void sort(Engine::Received pieces);

  EntryForm form_;
  plan::Distribution where_;
  std::size_t slot_count_ = 0;                    ///< owned tiles
  std::vector<std::size_t> known_slots_;          ///< by number of the tile, where there are not too many tiles,
  std::unordered_map<Index, std::size_t> slots_;  ///< else of the owned ones
  std::vector<std::size_t> begins_;               ///< per slot, in entries; one more at the end
  std::unique_ptr<std::byte[]> sorted_;
};

/// Writes the tile as a dense block: zeros, and the sum of the entries of each element.
[[nodiscard]] Kernel dense_tile_kernel(std::shared_ptr<const TileEntries> entries);

}  // namespace tdsl::rt

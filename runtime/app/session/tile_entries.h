#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "runtime/engine/engine.h"
#include "runtime/io/entries/entries.h"
#include "runtime/kernels/task.h"
#include "runtime/plan/space/distribution.h"

namespace tdsl::rt {

// Note [Entries find their tiles] A file of entries does not reveal which of them a tile needs, so tasks cannot read
// their boxes from it as from a dense file. At start every rank parses its share of the file and keeps the entries, 16
// bytes each. When the planner has placed the tensor, every rank sends each entry to the owners of its tile, once, and
// sorts the entries it receives by tile. Entries keep the order of the file, because shares are in rank order, messages
// are non-overtaking, and the sort is stable. So duplicates are added in file order on any number of ranks. No rank
// holds more than its share of the entries and those of its tiles, 32 bytes per entry at the peak.

/// The entries of the tiles of one tensor that this rank owns, tile by tile, in file order.
class TileEntries {
 public:
  /// Collective; takes this rank's share of the file's entries, in rank order.
  TileEntries(Engine& engine, int rank, plan::Distribution where, Entries share);

  [[nodiscard]] const EntryForm& form() const { return form_; }
  /// The entries of a tile, given its box.
  [[nodiscard]] std::span<const std::byte> entries_of(const Box& tile) const;

 private:
  [[nodiscard]] Index tile_of(const std::byte* entry) const;
  [[nodiscard]] std::size_t slot_of(Index tile) const;
  [[nodiscard]] Engine::Received hand_out(Engine& engine, int rank, Entries share) const;
  void sort(Engine::Received pieces);

  EntryForm form_;
  plan::Distribution where_;
  std::size_t slot_count_ = 0;                    ///< owned tiles
  std::vector<std::size_t> known_slots_;          ///< by tile number, if there are few enough tiles
  std::unordered_map<Index, std::size_t> slots_;  ///< otherwise, by owned tile number
  std::vector<std::size_t> begins_;               ///< per slot, in entries; one extra at the end
  std::unique_ptr<std::byte[]> sorted_;
};

/// Writes the tile as a dense block: zeros, plus the sum of each element's entries.
[[nodiscard]] Kernel dense_tile_kernel(std::shared_ptr<const TileEntries> entries);

}  // namespace tdsl::rt

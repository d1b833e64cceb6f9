#include "runtime/app/session/tile_entries.h"

#include <cstring>
#include <deque>
#include <utility>

namespace tdsl::rt {

namespace {

constexpr std::size_t kMessageBytes = std::size_t{256} << 10;
/// Up to this many tiles, owners are looked up in a table instead of computed.
constexpr Index kMostKnownTiles = Index{1} << 20;

/// Owners of a tile, copies included.
class Owners {
 public:
  explicit Owners(const plan::Distribution& where) : where_(where) {
    if (where.tile_count() <= kMostKnownTiles) known_.resize(static_cast<std::size_t>(where.tile_count()));
  }
  [[nodiscard]] const std::vector<int>& of(Index tile) {
    std::vector<int>& owners = known_.empty() ? last_ : known_[static_cast<std::size_t>(tile)];
    if (known_.empty()) owners.clear();
    if (!owners.empty()) return owners;
    const plan::Coord coord = where_.coord(tile);
    plan::TileBox box;
    box.rank = coord.rank;
    for (int d = 0; d < coord.rank; ++d) box[d] = {coord[d], coord[d] + 1};
    where_.for_each_owner(box, [&owners](Index rank) { owners.push_back(static_cast<int>(rank)); });
    return owners;
  }

 private:
  const plan::Distribution& where_;
  std::vector<std::vector<int>> known_;
  std::vector<int> last_;
};

}  // namespace

TileEntries::TileEntries(Engine& engine, int rank, plan::Distribution where, Entries share)
    : form_(share.form()), where_(std::move(where)) {
  if (where_.tile_count() <= kMostKnownTiles) known_slots_.resize(static_cast<std::size_t>(where_.tile_count()));
  where_.for_each_owned(rank, [this](const plan::Coord& tile) {
    const Index number = where_.linear(tile);
    if (known_slots_.empty()) {
      slots_.emplace(number, slot_count_++);
    } else {
      known_slots_[static_cast<std::size_t>(number)] = slot_count_++;
    }
  });
  sort(hand_out(engine, rank, std::move(share)));
}

Index TileEntries::tile_of(const std::byte* entry) const {
  plan::Coord tile;
  tile.rank = form_.rank;
  for (int d = 0; d < form_.rank; ++d) tile[d] = where_.tiling(d).tile_of(form_.coordinate(entry, d));
  return where_.linear(tile);
}

std::size_t TileEntries::slot_of(Index tile) const {
  return known_slots_.empty() ? slots_.at(tile) : known_slots_[static_cast<std::size_t>(tile)];
}

/// Sends entries to their owners and returns those of this rank's tiles, by source rank.
Engine::Received TileEntries::hand_out(Engine& engine, int rank, Entries share) const {
  Owners owners(where_);
  std::vector<std::vector<std::byte>> open(static_cast<std::size_t>(where_.ranks()));
  std::vector<std::vector<std::byte>> mine;
  std::deque<std::pair<int, std::vector<std::byte>>> full;  // oldest first: entries must keep their order
  std::size_t chunk = 0;
  const auto close = [&](std::size_t owner) {
    if (static_cast<int>(owner) == rank) {
      mine.push_back(std::exchange(open[owner], {}));
    } else {
      full.emplace_back(static_cast<int>(owner), std::exchange(open[owner], {}));
    }
  };
  const auto take_chunk = [&] {
    Entries::Chunk entries = std::move(share.chunks()[chunk++]);
    for (Index k = 0; k < entries.count; ++k) {
      const std::byte* const entry = entries.data.get() + static_cast<std::size_t>(k) * form_.bytes();
      for (const int r : owners.of(tile_of(entry))) {
        const auto owner = static_cast<std::size_t>(r);
        open[owner].insert(open[owner].end(), entry, entry + form_.bytes());
        if (open[owner].size() + form_.bytes() > kMessageBytes) close(owner);
      }
    }
  };
  const auto next = [&](int& target, std::vector<std::byte>& bytes) {
    while (full.empty() && chunk < share.chunks().size()) take_chunk();
    if (full.empty()) {  // the last entries of each owner
      for (std::size_t owner = 0; owner < open.size(); ++owner) {
        if (!open[owner].empty()) close(owner);
      }
    }
    if (full.empty()) return false;
    std::tie(target, bytes) = std::move(full.front());
    full.pop_front();
    return true;
  };
  Engine::Received received = engine.exchange(next);
  received[static_cast<std::size_t>(rank)] = std::move(mine);
  return received;
}

void TileEntries::sort(Engine::Received pieces) {
  begins_.assign(slot_count_ + 1, 0);
  const auto for_each = [this](const std::vector<std::byte>& piece, const auto& f) {
    for (std::size_t at = 0; at < piece.size(); at += form_.bytes())
      f(piece.data() + at, slot_of(tile_of(piece.data() + at)));
  };
  for (const auto& source : pieces) {
    for (const std::vector<std::byte>& piece : source) {
      for_each(piece, [this](const std::byte*, std::size_t slot) { ++begins_[slot + 1]; });
    }
  }
  for (std::size_t slot = 0; slot < slot_count_; ++slot) begins_[slot + 1] += begins_[slot];
  sorted_ = std::make_unique_for_overwrite<std::byte[]>(begins_.back() * form_.bytes());
  std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
  for (auto& source : pieces) {
    for (std::vector<std::byte>& piece : source) {
      for_each(piece, [&](const std::byte* entry, std::size_t slot) {
        std::memcpy(sorted_.get() + next[slot]++ * form_.bytes(), entry, form_.bytes());
      });
      piece = {};
    }
  }
}

std::span<const std::byte> TileEntries::entries_of(const Box& tile) const {
  if (tile.empty()) return {};
  plan::Coord coord;
  coord.rank = tile.rank;
  for (int d = 0; d < tile.rank; ++d) coord[d] = where_.tiling(d).tile_of(tile[d].lo);
  const std::size_t slot = slot_of(where_.linear(coord));
  return {sorted_.get() + begins_[slot] * form_.bytes(), (begins_[slot + 1] - begins_[slot]) * form_.bytes()};
}

Kernel dense_tile_kernel(std::shared_ptr<const TileEntries> entries) {
  return [entries = std::move(entries)](const TaskArgs& args) {
    visit_element_type(entries->form().type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      const Operand& out = args.outputs[0];
      fill(out, T(0));
      std::array<Index, plan::kMaxRank> corner{};
      for (int d = 0; d < out.box.rank; ++d) corner[plan::idx(d)] = out.box[d].lo;
      const EntryForm form = entries->form();
      const std::span<const std::byte> bytes = entries->entries_of(out.box);
      for (std::size_t at = 0; at < bytes.size(); at += form.bytes()) {
        add_entry(form, bytes.data() + at, reinterpret_cast<T*>(out.data), std::span<const Index>(corner),
                  std::span<const Index>(out.stride));
      }
    });
  };
}

}  // namespace tdsl::rt

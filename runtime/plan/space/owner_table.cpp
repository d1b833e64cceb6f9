#include "runtime/plan/space/owner_table.h"

#include <stdexcept>
#include <utility>

namespace tdsl::plan {

namespace {

/// Mixes all bits (the finaliser of splitmix64).
std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9ULL;
  h = (h ^ (h >> 27)) * 0x94d049bb133111ebULL;
  return h ^ (h >> 31);
}

}  // namespace

OwnerTable::OwnerTable(Index ranks, std::vector<std::int32_t> owners)
    : owners_(std::move(owners)), hash_(owners_.size()) {
  if (size() > kTableTiles) throw std::logic_error("an owner table has too many tiles");
  first_.assign(static_cast<std::size_t>(ranks) + 1, 0);
  for (const std::int32_t owner : owners_) {
    if (owner < 0 || owner >= ranks) throw std::logic_error("an owner is no rank");
    ++first_[static_cast<std::size_t>(owner) + 1];
    hash_ = mixed(hash_ + 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(owner));
  }
  for (std::size_t r = 1; r < first_.size(); ++r) first_[r] += first_[r - 1];
  std::vector<std::int32_t> count(static_cast<std::size_t>(ranks), 0);
  tiles_.resize(owners_.size());
  position_.resize(owners_.size());
  for (std::size_t t = 0; t < owners_.size(); ++t) {
    const auto owner = static_cast<std::size_t>(owners_[t]);
    position_[t] = count[owner]++;
    tiles_[static_cast<std::size_t>(first_[owner] + position_[t])] = static_cast<std::int32_t>(t);
  }
}

}  // namespace tdsl::plan

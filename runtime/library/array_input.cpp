#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

#include "runtime/kernels/copy.h"
#include "runtime/library/array_entries.h"
#include "runtime/library/arrays.h"
#include "runtime/library/boxes.h"

namespace tdsl::rt {

/// Reads the caller's boxes and those received from other ranks.
class ArrayReader final : public TensorReader {
 public:
  ArrayReader(Arrays& arrays, std::size_t input) : arrays_(arrays), input_(input), path_("an array of the caller") {
    identity_.bytes = static_cast<std::int64_t>(element_size(type()));
    for (const std::int64_t extent : shape()) identity_.bytes = plan::product(identity_.bytes, extent);
  }

  [[nodiscard]] const std::string& path() const override { return path_; }
  [[nodiscard]] const FileIdentity& identity() const override { return identity_; }
  [[nodiscard]] const Extents& shape() const override { return array().shape; }
  [[nodiscard]] ElementType type() const override { return array().type; }
  [[nodiscard]] bool widens_to(ElementType to) const override { return to == type(); }
  void require_widening(ElementType to, std::string_view name) const override {
    if (to == type()) return;
    throw RunError("input " + std::string(name) + " is declared " + std::string(element_name(to)) +
                       ", but the array holds " + std::string(element_name(type())) + "; convert it [wrong-array]",
                   ExitCode::kUsage);
  }

 private:
  [[nodiscard]] const Array& array() const { return arrays_.inputs_.mine[input_]; }
  void read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const override;

  Arrays& arrays_;
  std::size_t input_;
  std::string path_;
  FileIdentity identity_;
};

void ArrayReader::read(ElementType to, ExtentSpan lo, ExtentSpan hi, void* dst, ExtentSpan strides) const {
  const auto bytes = static_cast<Index>(element_size(to));
  Operand target;
  target.data = static_cast<std::byte*>(dst);
  target.box.rank = static_cast<int>(lo.size());
  for (std::size_t d = 0; d < lo.size(); ++d) {
    target.box.dim[d] = {lo[d], hi[d]};
    target.stride[d] = strides[d];
  }
  const auto take = [&](const Operand& from) {
    const Box box = plan::intersect(from.box, target.box);
    if (box.empty() || part_of(from, box, bytes).data == part_of(target, box, bytes).data) return;  // or borrowed
    copy_box(from, target, box, bytes);
  };
  for (const Operand& mine : array().boxes) take(mine);
  for (const auto& staged : arrays_.staged_[input_]) take(staged.where);
}

std::optional<InputFile> Arrays::input(const std::string& name) {
  const std::size_t input = inputs_.find(name);
  if (input == inputs_.mine.size()) return std::nullopt;
  if (inputs_.mine[input].sparse) return InputFile(entry_file(*this, input));
  return InputFile(std::unique_ptr<const TensorReader>(std::make_unique<const ArrayReader>(*this, input)));
}

namespace {

/// Calls f for every rank that owns a tile overlapping the box, with that tile.
template <class F>
void for_each_need(const plan::Distribution& where, const Box& box, const F& f) {
  plan::TileBox tiles;
  tiles.rank = box.rank;
  plan::Coord tile;
  tile.rank = box.rank;
  for (int d = 0; d < box.rank; ++d) {
    tiles[d] = where.tiling(d).tiles_meeting(box[d]);
    if (tiles[d].empty()) return;
    tile[d] = tiles[d].lo;
  }
  while (true) {
    plan::TileBox one;
    one.rank = box.rank;
    for (int d = 0; d < box.rank; ++d) one[d] = {tile[d], tile[d] + 1};
    const Box elements = where.box(tile);
    where.for_each_owner(one, [&](Index rank) { f(static_cast<int>(rank), elements); });
    int d = box.rank - 1;
    for (; d >= 0; --d) {
      if (++tile[d] < tiles[d].hi) break;
      tile[d] = tiles[d].lo;
    }
    if (d < 0) return;
  }
}

}  // namespace

void Arrays::fetch(Engine& engine, const std::string& name, const plan::Distribution& where) {
  const std::size_t input = inputs_.find(name);
  const Array& array = inputs_.mine[input];
  const auto& everyones = inputs_.boxes[input];
  const auto bytes = static_cast<Index>(element_size(array.type));
  if (ranks_ == 1) return;
  struct Parcel {
    int target;
    const Operand* from;
    Box box;
  };
  std::deque<Parcel> parcels;
  std::vector<Box> sent;  // preceding boxes of this rank
  for (const Operand& mine : array.boxes) {
    for_each_need(where, mine.box, [&](int owner, const Box& tile) {
      if (owner == rank_) return;
      std::vector<Box> theirs = everyones[static_cast<std::size_t>(owner)];
      for (int rank = 0; rank < rank_; ++rank) {
        if (rank != owner) std::ranges::copy(everyones[static_cast<std::size_t>(rank)], std::back_inserter(theirs));
      }
      theirs.insert(theirs.end(), sent.begin(), sent.end());
      for (const Box& lacking : outside(plan::intersect(tile, mine.box), theirs)) {
        for (const Box& part : cut(lacking, kArrayMessageBytes / bytes)) parcels.push_back({owner, &mine, part});
      }
    });
    sent.push_back(mine.box);
  }
  const auto next = [&](int& target, std::vector<std::byte>& message) {
    if (parcels.empty()) return false;
    const Parcel parcel = parcels.front();
    parcels.pop_front();
    target = parcel.target;
    message = pack_array(input, *parcel.from, parcel.box, bytes);
    return true;
  };
  for (auto& source : engine.exchange(next)) {
    for (std::vector<std::byte>& message : source) {
      Staged staged{{}, std::move(message)};
      staged.where = unpack_array(staged.message).where;
      staged_[input].push_back(std::move(staged));
    }
  }
}

Engine::Lend Arrays::lender(Store& store, const std::string& name) {
  const std::size_t input = inputs_.find(name);
  if (input == inputs_.mine.size() || !lends_) return nullptr;
  constexpr std::uintptr_t kAlignment = 16;
  return [this, &store, input](const Box& tile) -> BufferRef {
    const Array& array = inputs_.mine[input];
    const auto bytes = static_cast<Index>(element_size(array.type));
    for (const Operand& mine : array.boxes) {
      if (tile.empty() || !plan::contains(mine.box, tile)) continue;
      const Operand part = part_of(mine, tile, bytes);
      if (!part.is_row_major() || reinterpret_cast<std::uintptr_t>(part.data) % kAlignment != 0) continue;
      return lent_.emplace_back(std::make_shared<Buffer>(store, part.data, tile.volume() * bytes));
    }
    return nullptr;
  };
}

}  // namespace tdsl::rt

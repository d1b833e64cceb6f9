#include "runtime/app/session/stored_blocks.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>
#include <utility>

#include "runtime/checkpoint/folder.h"
#include "runtime/kernels/copy.h"
#include "runtime/kernels/stored.h"
#include "runtime/plan/space/tiles.h"
#include "runtime/sparse/elements.h"
#include "runtime/sparse/piece.h"

namespace tdsl::rt {

using checkpoint::LiveTensor;
using checkpoint::SavedBlock;

namespace {

constexpr std::size_t kOpenFiles = 16;

}  // namespace

StoredBlocks::Reader StoredBlocks::file(const LiveTensor& tensor, Index rank) const {
  const std::scoped_lock lock(mutex_);
  const auto found =
      std::ranges::find_if(open_, [&](const Open& open) { return open.base == tensor.base && open.rank == rank; });
  if (found != open_.end()) {
    std::rotate(found, found + 1, open_.end());
    return open_.back().file;
  }
  if (open_.size() == kOpenFiles) open_.erase(open_.begin());
  const auto number = static_cast<std::size_t>(rank);
  const std::string path =
      checkpoint::Folder::rank_file(checkpoint::Folder::files_of(checkpoint_, tensor.base), number);
  return open_
      .emplace_back(
          tensor.base, rank,
          std::make_shared<const checkpoint::RankFileReader>(path, manifest_.files_of(tensor.base).at(number)))
      .file;
}

std::vector<StoredBlocks::Meeting> StoredBlocks::meeting(const LiveTensor& tensor, const Box& box) const {
  std::vector<Meeting> blocks;
  const plan::Distribution& where = tensor.saved;
  plan::Coord first, tile;
  first.rank = tile.rank = where.rank();
  std::array<Interval, plan::kMaxRank> meeting{};
  for (int d = 0; d < where.rank(); ++d) {
    meeting[plan::idx(d)] = where.tiling(d).tiles_meeting(box[d]);
    if (meeting[plan::idx(d)].empty()) return blocks;
    tile[d] = meeting[plan::idx(d)].lo;
  }
  while (true) {
    const Index rank = where.owner(tile);
    const Reader from = file(tensor, rank);
    const SavedBlock* const block = from->find(tensor.known.desc.id, where.box(tile));
    TDSL_CHECK(block != nullptr, "a checkpoint has every block of " + tensor.known.desc.name);
    Meeting& meets = blocks.emplace_back(rank, *block, sparse::BlockHead{});
    if (tensor.known.desc.sized() && block->bytes > 0)
      from->read(*block, 0, std::as_writable_bytes(std::span(&meets.head, 1)));
    int d = where.rank() - 1;
    for (; d >= 0 && ++tile[d] == meeting[plan::idx(d)].hi; --d) tile[d] = meeting[plan::idx(d)].lo;
    if (d < 0) return blocks;
  }
}

namespace {

/// Reads part of a saved box into memory.
class DensePart {
 public:
  DensePart(const checkpoint::RankFileReader& from, const SavedBlock& block, const Operand& to, Index element)
      : from_(from), block_(block), stored_(row_major(nullptr, block.box)), to_(to), element_(element) {}

  void read(const Box& part) {
    if (part.empty()) return;
    const Index first = offset_in(stored_, part), elements = extent_in(stored_, part), wanted = part.volume();
    if (elements == wanted && extent_in(to_, part) == wanted) {
      return from_.read(
          block_, first * element_,
          std::span(to_.data + offset_in(to_, part) * element_, static_cast<std::size_t>(wanted * element_)));
    }
    const Index bytes = elements * element_;
    if (bytes > kPieceBytes || (bytes > kSparseBytes && wanted < elements / kWorth)) return halves(part);
    if (piece_.size() < static_cast<std::size_t>(bytes)) piece_.resize(static_cast<std::size_t>(bytes));
    from_.read(block_, first * element_, std::span(piece_).first(static_cast<std::size_t>(bytes)));
    Operand piece = stored_;
    piece.data = piece_.data();
    piece.box = part;
    copy_box(piece, to_, part, element_);
  }

 private:
  static constexpr Index kPieceBytes = Index{1} << 20;
  /// A read larger than kSparseBytes is split if less than 1/kWorth of it is needed.
  static constexpr Index kSparseBytes = Index{64} << 10, kWorth = 8;

  /// Offset of the part's first element from the operand's first.
  [[nodiscard]] static Index offset_in(const Operand& operand, const Box& part) {
    Index offset = 0;
    for (int d = 0; d < part.rank; ++d) offset += (part[d].lo - operand.box[d].lo) * operand.stride[plan::idx(d)];
    return offset;
  }
  /// Span from the part's first to its last element, inclusive.
  [[nodiscard]] static Index extent_in(const Operand& operand, const Box& part) {
    Index last = 0;
    for (int d = 0; d < part.rank; ++d) last += (part[d].size() - 1) * operand.stride[plan::idx(d)];
    return last + 1;
  }
  void halves(const Box& part) {
    int d = 0;
    while (part[d].size() == 1) ++d;
    Box half = part;
    half[d].hi = part[d].lo + part[d].size() / 2;
    read(half);
    half[d] = {half[d].hi, part[d].hi};
    read(half);
  }

  const checkpoint::RankFileReader& from_;
  const SavedBlock& block_;
  Operand stored_;  ///< without data
  const Operand& to_;
  Index element_;
  std::vector<std::byte> piece_;
};

}  // namespace

void StoredBlocks::read_dense(const LiveTensor& tensor, const TaskArgs& t) const {
  const Operand& out = t.outputs[0];
  const Index element = tensor.known.desc.element.bytes;
  for (const Meeting& meets : meeting(tensor, out.box)) {
    TDSL_CHECK(meets.block.bytes == meets.block.box.volume() * element, "a saved block has its elements");
    DensePart(*file(tensor, meets.rank), meets.block, out, element).read(plan::intersect(meets.block.box, out.box));
  }
}

void StoredBlocks::read_sized(const LiveTensor& tensor, const TaskArgs& t) const {
  const std::vector<Meeting> blocks = meeting(tensor, t.outputs[0].box);
  if (blocks.size() == 1 && blocks.front().block.box == t.outputs[0].box) {
    const SavedBlock& block = blocks.front().block;
    if (block.bytes == 0) return;
    std::byte* const to = t.sink().begin(block.bytes);
    file(tensor, blocks.front().rank)->read(block, 0, std::span(to, static_cast<std::size_t>(block.bytes)));
    return t.sink().holds(blocks.front().head.stored());
  }
  visit_element_type(tensor.known.type, [&](auto tag) { read_parts<typename decltype(tag)::type>(tensor, blocks, t); });
}

namespace {

/// Elements of a range of rows, from several blocks that are adjacent by columns.
template <class T>
class SizedRows {
 public:
  SizedRows(const Box& box, StoredTile<T>& tile) : box_(box), tile_(tile) {}

  void add(const checkpoint::RankFileReader& from, const SavedBlock& block, const sparse::Piece& piece, Interval rows) {
    BlockBytes& bytes = blocks_.emplace_back(piece.head.bytes);
    std::memcpy(bytes.data(), &piece.head, sizeof piece.head);
    for (const sparse::Piece::Run& run : piece.runs) {
      from.read(block, run.from, std::span(bytes.data() + run.to, static_cast<std::size_t>(run.bytes)));
    }
    auto* const head = reinterpret_cast<sparse::BlockHead*>(bytes.data());
    sparse::rebase(*head);
    parts_.push_back({head, block.box, plan::intersect(rows, block.box[0])});
  }
  void put(Interval rows) {
    using Found = std::pair<std::array<Index, plan::kMaxRank>, T>;
    std::vector<Found> found;
    const auto rank = plan::idx(box_.rank);
    sparse::Elements<T>(parts_).each(rows, [&](std::span<const Index> at, T value) {
      for (std::size_t d = 0; d < rank; ++d) {
        if (at[d] < box_.dim[d].lo || at[d] >= box_.dim[d].hi) return;
      }
      std::copy_n(at.begin(), rank, found.emplace_back(std::array<Index, plan::kMaxRank>{}, value).first.begin());
    });
    std::ranges::sort(found, {}, &Found::first);
    for (const auto& [at, value] : found) {
      for (std::size_t d = 0; d + 1 < rank; ++d) tile_.at(d, at[d]);
      tile_.put(at[rank - 1], value);
    }
    parts_.clear();
    blocks_.clear();
  }

 private:
  const Box& box_;
  StoredTile<T>& tile_;
  std::vector<BlockBytes> blocks_;
  std::vector<sparse::Part> parts_;
};

}  // namespace

template <class T>
void StoredBlocks::read_parts(const LiveTensor& tensor, const std::vector<Meeting>& blocks, const TaskArgs& t) const {
  constexpr Index kPieceBytes = Index{256} << 10;  // the elements read take several times as much memory
  const Box& box = t.outputs[0].box;
  StoredTile<T> tile(t);
  SizedRows<T> rows(box, tile);
  std::vector<Interval> ranges{box[0]};  // a stack: the next range is at the end
  while (!ranges.empty()) {
    const Interval range = ranges.back();
    ranges.pop_back();
    std::vector<std::pair<const Meeting*, sparse::Piece>> pieces;
    Index bytes = 0;
    for (const Meeting& meets : blocks) {
      const Interval meeting = plan::intersect(range, meets.block.box[0]);
      if (meets.block.bytes == 0 || meeting.empty()) continue;
      const Reader from = file(tensor, meets.rank);
      const Index corner = meets.block.box[0].lo;
      sparse::Piece piece =
          sparse::piece_of(meets.head, {meeting.lo - corner, meeting.hi - corner},
                           [&](Index at, std::span<std::byte> to) { from->read(meets.block, at, to); });
      bytes += piece.head.bytes;
      if (piece.head.bytes > 0) pieces.emplace_back(&meets, std::move(piece));
    }
    if (bytes > kPieceBytes && range.size() > 1) {
      const Index middle = range.lo + range.size() / 2;
      ranges.push_back({middle, range.hi});
      ranges.push_back({range.lo, middle});
      continue;
    }
    for (const auto& [meets, piece] : pieces) rows.add(*file(tensor, meets->rank), meets->block, piece, range);
    if (!pieces.empty()) rows.put(range);
  }
  tile.finish();
}

Kernel StoredBlocks::kernel(const LiveTensor& tensor) const {
  return [self = shared_from_this(), &tensor](const TaskArgs& t) {
    tensor.known.desc.sized() ? self->read_sized(tensor, t) : self->read_dense(tensor, t);
  };
}

plan::Distribution saved_tiles(const plan::TensorDesc& tensor, Index ranks) {
  constexpr double kTileBytes = 1 << 20;
  std::vector<plan::Tiling> tilings = plan::whole_tiles(tensor);
  std::vector<plan::GridDim> dims(tilings.size());
  double wanted = std::max(static_cast<double>(ranks), static_cast<double>(tensor.bytes()) / kTileBytes);
  std::size_t dealt = dims.size();
  Index most = 1;
  for (std::size_t d = 0; d < dims.size() && wanted > 1; ++d) {
    if (tensor.is_uncut(d) || tensor.shape[d] < 2) continue;
    const auto extent = static_cast<double>(tensor.shape[d]);
    const double edge = std::max(1.0, std::floor(extent / wanted));
    const Index tiles = plan::ceil_div(tensor.shape[d], static_cast<Index>(edge));
    tilings[d] = plan::Tiling::near_equal(tensor.shape[d], tiles);
    wanted = wanted * edge / extent;
    if (tiles > most) {
      most = tiles;
      dealt = d;
    }
  }
  if (dealt == dims.size()) return plan::Distribution::single(ranks, std::move(tilings), 0);
  dims[dealt].axes = {{ranks, 1}};
  return plan::Distribution::grid(ranks, std::move(tilings), std::move(dims));
}

SavedBlocks::SavedBlocks(const std::string& path) {
  try {
    file_ = std::make_unique<checkpoint::RankFileWriter>(path);
  } catch (const RunError& error) { fail(error.what()); }
}

void SavedBlocks::fail(const std::string& error) {
  const std::scoped_lock lock(mutex_);
  if (error_.empty()) error_ = error;
}

void SavedBlocks::write(const plan::TensorDesc& tensor, const Operand& block) {
  {
    const std::scoped_lock lock(mutex_);
    if (!error_.empty()) return;
  }
  const auto put = [&](const std::byte* data, Index bytes) {
    file_->write(tensor.id, block.box, std::span(data, static_cast<std::size_t>(bytes)));
  };
  try {
    if (tensor.sized()) {
      TDSL_CHECK(block.parts.size() == 1 && block.parts.front().box == block.box, "a compressed block is saved whole");
      put(block.parts.front().data, block.parts.front().data == nullptr ? 0 : block.parts.front().bytes);
      return;
    }
    TDSL_CHECK(block.is_row_major(), "a block is saved from where it lies");
    put(block.data, block.box.volume() * tensor.element.bytes);
  } catch (const RunError& error) { fail(error.what()); }
}

Kernel SavedBlocks::kernel(const std::shared_ptr<SavedBlocks>& blocks, const plan::TensorDesc& tensor) {
  return [blocks, tensor](const TaskArgs& t) { blocks->write(tensor, t.inputs[0]); };
}

namespace {

/// The single block of a source.
class OneBlock : public BlockSink {
 public:
  [[nodiscard]] BlockPart before() const override { return {}; }
  [[nodiscard]] std::byte* begin(Index bytes) override {
    bytes_ = bytes;
    return block_.emplace(bytes).data();
  }
  void holds(Index /*elements*/) override {}
  void keep() override {}
  [[nodiscard]] std::byte* change() override { return nullptr; }

  [[nodiscard]] BlockPart block(const Box& box) { return {box, block_ ? block_->data() : nullptr, bytes_}; }

 private:
  std::optional<BlockBytes> block_;
  Index bytes_ = 0;
};

}  // namespace

Kernel SavedBlocks::kernel(const std::shared_ptr<SavedBlocks>& blocks, const plan::TensorDesc& tensor, Kernel source) {
  return [blocks, tensor, source = std::move(source)](const TaskArgs& t) {
    std::optional<BlockBytes> dense;
    if (!tensor.sized()) dense.emplace(t.out_box.volume() * tensor.element.bytes);
    Operand made = row_major(dense ? dense->data() : nullptr, t.out_box);
    OneBlock sized;
    BlockSink* const sinks[] = {&sized};
    TaskArgs inner = t;
    inner.outputs = {&made, 1};
    if (tensor.sized()) inner.sinks = sinks;
    source(inner);
    const BlockPart part = sized.block(t.out_box);
    if (tensor.sized()) made.parts = {&part, 1};
    blocks->write(tensor, made);
  };
}

checkpoint::FileSeal SavedBlocks::finish() {
  if (!error_.empty()) throw RunError(error_);
  return file_->finish();
}

}  // namespace tdsl::rt

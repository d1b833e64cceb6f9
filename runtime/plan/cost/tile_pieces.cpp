#include "runtime/plan/cost/tile_pieces.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

namespace tdsl::plan::counting {

namespace {

/// Advances row-major coordinates; false after the last.
bool advance(std::vector<Index>& at, const std::vector<Interval>& range) {
  for (std::size_t d = at.size(); d-- > 0;) {
    if (++at[d] < range[d].hi) return true;
    at[d] = range[d].lo;
  }
  return false;
}

std::vector<Index> coordinates_of(const Distribution& where, Index number) {
  std::vector<Index> at(idx(where.rank()));
  for (int d = where.rank(); d-- > 0;) {
    at[idx(d)] = number % where.tiling(d).tiles();
    number /= where.tiling(d).tiles();
  }
  return at;
}

void for_each_listed(const Op& op, const OpPlan& plan, Index rank, const TileFunction& f) {
  const Index edge = plan.super_block.empty() || op.shape.empty() ? 0 : plan.super_block.front();
  Index position = 0;
  for (const std::int32_t number : plan.space.owners().tiles_of(rank)) {
    const std::vector<Index> tile = coordinates_of(plan.space, number);
    std::vector<Interval> elements;
    for (std::size_t d = 0; d < tile.size(); ++d)
      elements.push_back(plan.space.tiling(static_cast<int>(d)).tile(tile[d]));
    f(view_of_tile(op, plan, elements), edge > 0 ? position / edge : 0);
    ++position;
  }
}

void for_each_of_product(const Op& op, const OpPlan& plan, Index rank, const TileFunction& f) {
  const RankView all = view_of(op, plan, rank);
  if (op.shape.empty() && !all.works) return;
  std::vector<Interval> range;
  for (const Intervals& owned : all.owned_out) {
    range.push_back({0, static_cast<Index>(owned.size())});
    if (owned.empty()) return;
  }
  std::vector<Index> at(range.size(), 0);
  do {
    std::vector<Interval> elements;
    Index super_block = 0;
    for (std::size_t d = 0; d < at.size(); ++d) {
      const Index edge = plan.super_block.empty() ? 0 : plan.super_block[d];
      super_block = super_block * all.chunks[d] + (edge > 0 ? at[d] / edge : 0);
      elements.push_back(all.owned_out[d][static_cast<std::size_t>(at[d])]);
    }
    f(view_of_tile(op, plan, elements), super_block);
  } while (advance(at, range));
}

bool reads_along(const Access& access, int label) {
  return std::ranges::any_of(access.dims, [label](const DimAccess& dim) {
    const auto is_label = [label](const Affine::Term& term) { return term.label == label; };
    return !dim.whole && dim.divisor >= 1 && std::ranges::any_of(dim.terms, is_label);
  });
}

void mix_in(std::uint64_t& h, Index x) {
  h = (h ^ static_cast<std::uint64_t>(x)) * 0xff51afd7ed558ccdULL;
  h ^= h >> 32;
}

/// Hash of a piece within a super-block.
struct WantedPieceHash {
  std::size_t operator()(const WantedPiece& piece) const noexcept {
    std::uint64_t h = static_cast<std::uint64_t>(piece.tensor) * 0x9e3779b97f4a7c15ULL +
                      static_cast<std::uint64_t>(piece.super_block);
    mix_in(h, piece.block);
    for (const Interval& i : piece.box) mix_in(h, i.lo), mix_in(h, i.hi);
    return static_cast<std::size_t>(h);
  }
};
struct NumbersHash {
  std::size_t operator()(const std::vector<Index>& numbers) const noexcept {
    std::uint64_t h = 0x9e3779b97f4a7c15ULL;
    for (const Index x : numbers) mix_in(h, x);
    return static_cast<std::size_t>(h);
  }
};
struct SamePiece {
  bool operator()(const WantedPiece& a, const WantedPiece& b) const {
    return a.tensor == b.tensor && a.block == b.block && a.super_block == b.super_block && a.box == b.box;
  }
};

/// Collects the pieces that one rank requests.
class Wanting {
 public:
  Wanting(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank)
      : op_(op), plan_(plan), most_(kListedPieces / plan.space.ranks()) {
    for (const Access& access : op.reads) own_.try_emplace(access.tensor, tensors(access.tensor).distribution, rank);
    for (const Access& access : op.reads) {
      reads_.push_back({access, tensors(access.tensor), own_.at(access.tensor), plan.keeps(op, access.tensor), {}});
      for (std::size_t l = 0; l < op.labels.size(); ++l)
        reads_.back().along.push_back(reads_along(access, static_cast<int>(l)));
    }
  }

  void add(const RankView& tile, Index super_block) {
    for (std::size_t a = 0; a < reads_.size() && tile.works; ++a) add_access(a, tile, super_block);
  }
  Wanted take() {
    Wanted wanted{{}, exact_, read_};
    wanted.pieces.reserve(steps_.size());
    for (const auto& [piece, step] : steps_) {
      wanted.pieces.push_back(piece);
      std::tie(wanted.pieces.back().super_block, wanted.pieces.back().panel) = step;
    }
    return wanted;
  }

 private:
  /// An access, with everything that does not depend on tiles.
  struct Read {
    const Access& access;
    const PlacedTensor& tensor;
    const OwnTiles& own;
    bool kept = false;
    std::vector<bool> along;  ///< per label: it subscripts the operand
  };

  /// Adds the pieces that the access needs for the tile, panel by panel, unless another tile with the same labels
  /// already did.
  void add_access(std::size_t a, const RankView& tile, Index super_block) {
    const Read& read = reads_[a];
    key_.assign({static_cast<Index>(a), super_block});
    for (std::size_t l = 0; l < tile.label.size(); ++l) {
      if (read.along[l]) key_.insert(key_.end(), {tile.label[l].front().lo, tile.label[l].back().hi});
    }
    if (!seen_.insert(key_).second) return;
    std::vector<Interval> labels, range;
    for (std::size_t l = 0; l < tile.label.size(); ++l) labels.push_back(tile.interval(static_cast<int>(l), 0));
    for (const ReduceLabel& r : op_.reduce) {
      range.push_back({0, read.along[idx(r.label)] ? tile.intervals(r.label) : 1});
    }
    std::vector<Index> at(range.size(), 0);
    do {
      Index panel = 0;
      for (std::size_t k = 0; k < at.size(); ++k) {
        panel = panel * panel_count(op_, plan_, k) + at[k];
        labels[idx(op_.reduce[k].label)] = tile.interval(op_.reduce[k].label, at[k]);
      }
      add_box(read, labels, super_block, panel);
    } while (advance(at, range));
  }

  void add_box(const Read& read, const std::vector<Interval>& labels, Index super_block, Index panel) {
    const TensorDesc& desc = read.tensor.desc;
    const Distribution& where = read.tensor.distribution;
    const auto element = static_cast<double>(desc.element.bytes);
    std::vector<Interval>&box = box_, &blocks = blocks_;
    std::vector<Index>& at = at_;
    box.clear(), blocks.clear(), at.clear();
    const bool sized = desc.sized();  // whole blocks
    double volume = element;
    for (std::size_t d = 0; d < read.access.dims.size(); ++d) {
      box.push_back(touched_by(read.access.dims[d], labels, desc.shape[d]));
      if (box.back().empty()) return;
      const Tiling& tiling = where.tiling(static_cast<int>(d));
      blocks.push_back(tiling.tiles_meeting(box.back()));
      at.push_back(blocks.back().lo);
      if (sized) box.back() = {tiling.tile(blocks.back().lo).lo, tiling.tile(blocks.back().hi - 1).hi};
      volume *= static_cast<double>(box.back().size());
    }
    double count = 1;
    for (const Interval& along : blocks) count *= static_cast<double>(along.size());
    const Estimate elements = Estimate::exactly(volume / element);
    read_ += sized ? bytes_of_blocks(desc, where, Estimate::exactly(count), elements).expected : volume;
    if (count > 1 && static_cast<double>(steps_.size()) + count > static_cast<double>(most_)) {
      exact_ = false;
      return want({read.access.tensor, -1, box, super_block, panel, volume, count}, read.kept);
    }
    do {
      if (read.own.has(at)) continue;
      WantedPiece piece{read.access.tensor, 0, {}, super_block, panel, element};
      piece.box.reserve(at.size());
      for (std::size_t d = 0; d < at.size(); ++d) {
        const Tiling& tiling = where.tiling(static_cast<int>(d));
        piece.block = piece.block * tiling.tiles() + at[d];
        piece.box.push_back(intersect(box[d], tiling.tile(at[d])));
        piece.bytes *= static_cast<double>(piece.box.back().size());
      }
      want(std::move(piece), read.kept);
    } while (advance(at, blocks));
  }

  /// A piece of a kept operand is the same piece in every super-block.
  void want(WantedPiece piece, bool kept) {
    const std::pair step(piece.super_block, piece.panel);
    if (kept) piece.super_block = 0;
    const auto [known, fresh] = steps_.try_emplace(std::move(piece), step);
    known->second = std::min(known->second, step);
  }

  const Op& op_;
  const OpPlan& plan_;
  std::map<TensorId, OwnTiles> own_;
  std::vector<Read> reads_;
  std::unordered_set<std::vector<Index>, NumbersHash> seen_;
  /// The first super-block and panel that need a piece.
  std::unordered_map<WantedPiece, std::pair<Index, Index>, WantedPieceHash, SamePiece> steps_;
  Index most_;
  bool exact_ = true;
  double read_ = 0;
  // Of the current access and box; kept to save allocations.
  std::vector<Index> key_, at_;
  std::vector<Interval> box_, blocks_;
};

/// Sums, over the rank's tiles in an owner table, the product over dimensions of `along(list, tile)`.
template <class F>
double over_own_tiles(const Distribution& table, Index rank, const std::vector<Intervals>& lists, F&& along) {
  double sum = 0;
  for (const std::int32_t number : table.owners().tiles_of(rank)) {
    const std::vector<Index> tile = coordinates_of(table, number);
    double product = 1;
    for (std::size_t d = 0; d < tile.size() && product > 0; ++d) {
      product *= static_cast<double>(along(lists[d], table.tiling(static_cast<int>(d)).tile(tile[d])));
    }
    sum += product;
  }
  return sum;
}

}  // namespace

void for_each_tile(const Op& op, const OpPlan& plan, Index rank, const TileFunction& f) {
  plan.space.by_table() ? for_each_listed(op, plan, rank, f) : for_each_of_product(op, plan, rank, f);
}

bool is_hit(const RankView& tile) {
  bool hit = std::ranges::all_of(tile.hit, [](Index hits) { return hits > 0; });
  for (const OutSubscript& s : tile.op.out) hit = hit && (s.label < 0 || !tile.label[idx(s.label)].empty());
  return hit;
}

double points_in(const RankView& view) {
  double points = 1;
  for (std::size_t l = 0; l < view.label.size(); ++l) {
    points *=
        static_cast<double>(view.op.labels[l].from_data ? view.intervals(static_cast<int>(l)) : total(view.label[l]));
  }
  // Along a dimension with data-dependent writes, every tile iterates over all points.
  for (int d = 0; d < view.op.out_rank(); ++d)
    points *= view.op.out[idx(d)].label == kAnyLabel ? static_cast<double>(view.hit[idx(d)]) : 1.0;
  return points;
}

Index panel_count(const Op& op, const OpPlan& plan, std::size_t k) {
  const Index count = std::max<Index>(plan.reduce[k].tiles(), 1);
  if (op.reduce[k].part_dim < 0) return count;
  const Index parts = std::max<Index>(op.shape[idx(op.reduce[k].part_dim)], 1);
  return std::max<Index>((count + parts - 1) / parts, 1);
}

double panel_count(const Op& op, const OpPlan& plan) {
  return volume_over(op.reduce.size(), [&](std::size_t k) { return panel_count(op, plan, k); });
}

Wanted wanted_by(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank, const TileFunction& also) {
  Wanting wanting(op, plan, tensors, rank);
  for_each_tile(op, plan, rank, [&](const RankView& tile, Index super_block) {
    wanting.add(tile, super_block);
    if (also) also(tile, super_block);
  });
  return wanting.take();
}

OwnTiles::OwnTiles(const Distribution& where, Index rank) : where_(&where), rank_(rank) {
  everything_ = where.everywhere();
  if (everything_ || where.by_table()) return;
  nothing_ = where.rank() == 0 && !has_part(where, rank);
  for (int d = 0; d < where.rank(); ++d) {
    along_.emplace_back(static_cast<std::size_t>(where.tiling(d).tiles()), false);
    for (const Interval& i : owned_intervals(where, rank, d)) {
      if (!i.empty()) along_.back()[static_cast<std::size_t>(where.tiling(d).tile_of(i.lo))] = true;
    }
  }
}

bool OwnTiles::has(const std::vector<Index>& tile) const {
  if (everything_ || nothing_) return everything_;
  if (where_->by_table()) {
    Index number = 0;
    for (std::size_t d = 0; d < tile.size(); ++d)
      number = number * where_->tiling(static_cast<int>(d)).tiles() + tile[d];
    return where_->owners().owner(number) == rank_;
  }
  for (std::size_t d = 0; d < tile.size(); ++d) {
    if (!along_[d][static_cast<std::size_t>(tile[d])]) return false;
  }
  return true;
}

double measure_owned(const Distribution& table, Index rank, const std::vector<Intervals>& lists) {
  return over_own_tiles(table, rank, lists,
                        [](const Intervals& list, Interval tile) { return measure_inside({tile}, list); });
}

double count_owned(const Distribution& table, Index rank, const std::vector<Intervals>& lists) {
  return over_own_tiles(table, rank, lists, [](const Intervals& list, Interval tile) {
    const auto first =
        std::lower_bound(list.begin(), list.end(), tile.lo, [](const Interval& a, Index x) { return a.hi <= x; });
    Index n = 0;
    for (auto i = first; i != list.end() && i->lo < tile.hi; ++i) ++n;
    return n;
  });
}

}  // namespace tdsl::plan::counting

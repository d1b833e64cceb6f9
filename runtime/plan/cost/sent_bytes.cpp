#include "runtime/plan/cost/sent_bytes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/plan/cost/tile_pieces.h"
#include "runtime/plan/lists.h"

// Note [Counting sent bytes] Along one operand dimension, every piece (an accessed interval inside one tile) has a set
// of ranks that request it and a set of ranks that own its tile. Only a few such pairs of sets are distinct: pieces
// with equal pairs form a class with a length. Boxes are products of pieces, so their classes are products of classes:
// the requesters and owners of a box are intersections. For an operand with copies only this rank's fibre matters:
// fibres exchange nothing. For sized blocks the number of sent blocks and their elements are counted, which bounds the
// bytes. If the operation or an operand is placed by an owner table there are no products: the pieces of all ranks are
// listed, unless there are too many tasks.

namespace tdsl::plan {

namespace {

using namespace counting;

/// A set of ranks.
class Ranks {
 public:
  explicit Ranks(Index p) : words_(static_cast<std::size_t>((p + 63) / 64), 0) {}
  void add(Index rank) { words_[static_cast<std::size_t>(rank / 64)] |= std::uint64_t{1} << (rank % 64); }
  [[nodiscard]] bool has(Index rank) const {
    return (words_[static_cast<std::size_t>(rank / 64)] >> (rank % 64) & 1) != 0;
  }
  [[nodiscard]] Index count() const {
    Index n = 0;
    for (const std::uint64_t word : words_) n += std::popcount(word);
    return n;
  }
  [[nodiscard]] Ranks both(const Ranks& other) const {
    Ranks result = *this;
    for (std::size_t w = 0; w < words_.size(); ++w) result.words_[w] &= other.words_[w];
    return result;
  }
  [[nodiscard]] Index least() const {
    for (std::size_t w = 0; w < words_.size(); ++w) {
      if (words_[w] != 0) return static_cast<Index>(w) * 64 + std::countr_zero(words_[w]);
    }
    return -1;
  }
  friend auto operator<=>(const Ranks&, const Ranks&) = default;

 private:
  std::vector<std::uint64_t> words_;
};

/// Pieces of a dimension with the same requesters and owners.
using Classes = std::map<std::pair<Ranks, Ranks>, double>;

/// Copies that a rank sends in a tree with `count` ranks below the root; `before` of them are between the root and this
/// rank in ascending cyclic order.
Index copies(Index count, bool is_root, Index before) {
  constexpr Index kDirect = 4;
  if (count < kDirect) return is_root ? count : 0;
  const Index position = is_root ? 0 : before + 1;
  Index sent = 0;
  for (Index bit = 1; position + bit <= count && (position & bit) == 0; bit *= 2) ++sent;
  return sent;
}

/// Number of boxes, or of their elements.
struct Carried {
  bool direct = false;  ///< every rank requests them from the owner, and may request a part (plan/lists.h)
  double sent = 0;
  double most_copies = 1;  ///< of a single box
  double from_other_nodes = 0;
};
struct CarriedBytes {
  Range sent;
  Range from_other_nodes;
};

/// Limit on listed tasks.
constexpr double kListedTasks = 1 << 20;

class Carrier {
 public:
  Carrier(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank)
      : op_(op),
        plan_(plan),
        tensors_(tensors),
        me_(rank),
        p_(plan.space.ranks()),
        per_node_(plan.ranks_per_node > 1 ? plan.ranks_per_node : p_) {}

  /// Nothing if boxes are not products, or are fetched in different steps.
  [[nodiscard]] std::optional<CarriedBytes> bytes() {
    const auto by_table = [](const Distribution& where) { return where.by_table(); };
    bool tables = by_table(plan_.space);
    for (const Access& access : op_.reads) tables = tables || by_table(tensors_(access.tensor).distribution);
    if (tables) return listed_tasks() > kListedTasks ? std::nullopt : listed_bytes();
    for (Index r = 0; r < p_; ++r) views_.push_back(view_of(op_, plan_, r));
    return bytes_of_products();
  }

 private:
  [[nodiscard]] double listed_tasks() const {
    return static_cast<double>(plan_.space.tile_count()) * panel_count(op_, plan_) *
           static_cast<double>(plan_.space.everywhere() ? p_ : 1);
  }

  /// Ranks that fetch a piece in the same step.
  struct Group {
    Index owner = 0;
    Range bytes;
    Ranks wanting;
  };
  using Step = std::tuple<TensorId, Index, std::vector<Index>, Index,
                          Index>;  // piece (tensor, block, bounds), super-block, panel
  [[nodiscard]] static Step step_of(const WantedPiece& piece) {
    std::vector<Index> bounds;
    for (const Interval& i : piece.box) bounds.insert(bounds.end(), {i.lo, i.hi});
    return {piece.tensor, piece.block, std::move(bounds), piece.super_block, piece.panel};
  }

  /// The groups that include this rank or whose piece it owns.
  [[nodiscard]] std::optional<CarriedBytes> listed_bytes() const {
    std::map<TensorId, std::vector<OwnTiles>> tiles;  // per tensor and rank
    for (const Access& access : op_.reads) {
      std::vector<OwnTiles>& of_ranks = tiles[access.tensor];
      for (Index r = 0; of_ranks.size() < idx(static_cast<int>(p_)); ++r)
        of_ranks.emplace_back(tensors_(access.tensor).distribution, r);
    }
    const auto owns = [&](const WantedPiece& piece, Index rank) {
      const Distribution& where = tensors_(piece.tensor).distribution;
      if (!share_copy(where, me_, rank)) return false;
      std::vector<Index> tile;
      for (std::size_t d = 0; d < piece.box.size(); ++d)
        tile.push_back(where.tiling(static_cast<int>(d)).tile_of(piece.box[d].lo));
      return tiles.at(piece.tensor)[idx(static_cast<int>(rank))].has(tile);
    };
    std::map<Step, Group> groups;
    Wanted mine = wanted_by(op_, plan_, tensors_, me_);
    if (!mine.exact) return std::nullopt;
    for (WantedPiece& piece : mine.pieces) {
      Group group{0, bytes_of(piece), Ranks(p_)};
      while (!owns(piece, group.owner)) ++group.owner;
      group.wanting.add(me_);
      groups.emplace(step_of(piece), std::move(group));
    }
    for (Index r = 0; r < p_; ++r) {
      if (r == me_) continue;
      const Wanted others = wanted_by(op_, plan_, tensors_, r);
      if (!others.exact) return std::nullopt;
      for (const WantedPiece& piece : others.pieces) {
        if (!share_copy(tensors_(piece.tensor).distribution, me_, r)) continue;
        const auto known = groups.find(step_of(piece));
        if (known != groups.end()) {
          known->second.wanting.add(r);
        } else if (owns(piece, me_)) {
          groups.emplace(step_of(piece), Group{me_, bytes_of(piece), Ranks(p_)}).first->second.wanting.add(r);
        }
      }
    }
    CarriedBytes sum;
    for (const auto& [step, group] : groups) {
      const bool direct = by_lists(op_, plan_, tensors_, std::get<0>(step));
      const Place place = place_of_me(group.wanting, group.owner, direct);
      const auto times = static_cast<double>(place.sent);
      sum.sent += {direct ? 0 : group.bytes.lo * times, group.bytes.hi * times};
      if (place.enters) sum.from_other_nodes += group.bytes;
    }
    return sum;
  }

  /// Bytes of a piece within one block.
  [[nodiscard]] Range bytes_of(const WantedPiece& piece) const {
    const TensorDesc& tensor = tensors_(piece.tensor).desc;
    if (!tensor.sized()) return {piece.bytes, piece.bytes};
    Box box;
    for (const Interval& i : piece.box) box[box.rank++] = i;
    const Estimate bytes = tensor.block_bytes(box);
    return {bytes.lo, bytes.hi};
  }

  [[nodiscard]] std::optional<CarriedBytes> bytes_of_products() const {
    for (const RankView& v : views_) {
      if (!v.exact || v.super_blocks > 1) return std::nullopt;
    }
    CarriedBytes sum;
    for (auto access = op_.reads.begin(); access != op_.reads.end(); ++access) {
      bool again = false;
      for (auto other = op_.reads.begin(); other != access; ++other) {
        if (other->tensor != access->tensor) continue;
        if (other->dims != access->dims) return std::nullopt;
        again = true;
      }
      if (again) continue;
      if (!add_bytes(*access, sum)) return std::nullopt;
    }
    return sum;
  }

  [[nodiscard]] bool is_reduced(int label) const {
    return std::ranges::any_of(op_.reduce, [label](const ReduceLabel& r) { return r.label == label; });
  }
  /// True if every label occurs in at most one dimension and reduce labels are the sole label of theirs: then a piece
  /// is requested in one panel only.
  [[nodiscard]] bool simple(const Access& access) const {
    std::vector<int> uses(op_.labels.size(), 0);
    for (const DimAccess& dim : access.dims) {
      if (dim.whole || dim.divisor < 1) continue;
      for (const Affine::Term& term : dim.terms) {
        if (++uses[idx(term.label)] > 1) return false;
        if (is_reduced(term.label) && (dim.terms.size() > 1 || dim.divisor != 1 || dim.offset.size() != 1))
          return false;
      }
    }
    return true;
  }

  /// False if panels may share a block: its requesters fetch it in different steps.
  [[nodiscard]] bool in_one_step(const Access& access) const {
    for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
      if (panel_count(op_, plan_, k) > 1 && std::ranges::any_of(access.dims, [&](const DimAccess& dim) {
            return std::ranges::any_of(dim.terms,
                                       [&](const Affine::Term& term) { return term.label == op_.reduce[k].label; });
          })) {
        return false;
      }
    }
    return true;
  }

  /// Returns false if the bytes cannot be determined.
  [[nodiscard]] bool add_bytes(const Access& access, CarriedBytes& sum) const {
    const PlacedTensor& tensor = tensors_(access.tensor);
    const Distribution& where = tensor.distribution;
    if (where.everywhere()) return true;
    const bool sized = tensor.desc.sized();
    if (!simple(access) || (sized && !in_one_step(access))) return false;
    std::vector<Classes> lengths, counts;
    for (int d = 0; d < where.rank(); ++d) {
      std::optional<Classes> classes = classes_of(access.dims[idx(d)], tensor, d, false);
      if (!classes) return false;
      lengths.push_back(std::move(*classes));
      if (sized) counts.push_back(*classes_of(access.dims[idx(d)], tensor, d, true));
    }
    Ranks wanting(p_), owning(p_);
    for (Index r = 0; r < p_; ++r) {
      if (!share_copy(where, me_, r)) continue;
      if (views_[idx(static_cast<int>(r))].works) wanting.add(r);
      if (has_part(where, r)) owning.add(r);
    }
    Carried elements, blocks;
    elements.direct = by_lists(op_, plan_, tensors_, access.tensor);
    if (!add_boxes(lengths, 0, wanting, owning, 1, elements)) return false;
    if (sized && !add_boxes(counts, 0, wanting, owning, 1, blocks)) return false;
    const auto add = [&](Range& to, double count, double volume, double times) {
      const Estimate bytes =
          bytes_of_blocks(tensor.desc, where, Estimate::exactly(count), Estimate::exactly(volume), times);
      to += {elements.direct ? 0 : bytes.lo, bytes.hi};
    };
    add(sum.sent, blocks.sent, elements.sent, elements.most_copies);
    add(sum.from_other_nodes, blocks.from_other_nodes, elements.from_other_nodes, 1);
    return true;
  }

  /// Lengths of the classes, or numbers of pieces.
  [[nodiscard]] std::optional<Classes> classes_of(const DimAccess& dim, const PlacedTensor& tensor, int d,
                                                  bool count) const {
    const Distribution& where = tensor.distribution;
    const Tiling& tiling = where.tiling(d);
    std::map<std::pair<Index, Index>, Ranks> wanting;
    std::vector<Ranks> owning(static_cast<std::size_t>(tiling.tiles()), Ranks(p_));
    for (Index r = 0; r < p_; ++r) {
      Intervals list = touched(views_[idx(static_cast<int>(r))], dim, tensor.desc.shape[idx(d)]);
      if (tensor.desc.sized()) list = whole_tiles(list, tiling);
      if (!equal_or_disjoint(list, {})) return std::nullopt;
      for (const Interval& i : list) {
        const Interval tiles = tiling.tiles_meeting(i);
        for (Index t = tiles.lo; t < tiles.hi; ++t) {
          const Interval piece = intersect(i, tiling.tile(t));
          if (!piece.empty()) wanting.try_emplace({piece.lo, piece.hi}, p_).first->second.add(r);
        }
      }
      for (const Interval& i : owned_intervals(where, r, d)) {
        if (!i.empty()) owning[idx(static_cast<int>(tiling.tile_of(i.lo)))].add(r);
      }
    }
    Classes classes;
    for (const auto& [piece, ranks] : wanting) {
      classes[{ranks, owning[idx(static_cast<int>(tiling.tile_of(piece.first)))]}] +=
          count ? 1 : static_cast<double>(piece.second - piece.first);
    }
    return classes;
  }

  /// Returns false if a box does not have exactly one owner.
  [[nodiscard]] bool add_boxes(const std::vector<Classes>& dims, std::size_t d, const Ranks& wanting,
                               const Ranks& owning, double volume, Carried& elements) const {
    const Index wanted = wanting.count();
    if (wanted == 0) return true;
    if (d < dims.size()) {
      for (const auto& [sets, length] : dims[d]) {
        if (!add_boxes(dims, d + 1, wanting.both(sets.first), owning.both(sets.second), volume * length, elements))
          return false;
      }
      return true;
    }
    if (owning.count() != 1) return false;
    const Index owner = owning.least();
    if (owner != me_ && !wanting.has(me_)) return true;
    const Place place = place_of_me(wanting, owner, elements.direct);
    elements.sent += volume * static_cast<double>(place.sent);
    elements.most_copies = std::max(elements.most_copies, static_cast<double>(place.sent));
    elements.from_other_nodes += place.enters ? volume : 0;
    return true;
  }

  /// This rank's part in sending a box that it owns or requests.
  struct Place {
    Index sent = 0;       ///< copies
    bool enters = false;  ///< its own copy comes from another node
  };
  [[nodiscard]] Place place_of_me(const Ranks& wanting, Index owner, bool direct) const {
    if (direct) return {owner == me_ ? wanting.count() - (wanting.has(owner) ? 1 : 0) : 0, false};
    Ranks first_of_node(p_);  // on nodes other than the owner's: they receive the box from outside
    Index root = owner;       // root of the tree in this node
    for (Index node = 0; node * per_node_ < p_; ++node) {
      if (node == owner / per_node_) continue;
      for (Index k = 0; k < per_node_; ++k) {
        const Index rank = node * per_node_ + (owner + k) % per_node_;
        if (!wanting.has(rank)) continue;
        first_of_node.add(rank);
        if (node == me_ / per_node_) root = rank;
        break;
      }
    }
    const Index node_begin = me_ / per_node_ * per_node_;
    Place place{sent_in_tree(wanting, {node_begin, node_begin + per_node_}, root), root == me_ && owner != me_};
    if (root == me_) place.sent += sent_in_tree(first_of_node, {0, p_}, owner);
    return place;
  }
  /// Copies that this rank sends to the `members` within `round`, excluding the root; the rank is a member or the root
  /// itself.
  [[nodiscard]] Index sent_in_tree(const Ranks& members, Interval round, Index root) const {
    Index count = 0;
    Index before = 0;
    for (Index step = 1; step < round.size(); ++step) {
      const Index rank = round.lo + (root - round.lo + step) % round.size();
      if (rank == me_) before = count;
      count += members.has(rank) ? 1 : 0;
    }
    return copies(count, root == me_, before);
  }

  const Op& op_;
  const OpPlan& plan_;
  const TensorLookup& tensors_;
  Index me_;
  Index p_;
  Index per_node_;  ///< all ranks if nodes are ignored
  std::vector<RankView> views_;
};

}  // namespace

Range sent_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank, const Machine& machine) {
  const Index p = plan.space.ranks();
  if (p == 1 || op.reads.empty()) return {};
  if (const std::optional<CarriedBytes> bytes = Carrier(op, plan, tensors, rank).bytes()) return bytes->sent;
  // At most the total received by all others.
  double most = 0;
  for (Index r = 0; r < p; ++r) most += r == rank ? 0 : cost_of(op, plan, tensors, r, machine, 1).bytes_received.hi;
  return {0, most};
}

Range bytes_from_other_nodes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank,
                             const Machine& machine) {
  if (plan.ranks_per_node <= 1 || op.reads.empty()) return {};
  if (const std::optional<CarriedBytes> bytes = Carrier(op, plan, tensors, rank).bytes())
    return bytes->from_other_nodes;
  return {0, cost_of(op, plan, tensors, rank, machine, 1).bytes_received.hi};
}

}  // namespace tdsl::plan

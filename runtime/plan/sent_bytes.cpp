#include "runtime/plan/sent_bytes.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "runtime/plan/rank_view.h"

// Note [Counting what is sent]
// Along one dimension of an operand, every piece (a touched interval inside one tile) has a set of ranks that want it and a set
// of ranks that own its tile. Few such pairs of sets differ: pieces with equal ones are a class with a length. Boxes are
// products of pieces, so their classes are products of classes: who wants the box and who owns it are intersections.

namespace tdsl::plan {

namespace {

using namespace counting;

/// A set of ranks.
class Ranks {
 public:
  explicit Ranks(Index p) : words_(static_cast<std::size_t>((p + 63) / 64), 0) {}
  void add(Index rank) { words_[static_cast<std::size_t>(rank / 64)] |= std::uint64_t{1} << (rank % 64); }
  [[nodiscard]] bool has(Index rank) const { return (words_[static_cast<std::size_t>(rank / 64)] >> (rank % 64) & 1) != 0; }
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

/// Pieces of a dimension that the same ranks want and own.
using Classes = std::map<std::pair<Ranks, Ranks>, double>;

/// Copies of a box that `me` sends: `count` ranks of p want it, of them `before` come between the owner and `me`, going up
/// from the owner and round.
Index copies(Index count, bool is_owner, Index before) {
  constexpr Index kDirect = 4;
  if (count < kDirect) return is_owner ? count : 0;
  const Index position = is_owner ? 0 : before + 1;
  Index sent = 0;
  for (Index bit = 1; position + bit <= count && (position & bit) == 0; bit *= 2) ++sent;
  return sent;
}

class Sender {
 public:
  Sender(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank) : op_(op), tensors_(tensors), me_(rank), p_(plan.space.ranks()) {
    for (Index r = 0; r < p_; ++r) views_.push_back(view_of(op, plan, r));
  }

  /// Nothing where boxes are no products, or meet in different steps.
  [[nodiscard]] std::optional<double> bytes() const {
    for (const RankView& v : views_) {
      if (!v.exact || v.super_blocks > 1) return std::nullopt;
    }
    double sum = 0;
    for (auto access = op_.reads.begin(); access != op_.reads.end(); ++access) {
      bool again = false;
      for (auto other = op_.reads.begin(); other != access; ++other) {
        if (other->tensor != access->tensor) continue;
        if (other->dims != access->dims) return std::nullopt;
        again = true;
      }
      if (again) continue;
      const std::optional<double> one = bytes_of(*access);
      if (!one) return std::nullopt;
      sum += *one;
    }
    return sum;
  }

 private:
  [[nodiscard]] bool is_reduced(int label) const {
    return std::any_of(op_.reduce.begin(), op_.reduce.end(), [label](const ReduceLabel& r) { return r.label == label; });
  }
  /// Every label in one dimension at most, and those summed over alone in theirs: then a piece is wanted in one panel only.
  [[nodiscard]] bool simple(const Access& access) const {
    std::vector<int> uses(op_.labels.size(), 0);
    for (const DimAccess& dim : access.dims) {
      if (dim.whole || dim.divisor < 1) continue;
      for (const Affine::Term& term : dim.terms) {
        if (++uses[at(term.label)] > 1) return false;
        if (is_reduced(term.label) && (dim.terms.size() > 1 || dim.divisor != 1 || dim.offset.size() != 1)) return false;
      }
    }
    return true;
  }

  [[nodiscard]] std::optional<double> bytes_of(const Access& access) const {
    const PlacedTensor& tensor = tensors_(access.tensor);
    const Distribution& where = tensor.distribution;
    if (where.kind() == Distribution::Kind::kReplicated) return 0;
    if (where.kind() == Distribution::Kind::kTable || !simple(access)) return std::nullopt;
    std::vector<Classes> dims;
    for (int d = 0; d < where.rank(); ++d) {
      std::optional<Classes> classes = classes_of(access.dims[at(d)], where, d, tensor.desc.shape[at(d)]);
      if (!classes) return std::nullopt;
      dims.push_back(std::move(*classes));
    }
    Ranks wanting(p_), owning(p_);
    for (Index r = 0; r < p_; ++r) {
      if (views_[at(static_cast<int>(r))].works) wanting.add(r);
      if (where.rank() > 0 || r == where.home() % p_) owning.add(r);
    }
    double elements = 0;
    if (!add_boxes(dims, 0, wanting, owning, 1, elements)) return std::nullopt;
    return elements * static_cast<double>(tensor.desc.element.bytes);
  }

  [[nodiscard]] std::optional<Classes> classes_of(const DimAccess& dim, const Distribution& where, int d, Index extent) const {
    const Tiling& tiling = where.tiling(d);
    std::map<std::pair<Index, Index>, Ranks> wanting;
    std::vector<Ranks> owning(static_cast<std::size_t>(tiling.tiles()), Ranks(p_));
    for (Index r = 0; r < p_; ++r) {
      const Intervals list = touched(views_[at(static_cast<int>(r))], dim, extent);
      if (!equal_or_disjoint(list, {})) return std::nullopt;
      for (const Interval& i : list) {
        const Interval tiles = tiling.tiles_meeting(i);
        for (Index t = tiles.lo; t < tiles.hi; ++t) {
          const Interval piece = intersect(i, tiling.tile(t));
          if (!piece.empty()) wanting.try_emplace({piece.lo, piece.hi}, p_).first->second.add(r);
        }
      }
      for (const Interval& i : owned_intervals(where, r, d)) {
        if (!i.empty()) owning[at(static_cast<int>(tiling.tile_of(i.lo)))].add(r);
      }
    }
    Classes classes;
    for (const auto& [piece, ranks] : wanting) {
      classes[{ranks, owning[at(static_cast<int>(tiling.tile_of(piece.first)))]}] += static_cast<double>(piece.second - piece.first);
    }
    return classes;
  }

  /// False when a box has not exactly one owner.
  [[nodiscard]] bool add_boxes(const std::vector<Classes>& dims, std::size_t d, const Ranks& wanting, const Ranks& owning, double volume,
                               double& elements) const {
    const Index wanted = wanting.count();
    if (wanted == 0) return true;
    if (d < dims.size()) {
      for (const auto& [sets, length] : dims[d]) {
        if (!add_boxes(dims, d + 1, wanting.both(sets.first), owning.both(sets.second), volume * length, elements)) return false;
      }
      return true;
    }
    if (owning.count() != 1) return false;
    const Index owner = owning.least();
    if (owner != me_ && !wanting.has(me_)) return true;
    Index before = 0;
    for (Index r = (owner + 1) % p_; r != me_ && owner != me_; r = (r + 1) % p_) before += wanting.has(r) ? 1 : 0;
    const Index count = wanted - (wanting.has(owner) ? 1 : 0);
    elements += volume * static_cast<double>(copies(count, owner == me_, before));
    return true;
  }

  const Op& op_;
  const TensorLookup& tensors_;
  Index me_;
  Index p_;
  std::vector<RankView> views_;
};

}  // namespace

Range sent_bytes(const Op& op, const OpPlan& plan, const TensorLookup& tensors, Index rank, const Machine& machine) {
  const Index p = plan.space.ranks();
  if (p == 1 || op.reads.empty()) return {};
  if (const std::optional<double> bytes = Sender(op, plan, tensors, rank).bytes()) return {*bytes, *bytes};
  // No more than what all others receive.
  double most = 0;
  for (Index r = 0; r < p; ++r) most += r == rank ? 0 : cost_of(op, plan, tensors, r, machine, 1).bytes_received.hi;
  return {0, most};
}

}  // namespace tdsl::plan

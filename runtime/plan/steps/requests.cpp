#include "runtime/plan/steps/steps.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "runtime/plan/steps/task_arithmetic.h"

namespace tdsl::plan {

using arithmetic::chunk_count;
using arithmetic::scale;
using arithmetic::solve;

// --- the inverse map ------------------------------------------------------------------------------------------------

// Note [Inverse map] Which ranks request parts of a block? The relevant output dimensions and reduce labels, those the
// access uses, are enumerated: only a few of their tiles can overlap the block. Along the other output dimensions every
// hit tile needs the same box, so only the distinct owners matter, and the super-blocks that make them fetch it again,
// unless the operand is kept. For a tensor with copies, a block of one copy is requested by the ranks of its own fibre.

namespace {
bool mentions(const Access& access, int label) {
  for (const DimAccess& dim : access.dims) {
    if (dim.whole || dim.divisor < 1) continue;
    for (const Affine::Term& term : dim.terms) {
      if (term.label == label) return true;
    }
  }
  return false;
}
}  // namespace

struct TaskSpace::Relevance {
  std::vector<bool> out;     ///< per output dimension
  std::vector<bool> reduce;  ///< per reduce label
};

/// A combination of relevant tiles whose access box overlaps the block.
struct TaskSpace::Candidate {
  TileBox tiles;            ///< relevant dimensions: one tile; others: all hit tiles
  std::vector<bool> fixed;  ///< per output dimension: true if relevant
  Index panel = 0;          ///< the first panel whose task accesses the piece
  Piece piece;
};

TaskSpace::Relevance TaskSpace::relevance(const Access& access) const {
  Relevance r{std::vector<bool>(op_.shape.size(), false), std::vector<bool>(op_.reduce.size(), false)};
  std::vector<int> uses(op_.labels.size(), 0);
  for (const OutSubscript& s : op_.out) {
    if (s.label >= 0) ++uses[idx(s.label)];
  }
  for (std::size_t d = 0; d < op_.out.size(); ++d) {
    const OutSubscript& s = op_.out[d];
    // Hit tiles are not a range if a label is written in two dimensions (a diagonal) or with gaps: those dimensions are
    // enumerated.
    if (s.label >= 0)
      r.out[d] = mentions(access, s.label) || uses[idx(s.label)] > 1 || s.coefficient > 1 || s.coefficient < -1;
  }
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    r.reduce[k] = mentions(access, op_.reduce[k].label);
    if (r.reduce[k] && op_.reduce[k].part_dim >= 0) r.out[idx(op_.reduce[k].part_dim)] = true;
  }
  return r;
}

std::vector<Interval> TaskSpace::values_touching(const Access& access, int label, const Box& block) const {
  const Interval range = op_.labels[idx(label)].range;
  std::vector<Interval> touching{range};
  for (int d = 0; d < block.rank; ++d) {
    const DimAccess& dim = access.dims[idx(d)];
    if (dim.whole || dim.divisor < 1) continue;
    const Interval wanted = arithmetic::undivided(block[d], dim.divisor);
    for (std::size_t t = 0; t < dim.terms.size(); ++t) {
      if (dim.terms[t].label != label || dim.terms[t].coefficient == 0) continue;
      Interval rest = dim.offset;  // hull of all other summands of the subscript
      for (std::size_t o = 0; o < dim.terms.size(); ++o) {
        const Interval part = scale(dim.terms[o].coefficient, op_.labels[idx(dim.terms[o].label)].range);
        if (o != t) rest = {rest.lo + part.lo, rest.hi + part.hi - 1};
      }
      Interval values = solve(dim.terms[t].coefficient, {wanted.lo - rest.hi + 1, wanted.hi - rest.lo});
      // The block is in a gap of a strided access: the hull of the values on both sides covers it.
      if (values.empty()) values = {values.lo - 1, values.lo + 1};
      touching.push_back(intersect(values, range));
    }
  }
  return touching;
}

Interval TaskSpace::tiles_writing(int dim, Interval label_values) const {
  const OutSubscript& s = op_.out[idx(dim)];
  Interval elements = scale(s.coefficient, label_values);
  if (elements.empty()) return {0, 0};
  return plan_.space.tiling(dim).tiles_meeting({elements.lo + s.constant, elements.hi + s.constant});
}

void TaskSpace::for_each_candidate(const Access& access, const Coord& block,
                                   const std::function<void(const Candidate&)>& f) const {
  const Distribution& tensor = tensors_(access.tensor).distribution;
  const Box block_box = tensor.box(block);
  const bool sized = tensors_(access.tensor).desc.sized();
  const Relevance relevant = relevance(access);
  const int out_rank = op_.out_rank();
  const int dims = op_.space_rank();

  // Range of every dimension of the task space; irrelevant output dimensions keep their hit tiles.
  std::array<Interval, kMaxDims> range{};
  std::array<bool, kMaxDims> enumerate{};
  for (int d = 0; d < out_rank; ++d) {
    const OutSubscript& s = op_.out[idx(d)];
    const Interval all{0, plan_.space.tiling(d).tiles()};
    if (s.label == kPartLabel || s.label == kAnyLabel) {
      range[idx(d)] = all;
    } else if (s.label == kNoLabel) {
      range[idx(d)] = plan_.space.tiling(d).tiles_meeting({s.constant, s.constant + 1});
    } else {
      range[idx(d)] = tiles_writing(d, op_.labels[idx(s.label)].range);
      enumerate[idx(d)] = relevant.out[idx(d)];
      if (!relevant.out[idx(d)]) continue;
      for (Interval values : values_touching(access, s.label, block_box)) {
        range[idx(d)] = intersect(range[idx(d)], tiles_writing(d, values));
      }
    }
  }
  for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
    const int d = out_rank + static_cast<int>(k);
    const Interval label = op_.labels[idx(op_.reduce[k].label)].range;
    if (label.empty()) return;  // no points, so nothing is read
    if (const int part_dim = op_.reduce[k].part_dim; part_dim >= 0) {
      // Parts beyond the last tile are empty.
      Interval& parts = range[idx(part_dim)];
      parts = intersect(parts, {0, ceil_div(plan_.reduce[k].tiles(), panels_of(k))});
    }
    if (!relevant.reduce[k]) {
      range[idx(d)] = {0, 1};
      continue;
    }
    range[idx(d)] = {0, plan_.reduce[k].tiles()};
    enumerate[idx(d)] = true;
    for (Interval values : values_touching(access, op_.reduce[k].label, block_box)) {
      range[idx(d)] =
          intersect(range[idx(d)], plan_.reduce[k].tiles_meeting({values.lo - label.lo, values.hi - label.lo}));
    }
  }
  for (int d = 0; d < dims; ++d) {
    if (range[idx(d)].empty()) return;
  }
  // Every existing label is written or reduced and gets its interval from a tile, or stays whole.
  Coord at_tile;
  at_tile.rank = dims;
  for (int d = 0; d < dims; ++d) at_tile[d] = range[idx(d)].lo;
  while (true) {
    std::vector<Interval> labels;
    for (const LabelDesc& label : op_.labels) labels.push_back(label.range);
    Candidate candidate;
    candidate.tiles.rank = out_rank;
    candidate.fixed.assign(op_.shape.size(), false);
    for (int d = 0; d < out_rank; ++d) {
      candidate.tiles[d] = range[idx(d)];
      if (!enumerate[idx(d)]) continue;
      candidate.tiles[d] = {at_tile[d], at_tile[d] + 1};
      candidate.fixed[idx(d)] = true;
      Interval& label = labels[idx(op_.out[idx(d)].label)];
      label = intersect(label, label_interval_of(d, plan_.space.tiling(d).tile(at_tile[d])));
    }
    for (std::size_t k = 0; k < op_.reduce.size(); ++k) {
      candidate.panel *= panels_of(k);
      if (!relevant.reduce[k]) continue;
      const Index tile = at_tile[out_rank + static_cast<int>(k)];
      candidate.panel += op_.reduce[k].part_dim >= 0 ? tile % panels_of(k) : tile;
      labels[idx(op_.reduce[k].label)] = reduce_interval(k, tile);
      const int part_dim = op_.reduce[k].part_dim;
      if (part_dim >= 0) {
        const Index part = tile / panels_of(k);
        candidate.tiles[part_dim] = intersect(candidate.tiles[part_dim], {part, part + 1});
        candidate.fixed[idx(part_dim)] = true;
      }
    }
    bool computes = points(labels) > 0;
    for (int d = 0; d < out_rank; ++d) computes = computes && !candidate.tiles[d].empty();
    if (computes) {
      candidate.piece = {access.tensor, tensor.linear(block), intersect(access_box(access, labels), block_box)};
      const bool touched = !candidate.piece.box.empty();
      if (sized) candidate.piece.box = block_box;
      if (touched) f(candidate);
    }
    int d = dims - 1;
    for (; d >= 0; --d) {
      if (!enumerate[idx(d)]) continue;
      if (++at_tile[d] < range[idx(d)].hi) break;
      at_tile[d] = range[idx(d)].lo;
    }
    if (d < 0) return;
  }
}

std::vector<Index> TaskSpace::chunks_along(Index rank, int dim) const {
  std::vector<Index> chunk(static_cast<std::size_t>(plan_.space.tiling(dim).tiles()), -1);
  const Index edge = plan_.super_block[idx(dim)];
  Index ordinal = 0;
  for (Index t : plan_.space.owned_along(rank, dim))
    chunk[static_cast<std::size_t>(t)] = edge > 0 ? ordinal++ / edge : 0;
  return chunk;
}

std::vector<Index> TaskSpace::chunks_of_list(Index rank, const Candidate& candidate) const {
  const Index edge = plan_.super_block.front();
  if (edge <= 0) return {0};
  const Distribution& space = plan_.space;
  std::vector<Index> chunks;
  space.for_each_owned_in(candidate.tiles, rank,
                          [&](Index tile) { chunks.push_back(space.owners().position(tile) / edge); });
  std::sort(chunks.begin(), chunks.end());
  chunks.erase(std::unique(chunks.begin(), chunks.end()), chunks.end());
  return chunks;
}

std::vector<Index> TaskSpace::super_blocks_needing(Index rank, const Candidate& candidate) const {
  std::vector<Index> numbers{0};
  if (plan_.super_block.empty() || op_.out_rank() == 0) return numbers;
  if (plan_.space.by_table()) return chunks_of_list(rank, candidate);
  for (int d = 0; d < op_.out_rank(); ++d) {
    const Index edge = plan_.super_block[idx(d)];
    if (edge <= 0) continue;
    const std::vector<Index> chunk = chunks_along(rank, d);
    std::set<Index> needed;
    for (Index t = candidate.tiles[d].lo; t < candidate.tiles[d].hi; ++t) {
      if (chunk[static_cast<std::size_t>(t)] >= 0) needed.insert(chunk[static_cast<std::size_t>(t)]);
    }
    const Index count = chunk_count(static_cast<Index>(plan_.space.owned_along(rank, d).size()), edge);
    std::vector<Index> next;
    for (Index n : numbers) {
      for (Index c : needed) next.push_back(n * count + c);
    }
    numbers = std::move(next);
  }
  return numbers;
}

void TaskSpace::for_each_request(TensorId tensor, const Coord& block, Index me,
                                 const std::function<void(Index, const Piece&, Index)>& f) const {
  const PlacedTensor& placed = tensors_(tensor);
  if (placed.distribution.everywhere()) return;
  int accesses = 0;
  bool overlapping = placed.desc.sized();  // whole blocks
  for (const Access& access : op_.reads) {
    if (access.tensor != tensor) continue;
    ++accesses;
    for (const DimAccess& dim : access.dims)
      overlapping = overlapping || dim.terms.size() > 1 || dim.offset.size() > 1 || dim.divisor != 1;
    // Dimensions enumerated because of the output subscripts repeat the box.
    const Relevance relevant = relevance(access);
    for (std::size_t d = 0; d < op_.out.size(); ++d) {
      overlapping = overlapping || (relevant.out[d] && op_.out[d].label >= 0 && !mentions(access, op_.out[d].label));
    }
  }
  const Index copy = placed.distribution.fibre(me);
  // The same box requested through two accesses, or by two neighbouring tiles, is sent once per super-block (once, if
  // the operand is kept).
  const bool distinct_needed = accesses > 1 || overlapping;
  const bool kept = plan_.keeps(op_, tensor);
  using Key = std::tuple<Index, Index, std::array<Interval, kMaxRank>>;
  const auto less = [](const Key& a, const Key& b) {
    if (std::get<0>(a) != std::get<0>(b)) return std::get<0>(a) < std::get<0>(b);
    if (std::get<1>(a) != std::get<1>(b)) return std::get<1>(a) < std::get<1>(b);
    for (std::size_t d = 0; d < kMaxRank; ++d) {
      const Interval& x = std::get<2>(a)[d];
      const Interval& y = std::get<2>(b)[d];
      if (x.lo != y.lo) return x.lo < y.lo;
      if (x.hi != y.hi) return x.hi < y.hi;
    }
    return false;
  };
  std::set<Key, decltype(less)> seen(less);
  for (const Access& access : op_.reads) {
    if (access.tensor != tensor) continue;
    for_each_candidate(access, block, [&](const Candidate& candidate) {
      plan_.space.for_each_owner(candidate.tiles, [&](Index rank) {
        if (rank == me || placed.distribution.fibre(rank) != copy) return;
        const std::vector<Index> numbers = kept ? std::vector<Index>{0} : super_blocks_needing(rank, candidate);
        if (!distinct_needed) {
          f(rank, candidate.piece, static_cast<Index>(numbers.size()));
          return;
        }
        Index times = 0;
        for (Index number : numbers) times += seen.insert({rank, number, candidate.piece.box.dim}).second ? 1 : 0;
        if (times > 0) f(rank, candidate.piece, times);
      });
    });
  }
}

// --- ranks that request a piece in the same step ---------------------------------------------------------------------

/// The fetches of pieces of one block: per rank and super-block, the first panel that needs a piece. A rank fetches a
/// piece of a kept operand in the first of its super-blocks.
class TaskSpace::Wanted {
 public:
  /// With `only`, restricted to that piece.
  Wanted(const TaskSpace& space, TensorId tensor, const Coord& block, Index owner, const Piece* only)
      : kept_(space.plan_.keeps(space.op_, tensor)) {
    const Distribution& where = space.tensors_(tensor).distribution;
    const Index copy = where.fibre(owner);
    for (const Access& access : space.op_.reads) {
      if (access.tensor != tensor) continue;
      space.for_each_candidate(access, block, [&](const Candidate& candidate) {
        if (only != nullptr && !(candidate.piece == *only)) return;
        space.plan_.space.for_each_owner(candidate.tiles, [&](Index rank) {
          if (rank == owner || where.fibre(rank) != copy) return;
          for (const Index number : space.super_blocks_needing(rank, candidate)) add(candidate, rank, number);
        });
      });
    }
  }

  /// f(piece, super-block, panel, ranks)
  template <class F>
  void for_each_step(F&& f) const {
    for (const auto& [piece, fetches] : pieces_) {
      std::map<std::pair<Index, Index>, std::vector<Index>> steps;
      Index last = -1;
      for (const auto& [where, panel] : fetches) {
        if (kept_ && where.first == std::exchange(last, where.first)) continue;
        steps[{where.second, panel}].push_back(where.first);
      }
      for (const auto& [step, ranks] : steps) f(piece, step.first, step.second, ranks);
    }
  }

 private:
  void add(const Candidate& candidate, Index rank, Index super_block) {
    const auto [entry, is_new] = pieces_[candidate.piece].try_emplace({rank, super_block}, candidate.panel);
    entry->second = std::min(entry->second, candidate.panel);
  }

  using Fetches = std::map<std::pair<Index, Index>, Index>;  ///< by rank and super-block
  std::unordered_map<Piece, Fetches, PieceHash> pieces_;
  bool kept_;
};

std::vector<Index> TaskSpace::ranks_wanting(const Piece& piece, Index owner, Index super_block, Index panel) const {
  std::vector<Index> wanting;
  const Coord block = tensors_(piece.tensor).distribution.coord(piece.block);
  Wanted(*this, piece.tensor, block, owner, &piece)
      .for_each_step([&](const Piece&, Index s, Index p, const std::vector<Index>& ranks) {
        if (s == super_block && p == panel) wanting = ranks;
      });
  return wanting;
}

void TaskSpace::for_each_wanted(TensorId tensor, const Coord& block, Index owner,
                                const std::function<void(const Piece&, const std::vector<Index>&)>& f) const {
  if (tensors_(tensor).distribution.everywhere()) return;
  Wanted(*this, tensor, block, owner, nullptr)
      .for_each_step([&](const Piece& piece, Index, Index, const std::vector<Index>& ranks) { f(piece, ranks); });
}

}  // namespace tdsl::plan

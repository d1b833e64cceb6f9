#pragma once

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "runtime/plan/steps/steps.h"
#include "tests/unit/plan/operations.h"

// Brute force over one planned operation: verifies the enumerator element by element.

namespace tdsl::tests {

using plan::Access;
using plan::Affine;
using plan::Box;
using plan::Coord;
using plan::DimAccess;
using plan::Distribution;
using plan::Estimate;
using plan::Fetch;
using plan::Interval;
using plan::kAnyLabel;
using plan::kNoLabel;
using plan::kPartLabel;
using plan::LabelDesc;
using plan::OutSubscript;
using plan::Piece;
using plan::PlacedTensor;
using plan::Step;
using plan::StepCursor;
using plan::Task;
using plan::TaskSpace;
using plan::TensorDesc;
using plan::TensorId;
using plan::TensorLookup;
using plan::TileBox;

inline std::size_t at(int d) { return static_cast<std::size_t>(d); }

/// A piece as a key with a total order.
using PieceKey = std::tuple<TensorId, Index, std::vector<Index>>;
inline PieceKey key_of(const Piece& piece) {
  std::vector<Index> bounds;
  for (int d = 0; d < piece.box.rank; ++d) bounds.insert(bounds.end(), {piece.box[d].lo, piece.box[d].hi});
  return {piece.tensor, piece.block, bounds};
}
inline TileBox as_tiles(const Box& box) {
  TileBox tiles;
  tiles.rank = box.rank;
  tiles.dim = box.dim;
  return tiles;
}

using Values = std::vector<std::vector<Index>>;  // per label: its values in a task

/// Compares the steps of all ranks, and the owners' expectations, with the definitions in op.h.
class Enumeration {
 public:
  explicit Enumeration(const PlannedCase& test)
      : test_(test), lookup_(test.lookup()), space_(test.op, test.plan, lookup_) {}

  /// The first violated property, or an empty string.
  std::string violation() {
    for (Index rank = 0; rank < test_.plan.space.ranks() && wrong_.empty(); ++rank) run(rank);
    if (wrong_.empty()) check_points();
    if (wrong_.empty()) check_requests();
    return wrong_;
  }
  [[nodiscard]] Index fetched() const { return fetched_; }

 private:
  void fail(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  [[nodiscard]] Index bytes_per_point() const {
    Index bytes = 0;
    for (const TensorDesc& output : test_.op.outputs) bytes += output.element.bytes;
    return bytes;
  }

  /// Label values for which the task's output subscripts and reduce tiles match.
  [[nodiscard]] Values values_of(const Task& task) const {
    Values values;
    for (std::size_t l = 0; l < test_.op.labels.size(); ++l) {
      const Interval range = test_.op.labels[l].range;
      values.emplace_back();
      for (Index v = range.lo; v < range.hi; ++v) {
        bool inside = true;
        for (int d = 0; d < test_.op.out_rank(); ++d) {
          const OutSubscript& s = test_.op.out[at(d)];
          if (s.label != static_cast<int>(l)) continue;
          const Interval tile = test_.plan.space.tiling(d).tile(task.tile[d]);
          const Index written = s.coefficient * v + s.constant;
          inside = inside && written >= tile.lo && written < tile.hi;
        }
        for (std::size_t k = 0; k < test_.op.reduce.size(); ++k) {
          if (test_.op.reduce[k].label != static_cast<int>(l)) continue;
          const Index tile = test_.plan.reduce[k].tile_of(v - range.lo);
          inside = inside && tile == task.panel[static_cast<int>(k)];
          const int part_dim = test_.op.reduce[k].part_dim;
          if (part_dim < 0) continue;
          const Index parts = test_.op.shape[at(part_dim)];
          const Index tiles_per_part = (test_.plan.reduce[k].tiles() + parts - 1) / parts;
          inside = inside && tile / tiles_per_part == task.tile[part_dim];
        }
        if (inside) values.back().push_back(v);
      }
    }
    return values;
  }

  [[nodiscard]] static Index point_count(const Values& values) {
    Index n = 1;
    for (const auto& v : values) n *= static_cast<Index>(v.size());
    return n;
  }

  /// The hull of the elements an access touches, found by trying all label values.
  [[nodiscard]] Box touched(const Access& access, const Values& values) const {
    Box box;
    box.rank = static_cast<int>(access.dims.size());
    for (int d = 0; d < box.rank; ++d) {
      const DimAccess& dim = access.dims[at(d)];
      const Index extent = test_.tensors.at(access.tensor).desc.shape[at(d)];
      if (dim.whole) {
        box[d] = {0, extent};
        continue;
      }
      std::vector<Index> sums{0};
      for (const Affine::Term& term : dim.terms) {
        std::vector<Index> next;
        for (Index sum : sums) {
          for (Index v : values[at(term.label)]) next.push_back(sum + term.coefficient * v);
        }
        sums = std::move(next);
      }
      // Without values nothing is read; otherwise the hull is clipped to the tensor.
      Interval hull;
      for (Index sum : sums) {
        Interval one{sum + dim.offset.lo, sum + dim.offset.hi};
        if (dim.divisor > 1) one = {one.lo / dim.divisor, (one.hi - 1) / dim.divisor + 1};
        hull = hull.empty() ? one : Interval{std::min(hull.lo, one.lo), std::max(hull.hi, one.hi)};
      }
      box[d] = intersect(hull, {0, extent});
      if (box[d].empty()) box[d] = {0, 0};
    }
    return box;
  }

  void check_geometry(const Task& task, const Values& values) {
    const std::vector<Interval> labels = space_.label_intervals(task.tile, task.panel);
    for (std::size_t l = 0; l < labels.size(); ++l) {
      if (values[l].empty() != labels[l].empty()) return fail("label_intervals: wrong emptiness");
      if (values[l].empty()) continue;
      // Gaps never occur: coefficient * v + constant is monotone.
      if (labels[l] != Interval{values[l].front(), values[l].back() + 1}) fail("label_intervals");
    }
    if (space_.points(labels) != point_count(values)) fail("points");
    for (const Access& access : test_.op.reads) {
      if (point_count(values) > 0 && !(space_.access_box(access, labels) == touched(access, values))) {
        fail("access_box of " + std::to_string(access.tensor));
      }
    }
  }

  /// Whether any element of the output tile is written, over all panels.
  [[nodiscard]] bool written(const Coord& tile) const {
    bool all = true;
    for (std::size_t l = 0; l < test_.op.labels.size(); ++l) {
      const Interval range = test_.op.labels[l].range;
      bool is_out = false;
      bool some = false;
      for (Index v = range.lo; v < range.hi; ++v) {
        bool inside = true;
        for (int d = 0; d < test_.op.out_rank(); ++d) {
          const OutSubscript& s = test_.op.out[at(d)];
          if (s.label != static_cast<int>(l)) continue;
          const Interval elements = test_.plan.space.tiling(d).tile(tile[d]);
          inside =
              inside && s.coefficient * v + s.constant >= elements.lo && s.coefficient * v + s.constant < elements.hi;
        }
        some = some || inside;
      }
      for (const OutSubscript& s : test_.op.out) is_out = is_out || s.label == static_cast<int>(l);
      all = all && (some || !is_out);
    }
    for (int d = 0; d < test_.op.out_rank(); ++d) {
      const OutSubscript& s = test_.op.out[at(d)];
      const Interval elements = test_.plan.space.tiling(d).tile(tile[d]);
      if (s.label == kNoLabel) all = all && s.constant >= elements.lo && s.constant < elements.hi;
    }
    return all;
  }

  void count_points(const Values& values) {
    std::vector<std::vector<Index>> points{{}};
    for (const auto& label : values) {
      std::vector<std::vector<Index>> next;
      for (const auto& point : points) {
        for (Index v : label) {
          next.push_back(point);
          next.back().push_back(v);
        }
      }
      points = std::move(next);
    }
    for (const auto& point : points) ++computed_[point];
  }

  void run(Index rank) {
    StepCursor cursor(space_, lookup_, rank);
    Step step;
    Index last_super_block = -1;
    Index next_panel = 0;
    std::set<PieceKey> kept, listed, stays;  // the last: pieces of kept operands
    Elements arrived, needed;                // in this super-block
    Elements stay_arrived, stay_needed;      // of kept operands, in all super-blocks
    std::map<Index, Index> panels_done;      // by output tile
    std::vector<Index> finished;
    Estimate output_bytes;
    while (cursor.next(step)) {
      if (step.super_block != last_super_block) {
        if (needed != arrived) return fail("fetched pieces differ from the pieces that the tasks access");
        if (step.super_block < last_super_block) return fail("super-blocks out of order");
        last_super_block = step.super_block;
        next_panel = 0;
        kept.clear(), listed.clear(), arrived.clear(), needed.clear();
      }
      if (step.panel != (space_.first_panel(rank) + next_panel) % space_.panels()) return fail("panels out of order");
      if (step.ends_super_block != (++next_panel == space_.panels())) return fail("ends_super_block");
      std::set<PieceKey> resident = kept;
      resident.insert(stays.begin(), stays.end());
      Estimate bytes;
      for (const Fetch& fetch : step.fetch) {
        const PlacedTensor& tensor = test_.tensors.at(fetch.piece.tensor);
        const Coord block = tensor.distribution.coord(fetch.piece.block);
        if (fetch.piece.box.empty()) return fail("empty piece");
        if (!contains(tensor.distribution.box(block), fetch.piece.box)) return fail("piece leaves its block");
        if (fetch.owner == rank || fetch.owner != tensor.distribution.owner(block, rank)) return fail("fetch owner");
        if (fetch.stays != test_.plan.keeps(test_.op, fetch.piece.tensor)) return fail("stays");
        if (!(fetch.stays ? stays : listed).insert(key_of(fetch.piece)).second) return fail("piece listed twice");
        resident.insert(key_of(fetch.piece));
        if (fetch.keep) kept.insert(key_of(fetch.piece));
        ++requests_[fetch.owner][{rank, key_of(fetch.piece)}];
        bytes += tensor.desc.block_bytes(fetch.piece.box);
        add_elements(fetch.piece, fetch.stays ? stay_arrived : arrived);
        ++fetched_;
      }
      if (!(bytes == step.fetch_bytes)) return fail("fetch_bytes");
      for (const Task& task : step.tasks) {
        const Index number = test_.plan.space.linear(task.tile);
        if (!test_.plan.space.owns(rank, task.tile)) return fail("task of another rank");
        if (task.first != (panels_done[number] == 0)) return fail("first");
        ++panels_done[number];
        if (task.last) finished.push_back(number);
        const Values values = values_of(task);
        if (task.hit != written(task.tile)) return fail("hit");
        if (!task.hit) continue;
        check_geometry(task, values);
        count_points(values);
        if (point_count(values) > 0) check_resident(rank, values, resident, needed, stay_needed);
        if (!wrong_.empty()) return;
      }
      output_bytes += step.output_bytes;
    }
    if (needed != arrived || stay_needed != stay_arrived)
      return fail("fetched pieces differ from the pieces that the tasks access");
    std::vector<Index> owned;
    test_.plan.space.for_each_owned(rank, [&](const Coord& c) { owned.push_back(test_.plan.space.linear(c)); });
    std::sort(finished.begin(), finished.end());
    if (finished != owned) return fail("not every owned tile is finished once");
    if (!(output_bytes ==
          Estimate::exactly(static_cast<double>(test_.plan.space.owned_elements(rank) * bytes_per_point()))))
      return fail("output_bytes");
  }

  using Elements = std::set<std::tuple<TensorId, Index>>;
  static void add_elements(const Piece& piece, Elements& to) {
    for_each_tile(as_tiles(piece.box), [&](const Coord& element) {
      Index flat = 0;
      for (int d = 0; d < element.rank; ++d) flat = flat * 16 + element[d];
      to.insert({piece.tensor, flat});
    });
  }

  /// Data that the engine reads when it runs the task must be local, or fetched and not yet dropped.
  void check_resident(Index rank, const Values& values, const std::set<PieceKey>& resident, Elements& needed,
                      Elements& stay_needed) {
    for (const Access& access : test_.op.reads) {
      const Distribution& tensor = test_.tensors.at(access.tensor).distribution;
      Index covered = 0;
      const Box box = touched(access, values);
      space_.for_each_piece(access.tensor, box, [&](const Coord& block, const Piece& piece) {
        if (piece.block != tensor.linear(block)) fail("for_each_piece: block number");
        const bool sized = test_.tensors.at(access.tensor).desc.sized();
        if (!contains(tensor.box(block), piece.box) || (!sized && !contains(box, piece.box)))
          fail("for_each_piece: box");
        if (sized && !(piece.box == tensor.box(block))) fail("for_each_piece: not all of a sized block");
        covered += intersect(piece.box, box).volume();
        if (tensor.owns(rank, block)) return;
        if (!resident.contains(key_of(piece))) fail("a task's piece is neither local nor resident");
        add_elements(piece, test_.plan.keeps(test_.op, access.tensor) ? stay_needed : needed);
      });
      if (covered != box.volume()) fail("for_each_piece does not cover the box");
    }
  }

  /// Every point with its target inside the output is computed once (per copy; once per tile along dimensions with
  /// arbitrary writes), others never.
  void check_points() {
    Index times = test_.plan.space.copies();
    for (int d = 0; d < test_.op.out_rank(); ++d) {
      if (test_.op.out[at(d)].label == kAnyLabel) times *= test_.plan.space.tiling(d).tiles();
    }
    Values all;
    for (const LabelDesc& label : test_.op.labels) {
      all.emplace_back();
      for (Index v = label.range.lo; v < label.range.hi; ++v) {
        bool inside = true;
        for (int d = 0; d < test_.op.out_rank(); ++d) {
          const OutSubscript& s = test_.op.out[at(d)];
          if (s.label < 0 || at(s.label) + 1 != all.size()) continue;
          const Index x = s.coefficient * v + s.constant;
          inside = inside && x >= 0 && x < test_.op.shape[at(d)];
        }
        if (inside) all.back().push_back(v);
      }
    }
    bool writes = true;
    for (int d = 0; d < test_.op.out_rank(); ++d) {
      const OutSubscript& s = test_.op.out[at(d)];
      if (s.label == kNoLabel) writes = writes && s.constant >= 0 && s.constant < test_.op.shape[at(d)];
      if (s.label == kPartLabel || s.label == kAnyLabel) writes = writes && test_.op.shape[at(d)] > 0;
    }
    if (test_.plan.space.tile_count() == 0) writes = false;
    if (static_cast<Index>(computed_.size()) != (writes ? point_count(all) : 0))
      return fail("points left out or too many");
    for (const auto& [point, count] : computed_) {
      if (count != times) return fail("a point is computed more than once");
    }
  }

  /// The inverse map: owners expect exactly what others request.
  void check_requests() {
    for (const auto& entry : test_.tensors) {
      const auto& asked = entry.first;  // clang 14 cannot capture structured bindings in lambdas
      const auto& tensor = entry.second;
      if (tensor.distribution.everywhere()) continue;
      for_each_tile(tensor.distribution.all_tiles(), [&](const Coord& block) {
        for (Index me = 0; me < tensor.distribution.ranks(); ++me) {
          if (!tensor.distribution.owns(me, block)) continue;
          space_.for_each_request(asked, block, me, [&](Index rank, const Piece& piece, Index times) {
            if (piece.tensor != asked || rank == me || times < 1) fail("for_each_request: nonsense");
            expected_[me][{rank, key_of(piece)}] += times;
          });
        }
      });
    }
    for (Index owner = 0; owner < test_.plan.space.ranks(); ++owner) {
      if (requests_[owner] == expected_[owner]) continue;
      std::string detail;
      for (const auto& [key, count] : requests_[owner]) {
        const Index other = expected_[owner].contains(key) ? expected_[owner][key] : 0;
        if (other != count) {
          detail = "rank " + std::to_string(key.first) + " asks " + std::to_string(count) +
                   " times for a piece of block " + std::to_string(std::get<1>(key.second)) + ", the owner expects " +
                   std::to_string(other);
        }
      }
      return fail("requests to rank " + std::to_string(owner) + ": " + (detail.empty() ? "too many expected" : detail));
    }
  }

  const PlannedCase& test_;
  TensorLookup lookup_;
  TaskSpace space_;
  std::string wrong_;
  Index fetched_ = 0;
  std::map<std::vector<Index>, Index> computed_;
  std::map<Index, std::map<std::pair<Index, PieceKey>, Index>> requests_;
  std::map<Index, std::map<std::pair<Index, PieceKey>, Index>> expected_;
};

}  // namespace tdsl::tests

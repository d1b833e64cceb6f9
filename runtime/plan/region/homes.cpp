#include "runtime/plan/region/homes.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/region/memory_need.h"
#include "runtime/plan/region/planned_region.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

namespace {

/// The lifetime of a tensor of the region.
struct Life {
  std::size_t made = 0;
  int site = 0;
  std::vector<std::size_t> uses;  ///< operations, in order
  std::size_t end = 0;            ///< the last operation at which it is live
  bool source = false;            ///< created on first use
};

/// Attempts at a plan with room for its own largest block.
constexpr int kRoomAttempts = 4;

class HomeSearch {
 public:
  HomeSearch(const Region& region, const PlanInputs& inputs, std::shared_ptr<const PlanValue> plan,
             const HomeRequest& request)
      : region_(region), inputs_(inputs), plan_(std::move(plan)), request_(request) {
    follow_lives();
  }

  FoundHomes run() {
    MemoryNeed need = need_with();
    while (need.bytes > inputs_.memory) {
      const std::optional<int> site = next_to_move(static_cast<std::size_t>(std::max<Index>(need.operation, 0)));
      if (!site) return result(std::move(need), false);
      if (!move(*site)) {
        useless_.insert({need.operation, *site});
        continue;
      }
      MemoryNeed next = need_with();
      const bool helps = next.operation != need.operation || next.bytes < need.bytes;
      if (!helps) {
        inputs_.homes.erase(*site);
        useless_.insert({need.operation, *site});
        continue;
      }
      need = std::move(next);
    }
    FoundHomes best = result(std::move(need), true);
    keep_what_fits(best);
    return best;
  }

 private:
  void follow_lives() {
    std::map<TensorId, std::size_t> open;
    for (std::size_t k = 0; k < region_.ops.size(); ++k) {
      const RegionOp& recorded = region_.ops[k];
      if (k > 0 && recorded.run != region_.ops[k - 1].run) {
        for (const auto& [id, life] : open) lives_[life].end = k - 1;
        open.clear();
      }
      const auto use = [&](TensorId id) {
        const auto found = open.find(id);
        if (found != open.end() && (lives_[found->second].uses.empty() || lives_[found->second].uses.back() != k))
          lives_[found->second].uses.push_back(k);
      };
      for (const Access& access : recorded.op.reads) use(access.tensor);
      if (recorded.op.base >= 0) use(recorded.op.base);
      for (const TensorDesc& output : recorded.op.outputs) {
        open[output.id] = lives_.size();
        lives_.push_back({k, recorded.op.site, {}, region_.ops.size() - 1, recorded.op.is_source()});
      }
      for (const TensorId id : recorded.last_uses) {
        const auto found = open.find(id);
        if (found == open.end()) continue;
        lives_[found->second].end = k;
        open.erase(found);
      }
    }
  }

  [[nodiscard]] MemoryNeed need_with() const {
    return request_.certain ? certain_need(region_, inputs_, plan_) : expected_need(region_, inputs_, plan_);
  }

  /// Among the movable tensors live at the operation, the site of the one with the largest bytes x distance to its next
  /// use.
  [[nodiscard]] std::optional<int> next_to_move(std::size_t operation) const {
    std::optional<int> best;
    double most = 0;
    for (const Life& life : lives_) {
      const std::size_t begin = life.source && !life.uses.empty() ? life.uses.front() : life.made;
      if (begin > operation || life.end < operation || life.site < 1) continue;
      if (inputs_.homes.contains(life.site) || useless_.contains({static_cast<Index>(operation), life.site})) continue;
      const auto next =
          std::find_if(life.uses.begin(), life.uses.end(), [&](std::size_t use) { return use >= operation; });
      const bool now = life.made == operation || (next != life.uses.end() && *next == operation);
      if (now && region_.ops[operation].op.op_class == OpClass::kLoop)
        continue;  // a loop needs all of its operands at once
      const std::size_t at = now ? operation : next != life.uses.end() ? *next : region_.ops.size();
      const double bytes = static_cast<double>(region_.ops[life.made].op.outputs.front().bytes());
      const double score = bytes * static_cast<double>(1 + at - operation);
      if (score > most) most = score, best = life.site;
    }
    return best;
  }

  /// Moves tensors created at the site out of memory, if possible.
  bool move(int site) {
    for (const RegionOp& recorded : region_.ops) {
      const Op& op = recorded.op;
      if (op.site != site || op.outputs.empty()) continue;
      inputs_.homes[site] = {Home::kDisk, 0};
      if (inputs_.housing_of(op).home == Home::kMemory || op.replicated) break;
      if (stays_in_file(op)) inputs_.homes[site].home = Home::kFile;
      if (inputs_.homes[site].home == Home::kDisk && !request_.disk) break;
      return true;
    }
    inputs_.homes.erase(site);
    return false;
  }

  /// The tensor's placement if only its storage location changes.
  [[nodiscard]] bool stays_in_file(const Op& load) const {
    if (load.op_class != OpClass::kLoad || !request_.in_file) return false;
    Planner planner = planner_of(inputs_, plan_);
    std::optional<Index> row;
    bool known = false;
    static_cast<void>(plan_one_by_one(region_, planner, [&] {
      const TensorId id = load.outputs.front().id;
      if (known || !planner.planned(id)) return;
      known = true;
      const PlacedTensor& placed = planner.tensor(id);
      Index elements = 1;
      for (int d = placed.distribution.rank() - 1; d >= 0; --d) {
        const Tiling& tiling = placed.distribution.tiling(d);
        elements *= tiling.tiles() > 0 ? tiling.extent() / tiling.tiles() : 0;
        if (tiling.tiles() > 1) break;
      }
      row = elements * placed.desc.element.bytes;
    }));
    return row && request_.in_file(load.name, *row);
  }

  /// Price of the region under the current locations; if no need is given, sized blocks count at their upper bound.
  [[nodiscard]] FoundHomes result(MemoryNeed need, bool fits) const {
    FoundHomes found;
    found.fits = fits;
    found.homes = inputs_.homes;
    found.need = std::move(need);
    Planner planner = planner_of(inputs_, plan_);
    const std::vector<PlannedSegment> planned = plan_one_by_one(region_, planner);
    const Machine& machine = inputs_.machine;
    for (std::size_t k = 0; k < planned.size(); ++k) {
      for (const auto& op : planned[k].ops) {
        const double weight = op->op.is_source() ? 1 : region_.ops[k].weight;
        double read = 0, written = 0, seconds = 0;
        for (const Index rank : rank_sample(op->plan.space, inputs_.sample)) {
          const Cost cost = cost_of(op->op, op->plan, planner.lookup(), rank, machine, inputs_.threads);
          read = std::max(read, cost.disk_read.hi);
          written = std::max(written, cost.disk_written.hi);
          seconds = std::max(seconds, cost.seconds.hi);
        }
        found.read += weight * read;
        found.written += weight * written;
        found.seconds += weight * seconds;
        note(*op, found);
      }
    }
    if (found.need.bytes == 0) found.need = planner.needed_memory();
    found.between = planner.held_between();
    if (request_.saves) found.saved = saved_bytes(found.tensors);
    found.disk_seconds = found.read / machine.disk_read_rate + found.written / machine.disk_write_rate;
    return found;
  }

  void note(const PlannedOp& op, FoundHomes& found) const {
    if (op.plan.housing.home == Home::kMemory) return;
    std::vector<MovedTensor>& tensors = found.tensors;
    Index block = op.op.outputs.front().element.bytes;
    for (const Index edge : counting::longest_tiles(op.plan.space)) block *= edge;
    found.largest_block = std::max(found.largest_block, block);
    const auto same = [&](const MovedTensor& t) { return t.site == op.op.site; };
    if (std::any_of(tensors.begin(), tensors.end(), same)) return;
    double most = 0;
    for (const Index rank : rank_sample(op.plan.space, inputs_.sample)) {
      most = std::max(most, counting::away_bytes(op.op.outputs.front(), op.plan.space, op.plan.housing, rank));
    }
    tensors.push_back({op.op.site, op.op.line, op.op.name, op.plan.housing, most});
  }

  /// Peak bytes on disk between two operations, excluding tensors that a restart recomputes.
  [[nodiscard]] double saved_bytes(const std::vector<MovedTensor>& tensors) const {
    std::map<std::size_t, double> changes;  // by operation
    for (const Life& life : lives_) {
      const auto moved = std::find_if(tensors.begin(), tensors.end(), [&](const MovedTensor& t) {
        return t.site == life.site && t.housing.home == Home::kDisk;
      });
      if (life.source || moved == tensors.end()) continue;
      const bool ends = life.end > life.made && life.end + 1 < region_.ops.size();
      changes[life.made] += moved->bytes;
      changes[ends ? life.end : life.end + 1] -= moved->bytes;
    }
    double now = 0, most = 0;
    for (const auto& [operation, bytes] : changes) most = std::max(most, now += bytes);
    return most;
  }

  /// The rows of tiles that a rank owns of the tensor.
  [[nodiscard]] Index tile_rows(int site) const {
    Planner planner = planner_of(inputs_, plan_);
    Index rows = 0;
    for (const PlannedSegment& segment : plan_one_by_one(region_, planner)) {
      for (const auto& op : segment.ops) {
        if (op->op.site != site || op->plan.housing.home == Home::kMemory) continue;
        for (const Index rank : rank_sample(op->plan.space, inputs_.sample)) {
          rows = std::max(rows, static_cast<Index>(op->plan.space.owned_along(rank, 0).size()));
        }
      }
    }
    return rows;
  }

  /// Moves rows of tiles back into memory, by halving the remainder, while everything fits and gets faster.
  void keep_what_fits(FoundHomes& best) {
    std::optional<FoundHomes> better;
    double least = best.seconds;
    for (const auto& [site, housing] : best.homes) {
      for (Index step = tile_rows(site) / 2; step > 0 && !request_.late(); step /= 2) {
        inputs_.homes[site].resident_tiles += step;
        FoundHomes next = result({}, true);
        if (!request_.certain) next.need = need_with();
        if (next.need.bytes <= inputs_.memory && next.seconds < least * (1 - 1e-9)) {
          least = next.seconds;
          better = std::move(next);
          continue;
        }
        inputs_.homes[site].resident_tiles -= step;
      }
    }
    if (better) best = std::move(*better);
  }

  const Region& region_;
  PlanInputs inputs_;
  std::shared_ptr<const PlanValue> plan_;
  const HomeRequest& request_;
  std::vector<Life> lives_;
  std::set<std::pair<Index, int>> useless_;  ///< pairs of operation and site without a gain
};

}  // namespace

FoundHomes find_homes(const Region& region, const PlanInputs& inputs, const std::shared_ptr<const PlanValue>& plan,
                      const HomeRequest& request) {
  return HomeSearch(region, inputs, plan, request).run();
}

namespace {

/// Finds locations with room for this many non-resident blocks.
FoundHomes find_homes_beside(Index blocks, const Region& region, const PlanInputs& inputs,
                             const std::shared_ptr<const PlanValue>& plan, const HomeRequest& request) {
  PlanInputs lean = inputs;
  FoundHomes found;
  Index reserve = 0;
  for (int attempt = 0; attempt < kRoomAttempts && reserve < inputs.memory; ++attempt) {
    lean.memory = inputs.memory - reserve;
    found = find_homes(region, lean, plan, request);
    found.memory = lean.memory;
    found.reserve = reserve;
    if (!found.fits) break;
    if (blocks * found.largest_block <= reserve) return found;
    reserve = blocks * found.largest_block;
  }
  found.fits = false;
  found.need.bytes += blocks * found.largest_block;
  return found;
}

}  // namespace

FoundHomes find_homes_and_room(const Region& region, const PlanInputs& inputs,
                               const std::shared_ptr<const PlanValue>& plan, const HomeRequest& request) {
  const Index served = inputs.ranks > 1 ? kMostServed : 0;
  FoundHomes found = find_homes_beside(served, region, inputs, plan, request);
  if (!request.saves || !found.fits || found.between + found.largest_block <= found.memory) return found;
  return find_homes_beside(served + 1, region, inputs, plan, request);
}

}  // namespace tdsl::plan

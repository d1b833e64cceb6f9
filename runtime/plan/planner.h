#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/plan/cost/last_uses.h"
#include "runtime/plan/cost/machine.h"
#include "runtime/plan/cost/resident_ranks.h"
#include "runtime/plan/op_plan.h"
#include "runtime/plan/segment.h"

namespace tdsl::plan {

class Imposed;
struct Candidate;
struct Operands;

/// So many ranks stand for all where nothing else is said.
inline constexpr Index kSampledRanks = 64;

/// All a plan depends on beside the program and its extents.
struct PlanInputs {
  Index ranks = 1;
  Index ranks_per_node = 1;  ///< rank r is on node r / ranks_per_node; all ranks: one node
  int threads = 1;
  std::vector<Index> tile;    ///< --tile: empty = planner's choice; one number = every edge; else per dimension
  Index memory = 0;           ///< --memory: limit per rank of all blocks in bytes; 0: none
  Index window = 0;           ///< --window in bytes; 0: what the budget leaves
  bool reproducible = false;  ///< tiles, panels and partial results depend on extents only
  bool alike = true;          ///< all ranks have equal processors: redundant work gives equal bits
  double share_cap = 1.2;     ///< without --memory a rank may own this many times its share of what lives together,
  Index least_slack = Index{64} << 20;  ///< or its share and this many bytes
  std::map<int, Housing> homes;         ///< by site, of an operation's results; others are in memory
  Machine machine;
  Index sample = kSampledRanks;  ///< about how many ranks stand for all where operations are priced

  /// One node: what holds within a node holds everywhere. Afterwards `ranks_per_node` is 1, no nodes, or a proper
  /// divisor of the ranks.
  void settle_nodes();
  /// Where the operation's results are at home.
  [[nodiscard]] Housing housing_of(const Op& op) const;
  /// Whether seconds depend on which ranks share a node.
  [[nodiscard]] bool tells_nodes() const { return ranks_per_node > 1 && machine.tells_nodes(); }
  /// The number of ranks by which a routine chooses between forms that are different sums.
  [[nodiscard]] Index deciding_ranks() const { return reproducible ? 4 : ranks; }
};

/// The most that one operation needs on a rank: blocks that live then, its result, and its largest step.
struct MemoryNeed {
  Index bytes = 0;
  Index step = 0;    ///< of them, received or copied together by one step
  std::string name;  ///< the operation's
  int line = 0;
  Index disk = 0;        ///< most that lies on disk at once
  Index operation = -1;  ///< of the region, where one was planned
};

/// Plans a program segment by segment, identically on every rank: decides partition, tiles and owners of each
/// operation's output and registers them. Sources (constants, random numbers, file inputs) wait until a segment uses
/// them, so that they are placed where the plan wants them.
class Planner {
 public:
  explicit Planner(PlanInputs inputs);
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;
  ~Planner();

  /// From now on sites are placed as the plan says; those it does not decide, and operations that cannot carry what it
  /// says, by themselves.
  void impose(std::unique_ptr<Imposed> plan);
  /// Before anything is planned: everything is planned within `bytes` per rank (PlanInputs::memory).
  void limit_memory(Index bytes, std::map<int, Housing> homes = {});
  /// A kRestore operation is going to make the tensor, which an earlier run made at that site; it gets this home.
  void restores(TensorId tensor, int site, const Housing& housing) { origins_[tensor] = {site, housing}; }
  /// Where the program makes the tensor; 0: that is not known.
  [[nodiscard]] int site_of(TensorId tensor) const;
  /// Operations at decided sites that could not be placed as decided.
  [[nodiscard]] Index unplanned() const { return unplanned_; }
  [[nodiscard]] const PlanInputs& inputs() const { return inputs_; }
  /// Plans the operations of a segment in order, and says where the names of tensors end, those of partial results
  /// included. Sources nobody uses yet are kept back; one that loses its last name before is forgotten.
  PlannedSegment plan(Segment segment);
  /// Drops what is known of a tensor whose blocks are gone.
  void erase(TensorId tensor);
  [[nodiscard]] const PlacedTensor& tensor(TensorId id) const;
  [[nodiscard]] bool planned(TensorId id) const { return tensors_.contains(id); }
  [[nodiscard]] TensorLookup lookup() const;
  /// The copy that is kept of a tensor, and the sites that read it.
  struct Copy {
    TensorId id = -1;
    std::vector<int> readers;
  };
  /// Null: none is kept.
  [[nodiscard]] const Copy* kept_copy(TensorId original) const;
  /// The source that makes the tensor once something uses it; null: it is made.
  [[nodiscard]] const Op* waiting_source(TensorId tensor) const;
  /// Hash of every decision so far; equal on all ranks.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  /// The largest footprint of a single step so far; `--window` below it is refused with this number.
  [[nodiscard]] Index largest_step() const { return largest_step_; }
  /// Under a memory limit: the least that the operations so far need, run one after the other.
  [[nodiscard]] const MemoryNeed& needed_memory() const { return needed_; }
  /// The same: the most that a rank holds between two of them.
  [[nodiscard]] Index held_between() const { return held_between_; }

 private:
  struct Choice;
  using Planned = std::vector<std::shared_ptr<const PlannedOp>>;

  using Dead = std::vector<TensorId>;  ///< tensors that an operation is the last to need

  [[nodiscard]] Planned plan_ops(std::vector<Op> ops, const std::vector<TensorId>& dropped);
  [[nodiscard]] std::optional<Op> forget_source(TensorId tensor);
  void plan_op(Op op, const Dead& dead, Planned& out);
  [[nodiscard]] std::shared_ptr<const Choice> choose(const Op& op, bool may_split, const Dead& dead);
  void emit(Op op, const OpPlan& plan, int part, const Dead& dead, Planned& out);
  [[nodiscard]] std::vector<TensorId> wanted_whole(const Op& op, const Dead& dead) const;
  void place_source(TensorId tensor, const Distribution& where, Planned& out);
  void keep_copy(const Op& made, Planned& out);
  [[nodiscard]] Housing housing_of(const Op& op) const;
  void house(const Op& op, OpPlan& plan) const;
  void note_disk(const PlannedOp& op, const Dead& dead);
  void forget_disk(TensorId tensor);
  void use_copies(Op& op, Planned& out);
  void settle(SettledOp settled, Planned& out);
  /// What choosing compares.
  struct Price {
    double excess = 0;   ///< bytes above the memory limit
    double seconds = 0;  ///< predicted
  };
  [[nodiscard]] Operands operands() const;
  [[nodiscard]] std::optional<Candidate> decided(const Op& op, bool may_split, bool frees_base);
  [[nodiscard]] Candidate cheapest(const Op& op, bool may_split, bool frees_base) const;
  [[nodiscard]] Price price(Candidate& candidate, const Op& op, bool frees_base, bool alone) const;
  [[nodiscard]] double seconds_to_combine(const Op& op, const Op& partial, double seconds) const;
  [[nodiscard]] double held_beside(const Candidate& candidate, bool frees_base, const TensorLookup& tensors,
                                   const ResidentBytes& resident) const;
  [[nodiscard]] double excess(const Candidate& candidate, bool frees_base, const TensorLookup& tensors) const;
  void fit_memory(Candidate& candidate, bool frees_base, const TensorLookup& tensors) const;
  [[nodiscard]] const PlacedTensor* placed(TensorId id) const;   ///< null: a source that waits
  [[nodiscard]] const TensorDesc& described(TensorId id) const;  ///< of a source that waits
  [[nodiscard]] TensorLookup lookup_with(const Candidate& candidate) const;
  [[nodiscard]] std::string signature(const Op& op) const;

  PlanInputs inputs_;
  TensorId next_part_ = kFirstPart;
  std::unordered_map<TensorId, PlacedTensor> tensors_;
  std::vector<Op> waiting_;  ///< sources not used yet, in recording order
  std::uint64_t hash_ = 1469598103934665603ULL;
  Index largest_step_ = 0;
  ResidentRanks resident_;  ///< only under a memory limit
  MemoryNeed needed_;
  Index held_between_ = 0;
  struct Origin {
    int site = 0;
    Housing restored{};  ///< of what is restored
  };
  std::unordered_map<TensorId, Origin> origins_;
  std::unordered_map<TensorId, double> on_disk_;  ///< bytes of the rank that has most
  double disk_now_ = 0;
  std::unique_ptr<Imposed> imposed_;
  Index unplanned_ = 0;
  std::unordered_map<TensorId, Copy> copies_;  ///< kept, by their originals
  /// Decisions by everything they depend on, so that the next iteration of a loop builds nothing new.
  std::unordered_map<std::string, std::shared_ptr<const Choice>> memo_;
};

}  // namespace tdsl::plan

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
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

/// Default number of ranks sampled for pricing.
inline constexpr Index kSampledRanks = 64;

/// All inputs of planning besides the program and its extents.
struct PlanInputs {
  Index ranks = 1;
  Index ranks_per_node = 1;  ///< rank r is on node r / ranks_per_node; all ranks: one node
  int threads = 1;
  std::vector<Index> tile;       ///< --tile: empty: the planner chooses; one number: every edge; else per dimension
  std::vector<Index> node_grid;  ///< --node-grid: the nodes as a grid, for LSHS; empty: it chooses
  Index memory = 0;              ///< --memory: limit per rank on the bytes of all blocks; 0: none
  Index window = 0;              ///< --window in bytes; 0: the rest of the memory budget
  bool reproducible = false;     ///< tiles, panels and partial results depend on extents alone
  bool alike = true;             ///< all ranks have identical processors: redundant work gives bitwise equal results
  double share_cap = 1.2;        ///< without --memory a rank may own this multiple of its share of the live tensors,
  Index least_slack = Index{64} << 20;  ///< or its share plus this many bytes
  std::map<int, Housing> homes;         ///< by site, for an operation's results; unlisted ones are stored in memory
  Machine machine;
  Index sample = kSampledRanks;  ///< approximate number of ranks sampled for pricing

  /// On a single node, within-node constants apply everywhere. Afterwards `ranks_per_node` is 1 (nodes ignored) or a
  /// proper divisor of the number of ranks.
  void settle_nodes();
  /// The storage location of the operation's results.
  [[nodiscard]] Housing housing_of(const Op& op) const;
  /// True if predicted time depends on which ranks share a node.
  [[nodiscard]] bool tells_nodes() const { return ranks_per_node > 1 && machine.tells_nodes(); }
  /// The number of ranks that a routine uses to choose between variants with different summation orders.
  [[nodiscard]] Index deciding_ranks() const { return reproducible ? 4 : ranks; }
};

/// The largest memory need of a single operation on a rank: live blocks, its result, and its largest step.
struct MemoryNeed {
  Index bytes = 0;
  Index step = 0;    ///< the part that one step receives or assembles
  std::string name;  ///< name of the operation
  int line = 0;
  Index disk = 0;        ///< peak bytes on disk
  Index operation = -1;  ///< its number in the region, if a region was planned
};

/// Plans a program segment by segment, identically on every rank: decides partition, tiles and owners of each
/// operation's output and registers them. Sources (constants, random numbers, file inputs) wait until a segment uses
/// them, so that they are placed where they are needed.
class Planner {
 public:
  explicit Planner(PlanInputs inputs);
  Planner(Planner&&) noexcept;
  Planner& operator=(Planner&&) noexcept;
  ~Planner();

  /// Decisions by everything they depend on except inputs and the imposed plan.
  struct Decisions;
  [[nodiscard]] static std::shared_ptr<Decisions> no_decisions();
  /// Uses and extends decisions of planners with equal inputs and an equal imposed plan. After impose() and
  /// limit_memory().
  void share(std::shared_ptr<Decisions> decisions) { memo_ = std::move(decisions); }

  /// Imposes a plan from now on. Sites without a decision, and operations that cannot follow theirs, are planned
  /// individually.
  void impose(std::unique_ptr<Imposed> plan);
  /// Before any planning: limits every rank to `bytes` (PlanInputs::memory).
  void limit_memory(Index bytes, std::map<int, Housing> homes = {});
  /// Announces that a kRestore operation will create the tensor, which an earlier run created at that site, with this
  /// storage location.
  void restores(TensorId tensor, int site, const Housing& housing) { origins_[tensor] = {site, housing}; }
  /// The site that creates the tensor; 0: unknown.
  [[nodiscard]] int site_of(TensorId tensor) const;
  /// Number of operations at decided sites that have a choice (candidates.h) and could not be placed as decided.
  [[nodiscard]] Index unplanned() const { return unplanned_; }
  [[nodiscard]] const PlanInputs& inputs() const { return inputs_; }
  /// Plans the operations of a segment in order, and determines where names of tensors end, including those of partial
  /// results. Unused sources are held back; a source that loses its last name before its first use is dropped.
  PlannedSegment plan(Segment segment);
  /// True if the plan of a segment follows from its operations and the placement of their operands alone.
  [[nodiscard]] bool plans_alike() const {
    return imposed_ == nullptr && copies_.empty() && resident_.empty() && inputs_.homes.empty();
  }
  /// An operation planned before runs again with other tensors.
  void repeat(const PlannedOp& op);
  /// A repeated operation of that site has made the tensor.
  void place(PlacedTensor tensor, int site);
  /// Drops all records of a tensor whose blocks have been freed.
  void erase(TensorId tensor);
  [[nodiscard]] const PlacedTensor& tensor(TensorId id) const;
  [[nodiscard]] bool planned(TensorId id) const { return tensors_.contains(id); }
  [[nodiscard]] TensorLookup lookup() const;
  /// The kept copy of a tensor, and the sites that read it.
  struct Copy {
    TensorId id = -1;
    std::vector<int> readers;
  };
  /// Null if there is no copy.
  [[nodiscard]] const Copy* kept_copy(TensorId original) const;
  /// The source that will create the tensor on first use; null if it already exists.
  [[nodiscard]] const Op* waiting_source(TensorId tensor) const;
  /// Hash of every decision so far; equal on all ranks.
  [[nodiscard]] std::uint64_t hash() const { return hash_; }
  /// The largest footprint of a single step so far; a smaller `--window` is rejected with this number.
  [[nodiscard]] Index largest_step() const { return largest_step_; }
  /// Under a memory limit: the minimum needed by the operations so far, run one after the other.
  [[nodiscard]] const MemoryNeed& needed_memory() const { return needed_; }
  /// Under a memory limit: the most that a rank holds between two operations.
  [[nodiscard]] Index held_between() const { return held_between_; }

 private:
  struct Choice;
  struct Consequences;
  using Planned = std::vector<std::shared_ptr<const PlannedOp>>;

  using Dead = std::vector<TensorId>;  ///< tensors whose last use is this operation

  [[nodiscard]] Planned plan_ops(std::vector<Op> ops, const std::vector<TensorId>& dropped);
  [[nodiscard]] std::optional<Op> forget_source(TensorId tensor);
  void plan_op(Op op, const Dead& dead, Planned& out);
  [[nodiscard]] std::shared_ptr<const Choice> choose(const Op& op, bool may_split, const Dead& dead);
  /// `choice`: the decision that `plan` belongs to; null: none.
  void emit(Op op, const OpPlan& plan, int part, const Dead& dead, Planned& out, const Choice* choice = nullptr);
  [[nodiscard]] Consequences consequences_of(const PlannedOp& planned) const;
  [[nodiscard]] bool is_fully_described(const Op& op) const;
  [[nodiscard]] std::vector<TensorId> wanted_whole(const Op& op, const Dead& dead) const;
  void place_source(TensorId tensor, const Distribution& where, Planned& out);
  void keep_copy(const Op& made, Planned& out);
  [[nodiscard]] Housing housing_of(const Op& op) const;
  void house(const Op& op, OpPlan& plan) const;
  void note_disk(const PlannedOp& op, const Dead& dead);
  void forget_disk(TensorId tensor);
  void use_copies(Op& op, Planned& out);
  void settle(SettledOp settled, Planned& out);
  /// Criteria for choosing between candidates.
  struct Price {
    double excess = 0;   ///< bytes above the memory limit
    double seconds = 0;  ///< predicted
  };
  void count_execution(const Op& op);
  [[nodiscard]] Index execution_of(const Op& op) const;
  [[nodiscard]] Operands operands() const;
  [[nodiscard]] std::optional<Candidate> decided(const Op& op, bool may_split, bool frees_base);
  [[nodiscard]] Candidate cheapest(const Op& op, bool may_split, bool frees_base) const;
  [[nodiscard]] Price price(Candidate& candidate, const Op& op, bool frees_base, bool alone) const;
  [[nodiscard]] double seconds_to_combine(const Op& op, const Op& partial, double seconds) const;
  [[nodiscard]] double held_beside(const Candidate& candidate, bool frees_base, const TensorLookup& tensors,
                                   const ResidentBytes& resident) const;
  [[nodiscard]] double excess(const Candidate& candidate, bool frees_base, const TensorLookup& tensors) const;
  void fit_memory(Candidate& candidate, bool frees_base, const TensorLookup& tensors) const;
  [[nodiscard]] const PlacedTensor* placed(TensorId id) const;   ///< null: a waiting source
  [[nodiscard]] const TensorDesc& described(TensorId id) const;  ///< descriptor, also of a waiting source
  [[nodiscard]] TensorLookup lookup_with(const Candidate& candidate) const;
  [[nodiscard]] std::string signature(const Op& op) const;

  PlanInputs inputs_;
  TensorId next_part_ = kFirstPart;
  std::unordered_map<TensorId, PlacedTensor> tensors_;
  std::vector<Op> waiting_;  ///< unused sources, in recording order
  std::uint64_t hash_ = 1469598103934665603ULL;
  Index largest_step_ = 0;
  ResidentRanks resident_;  ///< only under a memory limit
  MemoryNeed needed_;
  Index held_between_ = 0;
  struct Origin {
    int site = 0;
    Housing restored{};  ///< location of the restored tensor
  };
  std::unordered_map<TensorId, Origin> origins_;
  std::unordered_map<TensorId, double> on_disk_;  ///< bytes on the rank that has the most
  double disk_now_ = 0;
  std::unique_ptr<Imposed> imposed_;
  Index unplanned_ = 0;
  std::unordered_map<int, Index> executions_;           ///< by site, while a plan is imposed
  std::unordered_map<TensorId, Index> execution_made_;  ///< number of the execution that makes a tensor, if not 0
  std::unordered_map<TensorId, Copy> copies_;           ///< kept copies, by original
  std::shared_ptr<Decisions> memo_ = no_decisions();    ///< later iterations of loops reuse them
};

}  // namespace tdsl::plan

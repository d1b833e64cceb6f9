#include "runtime/plan/planner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/check.h"
#include "runtime/plan/cost/cost_model.h"
#include "runtime/plan/cost/rank_view.h"
#include "runtime/plan/signature.h"
#include "runtime/plan/space/candidates.h"
#include "runtime/plan/space/tiles.h"
#include "runtime/plan/steps/home_fit.h"
#include "runtime/plan/steps/step_fit.h"
#include "runtime/plan/value/imposed.h"

namespace tdsl::plan {

namespace {

constexpr std::uint64_t kPrime = 1099511628211ULL;

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t h = 1469598103934665603ULL;
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * kPrime;
  return h;
}

void append_housing(std::string& text, const Housing& housing) {
  append_number(text, static_cast<Index>(housing.home));
  append_number(text, housing.resident_tiles);
}

constexpr std::size_t kDecisionsKept = 4096;

/// Bytes as an integer; bounds on data-dependent figures may exceed 64 bits.
Index whole(double bytes) { return bytes < static_cast<double>(kMostVolume) ? static_cast<Index>(bytes) : kMostVolume; }

}  // namespace

/// What follows from an operation and its plan.
struct Planner::Consequences {
  std::uint64_t decision = 0;  ///< hash
  Index largest_step = 0;
};

/// The decision for one signature.
struct Planner::Choice {
  Candidate candidate;
  mutable std::optional<Consequences>
      consequences;  ///< for dense tensors in memory, which the signature describes fully
  std::vector<std::pair<std::size_t, Distribution>> leaves;  ///< by position in reads; reads.size() denotes the base
};

struct Planner::Decisions {
  std::unordered_map<std::string, std::shared_ptr<const Choice>> by_key;
};

std::shared_ptr<Planner::Decisions> Planner::no_decisions() { return std::make_shared<Decisions>(); }

void PlanInputs::settle_nodes() {
  if (ranks_per_node >= ranks) machine = machine.within_node();
  if (ranks_per_node < 1 || ranks_per_node >= ranks || ranks % ranks_per_node != 0) ranks_per_node = 1;
}

Housing PlanInputs::housing_of(const Op& op) const {
  const auto found = homes.find(op.site);
  if (found == homes.end() || op.outputs.empty() || op.shape.empty() || op.op_class == OpClass::kLoop ||
      op.op_class == OpClass::kCopy)
    return {};
  const TensorDesc& output = op.outputs.front();
  return output.sized() || is_part(output.id) ? Housing{} : found->second;
}

Planner::Planner(PlanInputs inputs) : inputs_(std::move(inputs)) {
  inputs_.settle_nodes();
  if (inputs_.memory == 0) return;
  resident_ = ResidentRanks(inputs_.ranks);
}

void Planner::limit_memory(Index bytes, std::map<int, Housing> homes) {
  TDSL_CHECK(tensors_.empty() && waiting_.empty(), "memory is limited before anything is planned");
  inputs_.memory = bytes;
  inputs_.homes = std::move(homes);
  resident_ = ResidentRanks(inputs_.ranks);
}

Planner::Planner(Planner&&) noexcept = default;
Planner& Planner::operator=(Planner&&) noexcept = default;
Planner::~Planner() = default;

void Planner::impose(std::unique_ptr<Imposed> plan) {
  TDSL_CHECK(plan->mesh().ranks() == inputs_.ranks, "a plan is for as many ranks");
  imposed_ = std::move(plan);
  memo_ = no_decisions();
}

void Planner::erase(TensorId tensor) {
  tensors_.erase(tensor);
  execution_made_.erase(tensor);
  origins_.erase(tensor);
  resident_.free(tensor);
  forget_disk(tensor);
}

const PlacedTensor* Planner::placed(TensorId id) const {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : &found->second;
}

const PlacedTensor& Planner::tensor(TensorId id) const {
  const PlacedTensor* found = placed(id);
  if (found == nullptr) throw std::logic_error("tensor " + std::to_string(id) + " has no place");
  return *found;
}

const TensorDesc& Planner::described(TensorId id) const {
  const Op* source = waiting_source(id);
  if (source == nullptr) throw std::logic_error("tensor " + std::to_string(id) + " was never recorded");
  return source->outputs.front();
}

TensorLookup Planner::lookup() const {
  return [this](TensorId id) -> const PlacedTensor& { return tensor(id); };
}

const Op* Planner::waiting_source(TensorId id) const {
  for (const Op& op : waiting_) {
    if (op.outputs.front().id == id) return &op;
  }
  return nullptr;
}

std::optional<Op> Planner::forget_source(TensorId id) {
  const auto found = std::ranges::find_if(waiting_, [&](const Op& op) { return op.outputs.front().id == id; });
  if (found == waiting_.end()) return std::nullopt;
  Op source = std::move(*found);
  waiting_.erase(found);
  execution_made_.erase(id);
  return source;
}

/// Numbers the executions of a site (plan_value.h, Note [Turning decisions]).
void Planner::count_execution(const Op& op) {
  if (imposed_ == nullptr || op.outputs.empty()) return;
  const Index execution = executions_[op.site]++;
  if (execution > 0) execution_made_[op.outputs.front().id] = execution;
}

/// The number of the execution; combinations of partial results have that of their operation.
Index Planner::execution_of(const Op& op) const {
  const auto found = op.outputs.empty() ? execution_made_.end() : execution_made_.find(op.outputs.front().id);
  return found == execution_made_.end() ? 0 : found->second;
}

PlannedSegment Planner::plan(Segment segment) {
  PlannedSegment result;
  result.ops = plan_ops(std::move(segment.ops), segment.dropped);
  for (SettledOp& settled : segment.settled) settle(std::move(settled), result.ops);
  std::vector<TensorId> ended = std::move(segment.dropped);
  // A copy ends with its original's last name, or after its own last use if that is later.
  for (std::size_t k = 0, names = ended.size(); k < names; ++k) {
    const auto copy = copies_.find(ended[k]);
    if (copy == copies_.end()) continue;
    ended.push_back(copy->second.id);
    copies_.erase(copy);
  }
  for (const auto& op : result.ops) {
    for (const TensorDesc& output : op->op.outputs) {
      if (is_part(output.id) && op->part == 0) ended.push_back(output.id);
    }
  }
  LastUses uses = last_uses(result.ops, ended);
  result.last_names = std::move(uses.after);
  for (const TensorId id : uses.unused) {
    if (std::optional<Op> source = forget_source(id)) {
      result.unused.push_back(std::move(*source));
    } else {
      result.ended.push_back(id);
    }
  }
  return result;
}

Planner::Planned Planner::plan_ops(std::vector<Op> segment, const std::vector<TensorId>& dropped) {
  std::vector<Dead> dead(segment.size());
  const bool loops = std::ranges::any_of(segment, [](const Op& op) { return op.op_class == OpClass::kLoop; });
  if (!resident_.empty() || loops) {
    std::unordered_map<TensorId, std::size_t> last;
    for (std::size_t k = 0; k < segment.size(); ++k) {
      for (const TensorDesc& output : segment[k].outputs) last[output.id] = k;
      for (const Access& access : segment[k].reads) last[access.tensor] = k;
      if (segment[k].base >= 0) last[segment[k].base] = k;
    }
    for (const TensorId id : dropped) {
      if (const auto found = last.find(id); found != last.end()) {
        dead[found->second].push_back(id);
      } else {
        resident_.free(id);
        forget_disk(id);
      }
    }
  }
  Planned out;
  for (std::size_t k = 0; k < segment.size(); ++k) {
    Op& op = segment[k];
    count_execution(op);
    if (op.is_source() || op.op_class == OpClass::kRestore) {
      waiting_.push_back(std::move(op));
    } else {
      plan_op(std::move(op), dead[k], out);
    }
  }
  return out;
}

/// True if equal signatures of the operation mean equal operands: sizes of sized tensors are rounded there, and homes
/// depend on sites.
bool Planner::is_fully_described(const Op& op) const {
  const auto sized = [this](TensorId id) { return tensor(id).desc.sized(); };
  return inputs_.homes.empty() && std::ranges::none_of(op.outputs, &TensorDesc::sized) &&
         std::ranges::none_of(op.reads, [&](const Access& access) { return sized(access.tensor); }) &&
         (op.base < 0 || !sized(op.base));
}

Planner::Consequences Planner::consequences_of(const PlannedOp& planned) const {
  const OpPlan& plan = planned.plan;
  std::string decision = signature(planned.op);
  append_signature(decision, plan.space);
  decision += 'k';
  for (const Tiling& panels : plan.reduce) append_number(decision, panels.tiles());
  for (Index edge : plan.super_block) append_number(decision, edge);
  for (const bool kept : plan.kept) append_number(decision, kept ? 1 : 0);
  if (!inputs_.homes.empty()) append_housing(decision, plan.housing);
  return {hash_of(decision), whole(plan::largest_step(planned.op, plan, lookup(), inputs_))};
}

void Planner::repeat(const PlannedOp& op) { hash_ = (hash_ ^ op.decision) * kPrime; }

void Planner::place(PlacedTensor tensor, int site) {
  const TensorId id = tensor.desc.id;
  origins_[id] = {site, {}};
  tensors_.insert_or_assign(id, std::move(tensor));
}

void Planner::emit(Op recorded, const OpPlan& plan, int part, const Dead& dead, Planned& out, const Choice* choice) {
  auto planned = std::make_shared<PlannedOp>(PlannedOp{std::move(recorded), plan, part});
  const Op& op = planned->op;
  for (int d = 0; d < plan.space.rank(); ++d) {
    TDSL_CHECK(op.outputs.empty() || plan.space.tiling(d).extent() == op.shape[static_cast<std::size_t>(d)],
               "tiles cover " + op.name);
  }
  planned->plan.ranks_per_node = inputs_.ranks_per_node;
  house(op, planned->plan);
  for (const TensorDesc& output : op.outputs) {
    tensors_.insert_or_assign(output.id,
                              PlacedTensor{output, distribution_of(op, plan, output), planned->plan.housing});
    if (op.op_class != OpClass::kRestore) origins_[output.id] = {op.site, {}};
  }
  const bool known = choice != nullptr && choice->consequences && is_fully_described(op);
  const Consequences follows = known ? *choice->consequences : consequences_of(*planned);
  if (choice != nullptr && !known && is_fully_described(op)) choice->consequences = follows;
  planned->decision = follows.decision;
  repeat(*planned);
  largest_step_ = std::max(largest_step_, follows.largest_step);
  if (!resident_.empty()) {
    const TensorLookup tensors = lookup();
    const auto step_bytes = [&](Index rank) {
      const Cost cost = cost_of(planned->op, planned->plan, tensors, rank, inputs_.machine, inputs_.threads);
      return received_at_once(planned->op, planned->plan, cost, tensors, rank, inputs_).hi + cost.away_bytes +
             inputs_.threads * assembled_bytes(planned->op, planned->plan, tensors, rank);
    };
    note_disk(*planned, dead);
    const ResidentRanks::Most most = resident_.run(*planned, step_bytes, dead);
    if (const Index held = whole(most.held); held > needed_.bytes)
      needed_ = {held, whole(most.step), planned->op.name, planned->op.line, needed_.disk};
    for (const ResidentBytes& rank : resident_.followed()) held_between_ = std::max(held_between_, whole(rank.live()));
  }
  out.push_back(std::move(planned));
}

std::string Planner::signature(const Op& op) const {
  return signature_of(op,
                      {[this](TensorId id) { return placed(id); }, [this](TensorId id) { return waiting_source(id); }});
}

Operands Planner::operands() const {
  Operands known{[this](TensorId id) { return placed(id); },
                 [this](TensorId id) -> const TensorDesc& { return described(id); },
                 {},
                 nullptr};
  if (imposed_ == nullptr) return known;
  known.wanted = [this](TensorId id) {
    const Op& source = *waiting_source(id);
    return imposed_->layout_for(source, execution_of(source));
  };
  known.mesh = &imposed_->mesh();
  return known;
}

/// The operation as the plan prescribes, if the prescription is feasible.
std::optional<Candidate> Planner::decided(const Op& op, bool may_split, bool frees_base) {
  if (imposed_ == nullptr) return std::nullopt;
  const Layout* layout = imposed_->layout_for(op, execution_of(op));
  if (layout == nullptr) return std::nullopt;
  std::optional<Candidate> c = realise(op, *layout, inputs_, operands());
  if (!c || (c->partial && !may_split)) {
    if (has_choice(op, operands())) ++unplanned_;
    return std::nullopt;
  }
  c->plan.packed = c->plan.packed || (inputs_.reproducible && !op.outputs.empty());
  (void)price(*c, op, frees_base, true);
  return c;
}

/// The cheapest candidate; ties go to the first. Candidates are ordered by excess over the memory limit, then by time.
Candidate Planner::cheapest(const Op& op, bool may_split, bool frees_base) const {
  std::vector<Candidate> candidates = candidates_for(op, inputs_, operands());
  std::optional<Price> least;
  std::size_t best = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    if (c.partial && !may_split) continue;
    c.plan.packed = inputs_.reproducible && !op.outputs.empty();
    const Price now = price(c, op, frees_base, candidates.size() == 1);
    if (least) {
      const bool better =
          now.excess != least->excess ? now.excess < least->excess : now.seconds < least->seconds * (1 - 1e-9);
      if (!better) continue;
    }
    least = now;
    best = i;
  }
  return std::move(candidates[best]);
}

/// Sources that are best loaded as one block: a loop works on whole operands, and no other operation would share the
/// work on them.
std::vector<TensorId> Planner::wanted_whole(const Op& op, const Dead& dead) const {
  std::vector<TensorId> whole;
  if (op.op_class != OpClass::kLoop || inputs_.ranks > 1 || !inputs_.tile.empty()) return whole;
  for (const Access& access : op.reads) {
    const bool last = std::find(dead.begin(), dead.end(), access.tensor) != dead.end();
    const Op* source = last ? waiting_source(access.tensor) : nullptr;
    if (source != nullptr && source->outputs.front().tile.empty()) whole.push_back(access.tensor);
  }
  return whole;
}

std::shared_ptr<const Planner::Choice> Planner::choose(const Op& op, bool may_split, const Dead& dead) {
  const bool frees_base = std::find(dead.begin(), dead.end(), op.base) != dead.end();
  std::string key = signature(op) + (may_split ? "s" : "n") + (frees_base ? "f" : "");
  if (op.in_rows && inputs_.machine.write_call > 0) key += 'r';
  if (imposed_ != nullptr) {
    append_number(key, op.site);
    append_number(key, imposed_->shift_of(op.site, execution_of(op)));
    for (const Access& access : op.reads) {
      if (const Op* source = waiting_source(access.tensor))
        append_number(key, imposed_->shift_of(source->site, execution_of(*source)));
    }
  }
  const std::vector<TensorId> whole = wanted_whole(op, dead);
  for (const Access& access : op.reads)
    key += std::find(whole.begin(), whole.end(), access.tensor) != whole.end() ? 'w' : '-';
  if (!inputs_.homes.empty()) {
    append_number(key, op.site);
    const auto append = [&](TensorId id) {
      if (const Op* source = waiting_source(id)) return append_housing(key, housing_of(*source));
      append_housing(key, tensor(id).housing);
    };
    for (const Access& access : op.reads) append(access.tensor);
    if (op.base >= 0) append(op.base);
  }
  for (const ResidentBytes& resident : resident_.followed()) {
    append_number(key, resident.rank());
    append_number(key, static_cast<Index>(resident.live()));
  }
  const auto known = memo_->by_key.find(key);
  if (known != memo_->by_key.end()) return known->second;

  auto choice = std::make_shared<Choice>();
  std::optional<Candidate> planned = decided(op, may_split, frees_base);
  choice->candidate = planned ? std::move(*planned) : cheapest(op, may_split, frees_base);
  Candidate& c = choice->candidate;
  for (const TensorId id : whole) {
    if (const auto leaf = c.leaves.find(id); leaf != c.leaves.end())
      leaf->second = Distribution::single(inputs_.ranks, whole_tiles(described(id)), 0);
  }
  for (const auto& [id, where] : c.leaves) {
    std::size_t position = op.reads.size();
    for (std::size_t a = op.reads.size(); a-- > 0;) {
      if (op.reads[a].tensor == id) position = a;
    }
    choice->leaves.emplace_back(position, where);
  }
  const TensorLookup tensors = lookup_with(c);
  if (!moves_blocks(c.op, c.plan, tensors))
    fit_steps(c.op, c.plan, tensors, step_limit(c.op, tensors, inputs_), inputs_);
  // A loop whose subscripts change per iteration needs a new decision each time: these are recomputed rather than kept.
  if (memo_->by_key.size() >= kDecisionsKept) memo_->by_key.clear();
  memo_->by_key.emplace(key, choice);
  return choice;
}

void Planner::plan_op(Op op, const Dead& named_dead, Planned& out) {
  use_copies(op, out);
  Dead dead = named_dead;  // including copies of dead tensors
  for (const TensorId id : named_dead) {
    if (const auto copy = copies_.find(id); copy != copies_.end()) dead.push_back(copy->second.id);
  }
  // Partial results have a single output and no base. In sized blocks only lists of entries can be combined.
  if (op.outputs.size() != 1 || op.base >= 0 || (op.outputs.front().sized() && !assembles(op)))
    op.combine = Combine::kNone;
  const std::shared_ptr<const Choice> choice = choose(op, true, dead);
  for (const auto& [position, where] : choice->leaves) {
    place_source(position < op.reads.size() ? op.reads[position].tensor : op.base, where, out);
  }
  if (!choice->candidate.partial) {
    emit(std::move(op), choice->candidate.plan, 0, dead, out, choice.get());
    const std::shared_ptr<const PlannedOp> made = out.back();
    keep_copy(made->op, out);
    return;
  }
  // The chosen operation, applied to this occurrence's operands.
  Op partial = choice->candidate.op;
  partial.reads.assign(op.own_reads().begin(), op.own_reads().end());
  partial.name = op.name;
  partial.line = op.line;
  partial.site = op.site;
  partial.record = op.record;
  partial.flops_per_point = op.flops_per_point;  // similar estimates share decisions
  partial.dense_flops_per_point = op.dense_flops_per_point;
  partial.outputs.front().id = next_part_++;
  partial.outputs.front().name = "parts of " + op.outputs.front().name;
  Op combination = combination_of(op, partial);
  // Operands that are dead after the sum are not needed by its combination.
  Dead operands;
  Dead rest_dead{partial.outputs.front().id};
  const auto waits = [&](TensorId id) {
    const auto after = op.epilogue_reads();
    return id == op.outputs.front().id ||
           std::ranges::any_of(after, [id](const Access& access) { return access.tensor == id; });
  };
  for (const TensorId id : dead) (waits(id) ? rest_dead : operands).push_back(id);
  emit(std::move(partial), choice->candidate.plan, 0, operands, out, choice.get());
  const std::shared_ptr<const Choice> rest = choose(combination, false, rest_dead);
  for (const auto& [position, where] : rest->leaves) place_source(combination.reads[position].tensor, where, out);
  emit(std::move(combination), rest->candidate.plan, 1, rest_dead, out, rest.get());
  keep_copy(op, out);
}

}  // namespace tdsl::plan

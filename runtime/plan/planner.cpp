#include "runtime/plan/planner.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "runtime/check.h"
#include "runtime/plan/candidates.h"
#include "runtime/plan/cost_model.h"

namespace tdsl::plan {

namespace {

constexpr double kMiB = 1024.0 * 1024.0;

std::uint64_t mix(std::uint64_t h, const std::string& text) {
  for (char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return h;
}

void append(std::string& text, Index x) {
  text += std::to_string(x);
  text += ',';
}

constexpr std::size_t kDecisionsKept = 4096;

/// Elements of what a partial operation's results combine to.
Index recorded_elements(const Op& partial) {
  Index n = 1;
  for (std::size_t d = 0; d < partial.shape.size(); ++d) n *= partial.out[d].label == kPartLabel ? 1 : partial.shape[d];
  return n;
}

/// The most received bytes an operation holds on a rank: of a tensor that is read at two places, as in A @ A, what one panel has
/// received stays for later ones.
double received_at_once(const Op& op, const Cost& cost) {
  for (auto access = op.reads.begin(); access != op.reads.end(); ++access) {
    const bool again = std::any_of(op.reads.begin(), access, [&](const Access& earlier) { return earlier.tensor == access->tensor; });
    if (again) return std::max(cost.step_bytes.hi, cost.bytes_received.hi);
  }
  return cost.step_bytes.hi;
}

std::string signature_of(const Distribution& d) {
  std::string text;
  append(text, static_cast<Index>(d.kind()));
  append(text, d.home());
  for (int k = 0; k < d.rank(); ++k) {
    append(text, d.tiling(k).extent());
    append(text, d.tiling(k).tiles());
    append(text, d.tiling(k).tiles() > 0 ? d.tiling(k).tile(0).size() : 0);
  }
  for (const GridDim& dim : d.grid_dims()) {
    text += '|';
    append(text, dim.q);
    append(text, dim.shift);
    for (const GridAxis& axis : dim.axes) {
      append(text, axis.size);
      append(text, axis.div);
      append(text, axis.stride);
    }
  }
  if (d.kind() == Distribution::Kind::kTable) {
    for (Index t = 0; t < d.tile_count(); ++t) append(text, d.owner(d.coord(t)));
  }
  append(text, d.columns().columns);
  append(text, d.columns().row_dim);
  append(text, d.columns().column_dim);
  return text;
}

}  // namespace

/// What was decided for one signature.
struct Planner::Choice {
  Candidate candidate;
  std::vector<std::pair<std::size_t, Distribution>> leaves;  ///< by position in reads; reads.size() is the base
};

Planner::Planner(PlanInputs inputs, TensorId first_tensor) : inputs_(std::move(inputs)), next_tensor_(first_tensor) {
  const Index per_node = inputs_.ranks_per_node;
  if (per_node < 1 || per_node >= inputs_.ranks || inputs_.ranks % per_node != 0) inputs_.ranks_per_node = 1;
  if (inputs_.memory == 0) return;
  for (Index rank = 0; rank < inputs_.ranks; rank += std::max<Index>(1, inputs_.ranks / 64)) resident_.emplace_back(rank);
}

void Planner::erase(TensorId tensor) {
  tensors_.erase(tensor);
  for (ResidentBytes& resident : resident_) resident.free(tensor);
}

const PlacedTensor& Planner::tensor(TensorId id) const {
  const auto found = tensors_.find(id);
  if (found == tensors_.end()) throw std::logic_error("tensor " + std::to_string(id) + " has no place");
  return found->second;
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

bool Planner::forget(TensorId id) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Op& op) { return op.outputs.front().id == id; });
  if (found == waiting_.end()) return false;
  waiting_.erase(found);
  return true;
}

std::vector<std::shared_ptr<const PlannedOp>> Planner::plan(std::vector<Op> segment, const std::vector<TensorId>& dropped) {
  std::vector<Dead> dead(segment.size());
  if (!resident_.empty()) {
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
        for (ResidentBytes& resident : resident_) resident.free(id);
      }
    }
  }
  Planned out;
  for (std::size_t k = 0; k < segment.size(); ++k) {
    Op& op = segment[k];
    if (op.op_class == OpClass::kSource || op.op_class == OpClass::kLoad) {
      waiting_.push_back(std::move(op));
    } else {
      plan_op(std::move(op), dead[k], out);
    }
  }
  return out;
}

void Planner::emit(Op op, const OpPlan& plan, int part, const Dead& dead, Planned& out) {
  for (int d = 0; d < plan.space.rank(); ++d) {
    TDSL_CHECK(op.outputs.empty() || plan.space.tiling(d).extent() == op.shape[static_cast<std::size_t>(d)], "tiles cover " + op.name);
  }
  for (const TensorDesc& output : op.outputs) tensors_.insert_or_assign(output.id, PlacedTensor{output, distribution_of(op, plan, output)});
  std::string decision = signature(op) + signature_of(plan.space) + 'k';
  for (const Tiling& panels : plan.reduce) append(decision, panels.tiles());
  for (Index edge : plan.super_block) append(decision, edge);
  hash_ = mix(hash_, decision);
  auto planned = std::make_shared<PlannedOp>(PlannedOp{std::move(op), plan, part});
  planned->plan.ranks_per_node = inputs_.ranks_per_node;
  const TensorLookup tensors = lookup();
  largest_step_ = std::max(largest_step_, static_cast<Index>(summarise(planned->op, planned->plan, tensors, inputs_.machine, inputs_.threads).max_step));
  for (ResidentBytes& resident : resident_) {
    const Cost cost = cost_of(planned->op, planned->plan, tensors, resident.rank(), inputs_.machine, inputs_.threads);
    const double step = received_at_once(planned->op, cost) +
                        inputs_.threads * assembled_bytes(planned->op, planned->plan, tensors, resident.rank());
    const auto held = static_cast<Index>(resident.run(*planned, step, dead));
    if (held > needed_.bytes) needed_ = {held, static_cast<Index>(step), planned->op.name, planned->op.line};
  }
  out.push_back(std::move(planned));
}

void Planner::place_source(TensorId tensor, const Distribution& where, Planned& out) {
  const auto found = std::find_if(waiting_.begin(), waiting_.end(), [&](const Op& op) { return op.outputs.front().id == tensor; });
  if (found == waiting_.end()) return;
  Op source = std::move(*found);
  waiting_.erase(found);
  OpPlan plan;
  plan.space = where;
  plan.super_block.assign(source.shape.size(), 0);
  plan.why = "where its first use wants it";
  emit(std::move(source), plan, 0, {}, out);
}

std::string Planner::signature(const Op& op) const {
  std::string text;
  append(text, static_cast<Index>(op.op_class));
  append(text, op.home);
  append(text, static_cast<Index>(op.combine) * 2 + (op.replicated ? 1 : 0));
  append(text, static_cast<Index>(op.flops_per_point));
  for (const LabelDesc& label : op.labels) {
    append(text, label.range.lo);
    append(text, label.range.hi * 2 + (label.from_data ? 1 : 0));
  }
  text += 'o';
  for (std::size_t d = 0; d < op.shape.size(); ++d) {
    append(text, op.shape[d]);
    append(text, op.out[d].label);
    append(text, op.out[d].coefficient);
    append(text, op.out[d].constant);
    if (op.is_uncut(d)) text += 'u';
  }
  text += 'r';
  for (const ReduceLabel& r : op.reduce) append(text, r.label);
  for (Index edge : op.tile) append(text, -edge);
  for (const TensorDesc& output : op.outputs) append(text, op.op_class == OpClass::kLoop ? output.bytes() : output.element.bytes);
  for (int read : op.continues) append(text, read);
  std::vector<TensorId> order;
  const auto operand = [&](TensorId id) {
    const auto known = std::find(order.begin(), order.end(), id);
    append(text, known - order.begin());
    if (known != order.end()) return;
    order.push_back(id);
    const auto placed = tensors_.find(id);
    if (placed != tensors_.end()) {
      append(text, placed->second.desc.element.bytes);
      text += signature_of(placed->second.distribution);
    } else if (const Op* source = waiting_source(id)) {
      text += 'w';
      append(text, source->outputs.front().element.bytes);
      for (Index e : source->shape) append(text, e);
      for (Index edge : source->tile) append(text, -edge);
    }
  };
  for (const Access& access : op.reads) {
    text += 'a';
    operand(access.tensor);
    for (const DimAccess& dim : access.dims) {
      append(text, dim.whole ? -1 : static_cast<Index>(dim.terms.size()));
      for (const Affine::Term& term : dim.terms) {
        append(text, term.label);
        append(text, term.coefficient);
      }
      append(text, dim.offset.lo);
      append(text, dim.offset.hi);
      append(text, dim.divisor);
    }
  }
  text += 'b';
  if (op.base >= 0) operand(op.base);
  return text;
}

// Note [Window]
// The remote boxes of one step must fit half the window (so that the next step's can arrive meanwhile), or the whole
// window when the user has set it. First the panels get thinner: no byte is fetched twice. Then output tiles are taken in
// super-blocks, which fetches some boxes again; the cost model counts that.
double Planner::window_limit(const Op& op, const TensorLookup& tensors) const {
  if (inputs_.window > 0) return static_cast<double>(inputs_.window);
  double owned = 0;
  for (const Access& access : op.reads) {
    const PlacedTensor& t = tensors(access.tensor);
    owned += static_cast<double>(t.desc.elements() * t.desc.element.bytes) / static_cast<double>(inputs_.ranks);
  }
  return std::max(64 * kMiB, 0.2 * owned) / 2;
}

void Planner::fit_steps(const Op& op, OpPlan& plan, const TensorLookup& tensors, double limit) const {
  const auto step = [&] { return summarise(op, plan, tensors, inputs_.machine, inputs_.threads).max_step; };
  double now = step();
  // Thinner panels are other sums.
  for (bool changed = !inputs_.reproducible; changed && now > limit;) {
    changed = false;
    for (std::size_t k = 0; k < op.reduce.size() && now > limit; ++k) {
      const Tiling old = plan.reduce[k];
      if (op.reduce[k].part_dim >= 0 || old.longest() <= 1) continue;
      plan.reduce[k] = Tiling::near_equal(old.extent(), std::min(old.extent(), 2 * old.tiles()));
      const double thinner = step();
      if (thinner < now) {
        now = thinner;
        changed = true;
      } else {
        plan.reduce[k] = old;
      }
    }
  }
  if (plan.space.kind() == Distribution::Kind::kTable) return;
  std::vector<Index> most(op.shape.size(), 1);
  for (int d = 0; d < op.out_rank(); ++d) {
    for (Index rank = 0; rank < inputs_.ranks; rank += std::max<Index>(1, inputs_.ranks / 64)) {
      most[static_cast<std::size_t>(d)] =
          std::max(most[static_cast<std::size_t>(d)], static_cast<Index>(plan.space.owned_along(rank, d).size()));
    }
  }
  while (now > limit) {
    const auto current = [&](std::size_t d) { return plan.super_block[d] > 0 ? plan.super_block[d] : most[d]; };
    std::size_t widest = 0;
    for (std::size_t d = 1; d < most.size(); ++d) {
      if (current(d) > current(widest)) widest = d;
    }
    if (most.empty() || current(widest) <= 1) break;
    plan.super_block[widest] = (current(widest) + 1) / 2;
    now = step();
  }
}

/// By how much the operation exceeds the memory limit on the worst rank, run after everything before it; negative: room.
double Planner::excess(const Candidate& c, bool frees_base, const TensorLookup& tensors) const {
  double worst = -9e18;
  for (const ResidentBytes& resident : resident_) {
    const Cost cost = cost_of(c.op, c.plan, tensors, resident.rank(), inputs_.machine, inputs_.threads);
    double held = resident.live() + cost.output_bytes.hi + received_at_once(c.op, cost);
    held += inputs_.threads * assembled_bytes(c.op, c.plan, tensors, resident.rank());
    for (const auto& [id, where] : c.leaves) held += static_cast<double>(where.owned_elements(resident.rank()) * tensors(id).desc.element.bytes);
    if (frees_base && updates_in_place(c.op, c.plan)) held -= resident.owned(c.op.base);
    worst = std::max(worst, held - static_cast<double>(inputs_.memory));
  }
  // Partial results live until their combination is complete.
  if (c.partial) worst += static_cast<double>(c.op.outputs.front().element.bytes) * static_cast<double>(recorded_elements(c.op)) / static_cast<double>(inputs_.ranks);
  return worst;
}

/// Smaller steps while the operation does not fit the memory limit.
void Planner::fit_memory(Candidate& c, bool frees_base, const TensorLookup& tensors) const {
  const double above = excess(c, frees_base, tensors);
  if (above <= 0) return;
  const double step = summarise(c.op, c.plan, tensors, inputs_.machine, inputs_.threads).max_step;
  fit_steps(c.op, c.plan, tensors, std::max(1.0, step - above));
}

std::shared_ptr<const Planner::Choice> Planner::choose(const Op& op, bool may_split, const Dead& dead) {
  const bool frees_base = std::find(dead.begin(), dead.end(), op.base) != dead.end();
  std::string key = signature(op) + (may_split ? "s" : "n") + (frees_base ? "f" : "");
  for (const ResidentBytes& resident : resident_) append(key, static_cast<Index>(resident.live()));
  const auto known = memo_.find(key);
  if (known != memo_.end()) return known->second;

  Operands operands;
  operands.placed = [&](TensorId id) -> const PlacedTensor* {
    const auto found = tensors_.find(id);
    return found == tensors_.end() ? nullptr : &found->second;
  };
  operands.describe = [&](TensorId id) -> const TensorDesc& {
    const Op* source = waiting_source(id);
    if (source == nullptr) throw std::logic_error("operand of " + op.name + " was never recorded");
    return source->outputs.front();
  };
  std::vector<Candidate> candidates = candidates_for(op, inputs_, operands);
  std::size_t best = 0;
  double best_seconds = -1;
  double best_excess = 0;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    Candidate& c = candidates[i];
    if (c.partial && !may_split) continue;
    std::unordered_map<TensorId, PlacedTensor> assumed;
    for (const auto& [id, where] : c.leaves) assumed.emplace(id, PlacedTensor{operands.describe(id), where});
    const TensorLookup tensors = [&](TensorId id) -> const PlacedTensor& {
      const auto found = assumed.find(id);
      return found != assumed.end() ? found->second : tensor(id);
    };
    c.plan.packed = inputs_.reproducible && !op.outputs.empty();
    double above = 0;
    if (!resident_.empty()) {
      fit_memory(c, frees_base, tensors);
      above = std::max(0.0, excess(c, frees_base, tensors));
    }
    if (candidates.size() > 1) {
      const CostSummary cost = summarise(c.op, c.plan, tensors, inputs_.machine, inputs_.threads);
      double seconds = cost.max_seconds;
      if (c.partial) {
        // Each owner of a slab pulls it from every part's rank.
        double out_bytes = 0, all_bytes = 0;
        for (const TensorDesc& output : op.outputs) out_bytes += static_cast<double>(output.elements() * output.element.bytes);
        for (const TensorDesc& output : c.op.outputs) all_bytes += static_cast<double>(output.elements() * output.element.bytes);
        const double share = std::min(static_cast<double>(inputs_.ranks), std::max(1.0, out_bytes / 8192));
        seconds += all_bytes / share * (1 / inputs_.machine.bandwidth + 2 / inputs_.machine.stream_rate) + inputs_.machine.latency;
        const double extra = all_bytes / static_cast<double>(inputs_.ranks);
        // Partial results are held beside operands and result, as the window is.
        const double allowed = inputs_.window > 0 ? static_cast<double>(inputs_.window)
                                                  : std::max(64 * kMiB, 0.2 * 3 * out_bytes / static_cast<double>(inputs_.ranks));
        if (extra > allowed) seconds *= 1e3;
      }
      const bool better = above != best_excess ? above < best_excess : seconds < best_seconds * (1 - 1e-9);
      if (best_seconds >= 0 && !better) continue;
      best_seconds = seconds;
      best_excess = above;
    }
    best = i;
  }
  auto choice = std::make_shared<Choice>();
  choice->candidate = std::move(candidates[best]);
  const Candidate& c = choice->candidate;
  for (const auto& [id, where] : c.leaves) {
    std::size_t position = op.reads.size();
    for (std::size_t a = op.reads.size(); a-- > 0;) {
      if (op.reads[a].tensor == id) position = a;
    }
    choice->leaves.emplace_back(position, where);
  }
  std::unordered_map<TensorId, PlacedTensor> assumed;
  for (const auto& [id, where] : c.leaves) assumed.emplace(id, PlacedTensor{operands.describe(id), where});
  const TensorLookup tensors = [&](TensorId id) -> const PlacedTensor& {
    const auto found = assumed.find(id);
    return found != assumed.end() ? found->second : tensor(id);
  };
  fit_steps(c.op, choice->candidate.plan, tensors, window_limit(c.op, tensors));
  // A loop whose subscripts change with its iterations has a decision for each: they are made anew rather than kept.
  if (memo_.size() >= kDecisionsKept) memo_.clear();
  memo_.emplace(key, choice);
  return choice;
}

void Planner::plan_op(Op op, const Dead& dead, Planned& out) {
  // Partial results have one output and start from nothing.
  if (op.outputs.size() != 1 || op.base >= 0) op.combine = Combine::kNone;
  const std::shared_ptr<const Choice> choice = choose(op, true, dead);
  for (const auto& [position, where] : choice->leaves) {
    place_source(position < op.reads.size() ? op.reads[position].tensor : op.base, where, out);
  }
  if (!choice->candidate.partial) {
    emit(std::move(op), choice->candidate.plan, 0, dead, out);
    return;
  }
  // The chosen operation, on this occurrence's operands.
  Op partial = choice->candidate.op;
  partial.reads = op.reads;
  partial.name = op.name;
  partial.line = op.line;
  partial.site = op.site;
  partial.record = op.record;
  partial.record = op.record;
  partial.outputs.front().id = new_tensor();
  partial.outputs.front().name = "parts of " + op.outputs.front().name;
  Op combination = combination_of(op, partial);
  // What nobody needs after the sum is needed no more by its combination.
  Dead operands;
  Dead rest_dead{partial.outputs.front().id};
  for (const TensorId id : dead) (id == op.outputs.front().id ? rest_dead : operands).push_back(id);
  emit(std::move(partial), choice->candidate.plan, 0, operands, out);
  const std::shared_ptr<const Choice> rest = choose(combination, false, rest_dead);
  emit(std::move(combination), rest->candidate.plan, 1, rest_dead, out);
}

}  // namespace tdsl::plan

#include "runtime/app/report/predictions.h"

#include "runtime/check.h"
#include "runtime/plan/cost/sent_bytes.h"

namespace tdsl::rt {

namespace {

/// Upper bound on bytes read for other ranks: each rank requests remote data once, and a relay does not read again.
double served_bytes(const plan::PlannedOp& op, const plan::TensorLookup& lookup, plan::Index rank,
                    const plan::Machine& machine) {
  plan::Op away = op.op;
  away.epilogue = false;
  std::erase_if(away.reads,
                [&](const plan::Access& access) { return lookup(access.tensor).housing.home == plan::Home::kMemory; });
  return away.reads.empty() ? 0 : plan::sent_bytes(away, op.plan, lookup, rank, machine).hi;
}

void add_work(plan::Cost& sum, const plan::Cost& cost) {
  sum.bytes_received += cost.bytes_received;
  sum.boxes += cost.boxes;
  sum.flops += cost.flops;
  sum.tasks += cost.tasks;
  sum.output_bytes += cost.output_bytes;
  sum.seconds += cost.seconds;
  sum.disk_read += cost.disk_read;
  sum.disk_written += cost.disk_written;
  sum.writes += cost.writes;
}

}  // namespace

void Predictions::add(const plan::PlannedOp& op, const plan::TensorLookup& lookup, const plan::PlanInputs& inputs,
                      const std::vector<plan::TensorId>& dead) {
  if (!enabled_) return;
  Site& site = sites_[op.op.site];
  if (site.kind.empty()) {
    site.line = line_in(op.op.line);
    site.name = op.op.name;
    site.kind = name_of(op.op.op_class);
  }
  const plan::Cost cost = plan::cost_of(op.op, op.plan, lookup, rank_, inputs.machine, inputs.threads);
  site.bytes_sent += plan::sent_bytes(op.op, op.plan, lookup, rank_, inputs.machine);
  site.bytes_from_other_nodes += plan::bytes_from_other_nodes(op.op, op.plan, lookup, rank_, inputs.machine);
  add_work(site.cost, cost);
  site.bytes_in_place += static_cast<double>(plan::bytes_in_place(in_place_, op.op, op.plan, lookup, rank_));
  const bool sized = op.part == 0 && !op.op.outputs.empty() && op.op.outputs.front().sized();
  if (sized) {
    site.stored += op.op.outputs.front().stored;
    site.stored_bytes += cost.output_bytes;
  }
  if (!inputs.homes.empty() && inputs.ranks > 1)
    site.cost.disk_read.hi += served_bytes(op, lookup, rank_, inputs.machine);
  resident_.run(op, cost.step_bytes.hi + cost.away_bytes, dead);
}

void Predictions::add_again(const plan::PlannedOp& op, const plan::Cost& cost,
                            const std::vector<plan::TensorId>& dead) {
  if (!enabled_) return;
  add_work(sites_.at(op.op.site).cost, cost);
  resident_.run(op, cost.step_bytes.hi + cost.away_bytes, dead);
}

}  // namespace tdsl::rt

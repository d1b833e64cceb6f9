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
  site.cost.bytes_received += cost.bytes_received;
  site.bytes_sent += plan::sent_bytes(op.op, op.plan, lookup, rank_, inputs.machine);
  site.bytes_from_other_nodes += plan::bytes_from_other_nodes(op.op, op.plan, lookup, rank_, inputs.machine);
  site.bytes_in_place += static_cast<double>(plan::bytes_in_place(in_place_, op.op, op.plan, lookup, rank_));
  site.cost.boxes += cost.boxes;
  site.cost.flops += cost.flops;
  site.cost.tasks += cost.tasks;
  site.cost.output_bytes += cost.output_bytes;
  site.cost.seconds += cost.seconds;
  const bool sized = op.part == 0 && !op.op.outputs.empty() && op.op.outputs.front().sized();
  if (sized) {
    site.stored += op.op.outputs.front().stored;
    site.stored_bytes += cost.output_bytes;
  }
  site.cost.disk_read += cost.disk_read;
  if (!inputs.homes.empty() && inputs.ranks > 1)
    site.cost.disk_read.hi += served_bytes(op, lookup, rank_, inputs.machine);
  site.cost.disk_written += cost.disk_written;
  site.cost.writes += cost.writes;
  resident_.run(op, cost.step_bytes.hi + cost.away_bytes, dead);
}

}  // namespace tdsl::rt

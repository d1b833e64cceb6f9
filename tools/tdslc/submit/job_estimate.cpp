#include "tools/tdslc/submit/job_estimate.h"

#include <fmt/format.h>

#include <limits>
#include <map>

#include "runtime/app/memory/spill.h"
#include "runtime/app/options/machine_file.h"
#include "runtime/app/options/options.h"
#include "runtime/check.h"
#include "runtime/io/text_file.h"
#include "runtime/plan/region/plan_price.h"
#include "runtime/record/start.h"
#include "tools/tdslc/explain/plan_output.h"
#include "tools/tdslc/job/elements.h"
#include "tools/tdslc/job/loops.h"

namespace tdsl::tools {

namespace {

/// Ranks per node for the planner, which assumes full nodes: with 7 ranks on nodes of 2, every rank gets a node of its
/// own, which is the more expensive case.
std::int64_t even_ranks_per_node(const JobShape& shape) {
  std::int64_t even = std::min(shape.ranks_per_node, shape.ranks);
  while (shape.ranks % even != 0) --even;
  return even;
}

/// Total size of the operands of file writes.
double bytes_written(const plan::Region& region) {
  std::map<plan::TensorId, double> bytes;
  double sum = 0;
  for (const plan::RegionOp& recorded : region.ops) {
    for (const plan::TensorDesc& output : recorded.op.outputs) bytes[output.id] = static_cast<double>(output.bytes());
    if (recorded.op.op_class != plan::OpClass::kStore || recorded.run != region.ops.front().run) continue;
    for (const plan::Access& access : recorded.op.reads) {
      const auto known = bytes.find(access.tensor);
      if (known != bytes.end()) sum += known->second;
    }
  }
  return sum;
}

/// Checks whether the program fits with tensors on disk.
void look_for_homes(const record::Start& start, const plan::PlanInputs& inputs, const ReportRequest& request,
                    const std::string& folder, JobEstimate& estimate) {
  const plan::FoundHomes homes = plan::find_homes_and_room(start.region, inputs, start.plan, home_request(request));
  if (!homes.fits) return;
  estimate.spills = true;
  estimate.spill_seconds = homes.seconds;
  estimate.disk = static_cast<double>(homes.need.disk);
  estimate.homes = rt::homes_text(homes, folder, inputs.machine);
}

}  // namespace

JobEstimator estimator_of(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
                          const Site& site, std::optional<std::int64_t> trips) {
  CommandLine asked = line;
  asked.ranks = 1;
  const rt::AppOptions options = options_of(asked, front.graph);
  // Created once for all shapes, because it reads sparse inputs.
  ReportRequest once = request_of(asked, front, operations, options);
  once.plan.compare = false;
  once.saves = once.saves || line.job.checkpoint;
  once.inputs.machine = site.machine.empty() ? rt::load_machine(rt::read_environment())
                                             : plan::parse_machine(rt::read_text_file(site.machine));
  const std::string folder = options.spill.value_or(site.spill_dir.empty() ? "a folder of the node" : site.spill_dir);
  return [&operations, trips, folder, outputs = options.outputs, request = std::move(once),
          read = bytes_of_inputs(options)](const JobShape& shape, std::int64_t limit) mutable {
    plan::PlanInputs inputs = request.inputs;
    inputs.ranks = shape.ranks;
    if (shape.ranks > 1) rt::price_writes(inputs.machine, outputs);
    inputs.ranks_per_node = even_ranks_per_node(shape);
    inputs.settle_nodes();
    request.walk.ranks = inputs.ranks;
    request.walk.deciding_ranks = inputs.deciding_ranks();
    inputs.threads = static_cast<int>(shape.threads);
    inputs.memory = limit;
    const record::Recording program = codegen::recording_of(operations, request.walk);
    record::Start start = record::start_of(program, inputs, request.plan);
    const bool guessed = start.region.guessed;
    if (guessed && trips) {
      record::Forms forms;
      if (start.plan != nullptr) forms.at = start.plan->forms;
      start.region = record::survey(program, forms, *trips);
    }
    // A limit too large to matter: the need is computed only under a limit, and the plan does not change.
    if (limit == 0) inputs.memory = std::numeric_limits<plan::Index>::max();
    const plan::PlanPrice price = plan::price_of(start.region, inputs, start.plan);
    JobEstimate estimate;
    estimate.peak = price.needed_bytes;
    estimate.fits = limit == 0 || price.needed_bytes <= static_cast<double>(limit);
    estimate.seconds = price.seconds;
    if (!estimate.fits && request.spill) look_for_homes(start, inputs, request, folder, estimate);
    estimate.read_bytes = read;
    estimate.written_bytes = bytes_written(start.region);
    if (guessed && !trips) estimate.unknown = "how often a loop runs depends on data", estimate.counts = true;
    for (const plan::RegionOp& recorded : start.region.ops) {
      if (recorded.op.op_class != plan::OpClass::kLoop) continue;
      estimate.unknown = fmt::format("the time of the loop in line {}, which runs as one task, is not predicted",
                                     rt::line_in(recorded.op.line));
      estimate.counts = false;
    }
    const std::vector<LoopPart> loops = loop_parts(start.region, price.seconds, [&](const plan::Region& region) {
      return plan::price_of(region, inputs, start.plan).seconds;
    });
    estimate.iteration = longest_iteration(loops);
    if (!guessed || trips) estimate.loops = loop_text(loops);
    if (guessed && trips) estimate.loops += fmt::format(", loops on data {} times", *trips);
    if (!start.region.whole)
      estimate.counts = false, estimate.unknown = "only a part of the program is foreseen (" + start.region.fence + ")";
    return estimate;
  };
}

}  // namespace tdsl::tools

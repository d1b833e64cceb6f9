#include "runtime/app/run/program_run.h"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>

#include "runtime/app/session/together.h"
#include "runtime/base/number_format.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/text_file.h"
#include "runtime/plan/region/plan_request.h"
#include "runtime/plan/region/rank_seconds.h"
#include "runtime/record/start.h"

namespace tdsl::rt {

namespace {

std::shared_ptr<const plan::PlanValue> value_of(const std::string& text) {
  return text.empty() ? nullptr : std::make_shared<const plan::PlanValue>(plan::parse_plan(text));
}

}  // namespace

/// True if an option determines part of the plan.
bool ProgramRun::plans_as_asked() const {
  return options_.use_plan_file || options_.save_plan_file || !options_.place.empty();
}

plan::PlanRequest ProgramRun::plan_request() const {
  plan::PlanRequest request;
  request.program = info_.declaration().name;
  request.schedule = options_.schedule;
  if (options_.use_plan_file)
    request.use = plan::PlanFile{*options_.use_plan_file, read_text_file(*options_.use_plan_file)};
  request.place = options_.place;
  return request;
}

bool ProgramRun::is_planned_as_whole() const { return world_.size() > 1 || plans_as_asked() || info_.has_choices(); }

/// Inputs for planning the program.
StartRequest ProgramRun::start_request(const RunSetup& run) {
  StartRequest request;
  request.program = [this, &run](const plan::PlanInputs& inputs) -> record::Recording {
    auto setup = std::make_shared<RunSetup>(run);
    setup->plan_inputs = inputs;
    return [this, setup](record::Recorder& recorder, record::Control& control) {
      Session::Impl impl{*setup, recorder, control, nullptr};
      Session session(impl);
      program_(session);
    };
  };
  request.inputs = run.plan_inputs;
  request.inputs.memory = options_.memory_bytes.value_or(0);  // a dry run plans like a real run
  request.memory_text = options_.memory_text;
  request.plan = plan_request();
  request.limit = limit_;
  request.ranks_of_node = world_.topology().local_size;
  request.place = [this](int line) { return info_.at(line); };
  const SpillPlace place = spill_place(options_.spill, spill_folders());
  request.disk = place.trouble.empty();
  request.no_disk = place.trouble;
  request.saves = options_.checkpoint_directory || options_.resume_directory;
  if (options_.spill != "none")
    request.in_file = [this, &run](const std::string& input) {
      return run.arrays == nullptr && inputs_->in_order(input);
    };
  return request;
}

/// On rank 0: surveys and plans the program.
FittingStart ProgramRun::find_plan(Execution& execution) {
  StartRequest request = start_request(execution.setup);
  FittingStart found = fitting_start(request);
  if (options_.dry_run && !options_.quiet) least_ = enough_memory(request, found.start);
  if (options_.progress && found.start.region.whole && !found.start.region.guessed) {
    if (found.memory > 0) request.inputs.memory = found.memory;
    request.inputs.homes = found.homes.homes;
    progress_.expect(plan::seconds_on(found.start.region, request.inputs, found.start.plan, world_.rank()));
  }
  if (!found.homes.homes.empty()) {
    spill_text_ = homes_text(found.homes, spill_place(options_.spill, spill_folders()).folder, request.inputs.machine);
    warn(spill_text_ + " [spill]");
  }
  if (!is_planned_as_whole()) return found;
  const record::Start& start = found.start;
  survey_ = {start.region.hash, start.region.ops.size(), start.region.whole};
  execution.sink.expect(start.region);
  for (const std::string& warning : start.plans.warnings) { warn(warning + " [plan]"); }
  // Written before the run: the plan is useful even if the run fails, and write errors show up early.
  if (options_.save_plan_file) write_text_file(*options_.save_plan_file, plan::print(start.saved));
  return found;
}

/// Text of the plan that all ranks follow, empty if there is none, and the memory within which it was made, if not all.
EarlierRuns::Planned ProgramRun::planned(Execution& execution) {
  EarlierRuns::Planned found;
  on_first_rank(world_, {&found.plan, &found.memory}, [&] {
    try {
      const FittingStart fitting = find_plan(execution);
      const bool moved = !fitting.homes.homes.empty();
      if (fitting.start.plan != nullptr && (is_planned_as_whole() || moved)) {
        plan::PlanValue value = *fitting.start.plan;
        // Storage locations in a plan file are those chosen for smaller memory.
        if (!moved) {
          value.memory = value.disk = value.reserve = 0;
          value.homes.clear();
        }
        found.plan = plan::print(value);
      }
      if (fitting.memory > 0 && !moved) found.memory = std::to_string(fitting.memory);
    } catch (const RunError&) { throw; } catch (const std::exception& e) {
      throw RunError("internal error of the runtime, please report it: the whole program could not be planned: " +
                     std::string(e.what()) + " [internal-error]");
    }
  });
  found.value = value_of(found.plan);
  return found;
}

/// The plan that all ranks follow. Rank 0 finds it, unless the run resumes with a saved plan or repeats an earlier one.
std::shared_ptr<const EarlierRuns::Planned> ProgramRun::to_follow(Execution& execution) {
  using Planned = EarlierRuns::Planned;
  if (const std::string* const earlier = execution.checkpoints ? execution.checkpoints->earlier_plan() : nullptr)
    return std::make_shared<const Planned>(Planned{*earlier, {}, value_of(*earlier), nullptr});
  if (!is_planned_as_whole() && limit_.bytes == 0 && !options_.memory_bytes) return std::make_shared<const Planned>();
  std::shared_ptr<const Planned> found;
  if (earlier_ == nullptr || earlier_->call.empty() || plans_as_asked()) {
    found = std::make_shared<const Planned>(planned(execution));
  } else {
    constexpr std::size_t kMost = 64;
    if (earlier_->planned.size() >= kMost) earlier_->planned.clear();
    const std::string key = std::to_string(execution.setup.plan_inputs.threads) + ' ' + std::to_string(limit_.bytes) +
                            '\n' + earlier_->call;
    auto known = earlier_->planned.find(key);
    if (known == earlier_->planned.end()) {
      Planned made = planned(execution);
      made.shared = std::make_shared<record::SharedPlans>();
      known = earlier_->planned.emplace(key, std::make_shared<const Planned>(std::move(made))).first;
    }
    found = known->second;
  }
  if (!found->memory.empty()) execution.sink.limit_memory(std::stoll(found->memory));
  return found;
}

/// Candidate directories for spilled tensors, best first: dedicated scratch directories, then those of outputs.
std::vector<std::string> ProgramRun::spill_folders() const {
  std::vector<std::string> folders = environment_.scratch;
  for (const auto& [name, path] : options_.outputs)
    folders.push_back(std::filesystem::path(file_behind(path)).parent_path().string());
  for (std::string& folder : folders) folder = folder.empty() ? "." : folder;
  folders.emplace_back("/tmp");
  return folders;
}

/// Tensors are spilled: every rank creates its file, or all fail.
void ProgramRun::open_disk(Execution& execution, const plan::PlanValue& plan) {
  execution.sink.limit_memory(plan.memory, plan.homes);
  std::string error;  // preceded by its exit code
  try {
    const SpillPlace place = spill_place(options_.spill, spill_folders());
    const bool writes = plan.disk > 0;
    if (writes && !place.trouble.empty())
      throw RunError("tensors are to be on disk: " + place.trouble + " [spill]", ExitCode::kUsage);
    if (!options_.dry_run)
      disk_.emplace(writes ? place.folder : std::string(), plan.disk, place.insisted, world_.topology().local_size);
  } catch (const RunError& e) { error = static_cast<char>('0' + e.exit_code()) + std::string(e.what()); }
  for (const std::string& text : world_.access()->all_gather(error)) {
    if (!text.empty()) throw RunError(text.substr(1), static_cast<ExitCode>(text.front() - '0'));
  }
  if (disk_) execution.sink.engine().use_disk(*disk_, plan.reserve);
  if (execution.checkpoints && execution.checkpoints->earlier_plan() != nullptr && world_.rank() == 0 &&
      plan.disk > 0) {
    warn("tensors lie on disk in " + spill_place(options_.spill, spill_folders()).folder +
         " as before the run was interrupted: a rank has room for " + format_bytes(plan.disk) + " there [spill]");
  }
}

/// All ranks follow the same plan.
void ProgramRun::survey(Execution& execution) {
  const std::shared_ptr<const EarlierRuns::Planned> found = to_follow(execution);
  if (const auto& plan = found->value; plan != nullptr) {
    execution.control.set_forms({plan->forms});
    if (plan->memory > 0) open_disk(execution, *plan);
    if (!plan->at.empty()) execution.sink.impose(std::make_unique<plan::ImposedPlan>(plan));
  }
  if (found->shared != nullptr) execution.sink.share(found->shared);
  if (execution.checkpoints) execution.checkpoints->begin(found->plan);
  phases_.plan += watch_.lap();
}

}  // namespace tdsl::rt

#include "runtime/library/called_run.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "runtime/engine/mpi/mpi_caller.h"
#include "runtime/engine/mpi/mpi_table.h"
#include "runtime/kernels/product/blas_call.h"
#include "runtime/plan/cost/cost_model.h"
#include "runtime/record/planning_sink.h"

namespace tdsl::rt {

const Environment& prepared_environment() {
  static const Environment environment = [] {
    Environment read = read_environment();
    read.trusted |= mpi_takes_pmi(read);
    if (read.simd) limit_simd_level(*read.simd);
    blas::prepare();
    return read;
  }();
  return environment;
}

CalledRun::CalledRun(World& world, Store& store, const ProgramInfo& info, const std::function<void(Session&)>& program,
                     AppOptions options, Arrays& arrays, EarlierRuns& earlier, std::function<bool()> stop, Tape* tape)
    : ProgramRun(world, store, prepared_environment(), info, program, 0),
      arrays_(arrays),
      stop_(std::move(stop)),
      tape_(tape) {
  options_ = std::move(options);
  options_.quiet = true;
  earlier_ = &earlier;
}

void CalledRun::prepare(bool dry) {
  options_.dry_run = dry;
  for (const InputDeclaration& input : info_.inputs()) {
    if (arrays_.has_input(input.name)) options_.inputs[input.name] = "an array of the caller";
  }
  if (!options_.outputs.empty() || options_.save_plan_file) check_files();
  if (earlier_->limits.empty()) start_rss_ = peak_rss();
  inputs_.emplace(world_, info_, options_, [this](const std::string& name, const std::string& path, ElementType type) {
    std::optional<InputFile> array = arrays_.input(name);
    if (!array) return open_input(name, path, type);
    array->require_type(type, name);
    return std::move(*array);
  });
  RunSetup all = setup();
  all.arrays = &arrays_;
  all.engine_options.report = nullptr;
  all.engine_options.ended = nullptr;
  all.engine_options.stop = std::move(stop_);
  all.engine_options.tape = tape_;
  execution_ = std::make_unique<Execution>(std::move(all));
  if (!earlier_->alike) earlier_->alike = report_cores(execution_->setup.plan_inputs.threads);
  execution_->setup.plan_inputs.alike = *earlier_->alike;
  survey(*execution_);
}

void CalledRun::compute() {
  try {
    execution_->sink.engine().run([this] {
      try {
        execute(*execution_);
      } catch (const DryRunOver&) {}
    });
  } catch (const RunError&) {
    failed_alike_ = execution_->sink.engine().failed_alike();
    throw;
  }
  if (options_.dry_run) return;
  execution_->sink.commit_outputs();
  execution_->sink.keep_run();
}

namespace {

/// True for operations without other effects than their result or elements of the caller's arrays.
bool is_pure(const plan::Op& op) {
  switch (op.op_class) {
    case plan::OpClass::kMap:
    case plan::OpClass::kReduce:
    case plan::OpClass::kContraction:
    case plan::OpClass::kSource:
    case plan::OpClass::kLoad:
    case plan::OpClass::kStore:
    case plan::OpClass::kCombine:
    case plan::OpClass::kLoop:
    case plan::OpClass::kCopy: return !op.ordered;
    case plan::OpClass::kCollect:
    case plan::OpClass::kControl:
    case plan::OpClass::kSave:
    case plan::OpClass::kRestore: return false;
  }
  return false;
}

}  // namespace

bool CalledRun::is_repeatable() const {
  constexpr plan::Index kMostBytes = plan::Index{1} << 20;
  const plan::PlanInputs& inputs = execution_->setup.plan_inputs;
  const double most_seconds = inputs.threads > 1 ? 3e-4 : 1e-2;
  const record::PlannedRun* const run = execution_->sink.shared_run();
  if (run == nullptr || world_.size() > 1 || !options_.outputs.empty() || options_.check.any()) return false;
  // Sparse results are collected by the run.
  if (std::ranges::any_of(arrays_.outputs(), &Array::sparse)) return false;
  const plan::TensorLookup lookup = [run](plan::TensorId id) -> const plan::PlacedTensor& {
    return run->tensors.at(id);
  };
  plan::Index bytes = 0;
  double seconds = 0;
  for (const record::PlannedRun::Part& part : run->parts) {
    for (const auto& planned : part.planned->ops) {
      if (!is_pure(planned->op)) return false;
      for (const plan::TensorDesc& output : planned->op.outputs) {
        if (output.sized() || run->tensors.at(output.id).housing.home != plan::Home::kMemory) return false;
        bytes += output.bytes();
      }
      seconds += plan::cost_of(planned->op, planned->plan, lookup, 0, inputs.machine, 1).seconds.hi;
      if (bytes > kMostBytes || seconds > most_seconds) return false;
    }
  }
  return true;
}

}  // namespace tdsl::rt

#include "runtime/app/environment.h"

#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace tdsl::rt {

namespace {

/// The leading integer of a variable: OMP_NUM_THREADS may be a list, SLURM_TASKS_PER_NODE-like values have suffixes.
std::optional<int> leading_number(const std::optional<std::string>& text) {
  if (!text) {
    return std::nullopt;
  }
  int value = 0;
  const auto result = std::from_chars(text->data(), text->data() + text->size(), value);
  if (result.ec != std::errc() || value < 1) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

Environment read_environment(const VariableLookup& lookup) {
  Environment e;
  const auto oversubscribed = lookup("TDSL_OVERSUBSCRIBED");
  e.oversubscribed = oversubscribed && !oversubscribed->empty() && *oversubscribed != "0";
  e.omp_num_threads = leading_number(lookup("OMP_NUM_THREADS"));
  e.blis_arch_type = lookup("BLIS_ARCH_TYPE");
  e.launched = lookup("OMPI_COMM_WORLD_SIZE") || lookup("PMIX_RANK") || lookup("PMI_RANK");
  e.launcher_size = leading_number(lookup("OMPI_COMM_WORLD_SIZE"));
  if (!e.launcher_size) {
    e.launcher_size = leading_number(lookup("PMI_SIZE"));
  }
  // SLURM_NTASKS is also set inside a batch script, which is one process: only a step's own variables count.
  e.slurm_step_tasks = leading_number(lookup("SLURM_STEP_NUM_TASKS"));
  if (!e.slurm_step_tasks && lookup("SLURM_STEP_ID")) {
    e.slurm_step_tasks = leading_number(lookup("SLURM_NTASKS"));
  }
  e.slurm_cpus_per_task = leading_number(lookup("SLURM_CPUS_PER_TASK"));
  e.slurm_job = lookup("SLURM_JOB_ID");
  e.machine_file = lookup("TDSL_MACHINE");
  if (const auto cache = lookup("XDG_CACHE_HOME"); cache && cache->starts_with('/')) {
    e.measured_machine_file = *cache + "/tdsl/machine.conf";
  } else if (const auto home = lookup("HOME"); home && !home->empty()) {
    e.measured_machine_file = *home + "/.cache/tdsl/machine.conf";
  }
  const auto silent = lookup("TDSL_SILENT_INTERRUPT");
  e.silent_interrupt = silent && !silent->empty() && *silent != "0";
  e.session_folder = lookup("TDSL_SESSION");
  e.ranks_per_node = leading_number(lookup("TDSL_RANKS_PER_NODE"));
  for (const SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (lookup("TDSL_SIMD") == name_of(level)) e.simd = level;
  }
  e.delay_seed = static_cast<std::uint64_t>(leading_number(lookup("TDSL_DELAYS")).value_or(0));
  return e;
}

Environment read_environment() {
  return read_environment([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

void set_blis_arch_type(int architecture) {
  ::setenv("BLIS_ARCH_TYPE", std::to_string(architecture).c_str(), 0);
}

Launch classify_launch(const Environment& environment) {
  if (environment.launched) {
    return Launch::kLaunched;
  }
  return environment.slurm_step_tasks.value_or(1) > 1 ? Launch::kRefused : Launch::kSingle;
}

std::string refused_launch_message(const Environment& environment) {
  return "srun started " + std::to_string(environment.slurm_step_tasks.value_or(1)) +
         " tasks that cannot find each other: this Slurm step has no PMI, so each would run the whole program alone.\n"
         "Use 'srun --mpi=pmix', or 'mpirun' inside the allocation.";
}

}  // namespace tdsl::rt

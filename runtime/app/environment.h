#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/kernels/simd_level.h"

/// The one place where the runtime reads environment variables.
namespace tdsl::rt {

/// Environment variables the runtime acts on, read once at start.
struct Environment {
  bool oversubscribed = false;                ///< TDSL_OVERSUBSCRIBED=1: idle ranks nap between polls
  std::optional<int> omp_num_threads;         ///< OMP_NUM_THREADS, its first number
  std::optional<std::string> blis_arch_type;  ///< BLIS_ARCH_TYPE, which the runtime never overrides
  std::optional<int> launcher_size;           ///< ranks announced by mpirun or PMI (OMPI_COMM_WORLD_SIZE, PMI_SIZE)
  bool launched = false;                      ///< OMPI_COMM_WORLD_SIZE, PMIX_RANK or PMI_RANK is set
  std::optional<int> slurm_step_tasks;        ///< tasks of the Slurm step this process belongs to
  std::optional<int> slurm_cpus_per_task;     ///< SLURM_CPUS_PER_TASK
  std::optional<std::string> slurm_job;       ///< SLURM_JOB_ID
  bool silent_interrupt = false;              ///< TDSL_SILENT_INTERRUPT=1: whoever started the ranks reports Ctrl-C
  std::optional<std::string> session_folder;  ///< TDSL_SESSION=DIR: where whoever started the ranks looks for their signs
  std::optional<std::string> machine_file;    ///< TDSL_MACHINE=FILE: constants for choosing plans; empty: the built-in ones
  std::string measured_machine_file;          ///< where `tdslc doctor` leaves them: in $XDG_CACHE_HOME/tdsl or ~/.cache/tdsl
  std::optional<int> ranks_per_node;          ///< TDSL_RANKS_PER_NODE=R: tests; as if the ranks filled nodes of R one after the other
  std::optional<SimdLevel> simd;              ///< TDSL_SIMD=baseline|avx2|avx512: kernels use no wider vectors
  std::uint64_t delay_seed = 0;               ///< TDSL_DELAYS=N: tests; the engine pauses at random
};

/// Looks a variable up: its value, or nothing when unset.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the variables through `lookup`; malformed numbers count as unset.
[[nodiscard]] Environment read_environment(const VariableLookup& lookup);
/// Reads the variables of this process.
[[nodiscard]] Environment read_environment();

/// Sets BLIS_ARCH_TYPE for this process unless the user did. Call before threads start and before the first BLIS call.
void set_blis_arch_type(int architecture);

/// How the processes of a run came to be.
enum class Launch {
  kSingle,    ///< no launcher: one rank, MPI is never started
  kLaunched,  ///< mpirun, or srun with PMIx or PMI: start MPI
  kRefused    ///< a Slurm step of several tasks without PMI: every task would believe to be alone
};
[[nodiscard]] Launch classify_launch(const Environment& environment);

/// The message for Launch::kRefused.
[[nodiscard]] std::string refused_launch_message(const Environment& environment);

}  // namespace tdsl::rt

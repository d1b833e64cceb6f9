#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/simd_level.h"

/// The one place where the runtime reads environment variables.
namespace tdsl::rt {

enum class Launcher {
  kNone,
  kMpirun,  ///< Open MPI's mpirun
  kPmix,    ///< srun --mpi=pmix, or another one that speaks PMIx
  kPmi      ///< a launcher that speaks PMI only
};

/// A variable that is set, for messages.
struct Setting {
  std::string name;
  std::string value;
};

/// Environment variables the runtime acts on, read once at start.
struct Environment {
  bool oversubscribed = false;                ///< TDSL_OVERSUBSCRIBED=1: idle ranks nap between polls
  std::optional<int> omp_num_threads;         ///< OMP_NUM_THREADS, its first number
  std::optional<std::string> blis_arch_type;  ///< BLIS_ARCH_TYPE, which the runtime never overrides
  std::optional<int> launcher_size;           ///< ranks announced by mpirun or PMI (OMPI_COMM_WORLD_SIZE, PMI_SIZE)
  Launcher launcher = Launcher::kNone;        ///< who started this process
  int launch_rank = 0;                        ///< this process among those started with it, before MPI says so
  bool several_nodes = false;                 ///< the launcher has started processes on more than one node
  bool trusted = false;                       ///< TDSL_LAUNCH=trust: MPI is started whatever the launcher is
  std::optional<int> slurm_step_tasks;        ///< tasks of the Slurm step this process belongs to
  std::optional<int> slurm_tasks;             ///< SLURM_NTASKS: of the job, or of the step
  std::string pmix_namespace;                 ///< PMIX_NAMESPACE: names the run on its nodes
  std::string slurm_mpi;                      ///< SLURM_MPI_TYPE: what srun's --mpi was
  std::optional<int> slurm_cpus_per_task;     ///< SLURM_CPUS_PER_TASK
  std::int64_t slurm_node_memory =
      0;  ///< SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU of the step's cores of a node, in bytes; 0: not said
  std::optional<std::string> slurm_job;  ///< SLURM_JOB_ID
  bool silent_interrupt = false;         ///< TDSL_SILENT_INTERRUPT=1: whoever started the ranks reports Ctrl-C
  std::optional<std::string>
      session_folder;  ///< TDSL_SESSION=DIR: where whoever started the ranks looks for their signs
  std::optional<std::string>
      machine_file;                   ///< TDSL_MACHINE=FILE: constants for choosing plans; empty: the built-in ones
  std::string measured_machine_file;  ///< where `tdslc doctor` leaves them: in $XDG_CACHE_HOME/tdsl or ~/.cache/tdsl
  std::optional<int>
      ranks_per_node;  ///< TDSL_RANKS_PER_NODE=R: tests; as if the ranks filled nodes of R one after the other
  std::optional<SimdLevel> simd;  ///< TDSL_SIMD=baseline|avx2|avx512: kernels use no wider vectors
  std::int64_t stop_at_boundary =
      -1;  ///< TDSL_STOP_AT_BOUNDARY=N: tests; with --checkpoint the run stops there, as if a signal had come
  std::vector<std::string> scratch;   ///< SLURM_TMPDIR, TMPDIR: folders for large temporary files
  std::uint64_t delay_seed = 0;       ///< TDSL_DELAYS=N: tests; the engine pauses at random
  std::vector<Setting> transports;    ///< settings of Open MPI that restrict how ranks talk
  std::vector<Setting> blas_threads;  ///< numbers of threads for BLAS libraries
};

/// Looks a variable up: its value, or nothing when unset.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the variables through `lookup`; malformed numbers count as unset.
[[nodiscard]] Environment read_environment(const VariableLookup& lookup);
/// Reads the variables of this process.
[[nodiscard]] Environment read_environment();

/// Sets BLIS_ARCH_TYPE for this process unless the user did. Call before threads start and before the first BLIS call.
void set_blis_arch_type(int architecture);

/// The settings by which ranks on several nodes cannot talk: MPI would end with a page of text, or hang.
[[nodiscard]] std::vector<Setting> unusable_transports(const Environment& environment);
/// Takes them out of this process's environment. Call before MPI starts.
void drop(const std::vector<Setting>& settings);

/// How the processes of a run came to be.
enum class Launch {
  kSingle,    ///< no launcher: one rank, MPI is never started
  kLaunched,  ///< mpirun, srun with PMIx, or a launcher with PMI: start MPI
  kRefused    ///< a Slurm step of several tasks without PMIx: every task would believe to be alone
};
[[nodiscard]] Launch classify_launch(const Environment& environment);

/// The message for Launch::kRefused; `command` is the program's, as a shell takes it.
[[nodiscard]] std::string refused_launch_message(const Environment& environment, const std::string& command);
/// A command as a shell takes it; a long one is cut.
[[nodiscard]] std::string shown_command(std::span<const std::string> words);

}  // namespace tdsl::rt

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/kernels/simd_level.h"

/// The only place where the runtime reads environment variables.
namespace tdsl::rt {

enum class Launcher {
  kNone,
  kMpirun,  ///< Open MPI's mpirun
  kPmix,    ///< srun --mpi=pmix, or another PMIx launcher
  kPmi      ///< a launcher with PMI only
};

/// A variable that is set, for messages.
struct Setting {
  std::string name;
  std::string value;
};

/// Environment variables used by the runtime, read once at start.
struct Environment {
  bool oversubscribed = false;                ///< TDSL_OVERSUBSCRIBED=1: idle ranks sleep between polls
  std::optional<int> omp_num_threads;         ///< OMP_NUM_THREADS, its first number
  std::optional<std::string> blis_arch_type;  ///< BLIS_ARCH_TYPE, which the runtime never overrides
  std::optional<int> launcher_size;           ///< ranks announced by mpirun or PMI (OMPI_COMM_WORLD_SIZE, PMI_SIZE)
  Launcher launcher = Launcher::kNone;        ///< launcher of this process
  std::string launcher_family;           ///< MPI family of the launcher (mpi_choice.h); empty: its marks do not tell
  std::string mpi;                       ///< TDSL_MPI=FAMILY|none|SHIM[:LIBRARY]: the MPI library to open
  std::vector<std::string> mpi_folders;  ///< of shims: ~/.local/lib/tdsl/mpi, and lib/tdsl of TDSL_HOME
  std::vector<std::string> library_folders;  ///< LD_LIBRARY_PATH
  int launch_rank = 0;                       ///< rank of this process according to the launcher, before MPI has started
  bool several_nodes = false;                ///< the launcher has started processes on more than one node
  bool trusted = false;                      ///< TDSL_LAUNCH=trust: MPI is started with any launcher
  std::optional<int> slurm_step_tasks;       ///< tasks of the Slurm step this process belongs to
  std::optional<int> slurm_tasks;            ///< SLURM_NTASKS: of the job, or of the step
  std::string pmix_namespace;                ///< PMIX_NAMESPACE: identifies the run on its nodes
  std::string slurm_mpi;                     ///< SLURM_MPI_TYPE: value of srun's --mpi
  std::optional<int> slurm_cpus_per_task;    ///< SLURM_CPUS_PER_TASK
  std::int64_t slurm_node_memory =
      0;  ///< SLURM_MEM_PER_NODE, or SLURM_MEM_PER_CPU times the step's cores on a node, in bytes; 0: not given
  std::optional<std::string> slurm_job;  ///< SLURM_JOB_ID
  bool silent_interrupt = false;         ///< TDSL_SILENT_INTERRUPT=1: the parent process reports Ctrl-C
  std::optional<std::string>
      session_folder;  ///< TDSL_SESSION=DIR: where the parent process looks for status files of the ranks
  std::optional<std::string> machine_file;  ///< TDSL_MACHINE=FILE: constants for choosing plans; empty: built-in ones
  std::string measured_machine_file;   ///< where `tdslc doctor` saves them: in $XDG_CACHE_HOME/tdsl or ~/.cache/tdsl
  std::optional<int> ranks_per_node;   ///< TDSL_RANKS_PER_NODE=R: for tests; simulates nodes of R consecutive ranks
  std::optional<SimdLevel> simd;       ///< TDSL_SIMD=baseline|avx2|avx512: limits the vector width of kernels
  std::int64_t stop_at_boundary = -1;  ///< TDSL_STOP_AT_BOUNDARY=N: for tests; with --checkpoint the run stops there,
                                       ///< as if it had received a signal
  std::vector<std::string> scratch;    ///< SLURM_TMPDIR, TMPDIR: folders for large temporary files
  std::uint64_t delay_seed = 0;        ///< TDSL_DELAYS=N: for tests; the engine pauses at random
  std::vector<Setting> transports;     ///< settings of Open MPI that restrict communication between ranks
  std::vector<Setting> blas_threads;   ///< thread counts of BLAS libraries
};

/// Looks a variable up: its value, or nothing when unset.
using VariableLookup = std::function<std::optional<std::string>(const std::string&)>;

/// Reads the variables through `lookup`; malformed numbers count as unset.
[[nodiscard]] Environment read_environment(const VariableLookup& lookup);
/// Reads the variables of this process.
[[nodiscard]] Environment read_environment();

/// Sets BLIS_ARCH_TYPE for this process unless the user did. Call before threads start and before the first BLIS call.
void set_blis_arch_type(int architecture);

/// The settings that prevent communication between ranks on several nodes: MPI would end with a page of text, or hang.
[[nodiscard]] std::vector<Setting> unusable_transports(const Environment& environment);
/// Removes them from this process's environment. Call before MPI starts.
void drop(const std::vector<Setting>& settings);

/// How the processes of a run were launched.
enum class Launch {
  kSingle,    ///< no launcher, or TDSL_MPI=none: one rank, without MPI
  kLaunched,  ///< mpirun, srun with PMIx, or a launcher with PMI: start MPI
  kRefused    ///< a Slurm step with several tasks but without PMIx: every task would run as a single rank
};
[[nodiscard]] Launch classify_launch(const Environment& environment);

/// The message for Launch::kRefused; `command` is the program's, quoted for a shell.
[[nodiscard]] std::string refused_launch_message(const Environment& environment, const std::string& command);
/// A command quoted for a shell; long ones are truncated.
[[nodiscard]] std::string shown_command(std::span<const std::string> words);

}  // namespace tdsl::rt

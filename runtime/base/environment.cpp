#include "runtime/base/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

namespace tdsl::rt {

namespace {

/// The leading integer of a variable: OMP_NUM_THREADS may be a list, SLURM_TASKS_PER_NODE-like values have suffixes.
std::optional<int> leading_number(const std::optional<std::string>& text) {
  if (!text) { return std::nullopt; }
  int value = 0;
  const auto result = std::from_chars(text->data(), text->data() + text->size(), value);
  if (result.ec != std::errc() || value < 1) { return std::nullopt; }
  return value;
}

/// The job's memory on this node according to Slurm; its numbers are MiB, and 0 means all.
std::int64_t slurm_node_memory(const VariableLookup& lookup) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  if (const auto node = leading_number(lookup("SLURM_MEM_PER_NODE"))) return *node * kMiB;
  const auto core = leading_number(lookup("SLURM_MEM_PER_CPU")), cores = leading_number(lookup("SLURM_CPUS_ON_NODE"));
  return core && cores ? kMiB * *core * *cores : 0;
}

/// A rank number: 0 is valid.
std::optional<int> rank_number(const std::optional<std::string>& text) {
  if (text == "0") return 0;
  return leading_number(text);
}

void read_launcher(const VariableLookup& lookup, Environment& e) {
  e.launcher_size = leading_number(lookup("OMPI_COMM_WORLD_SIZE"));
  // mpirun starts ranks on other nodes in a separate Slurm step, whose variables do not describe them: mpirun's own
  // variables take precedence.
  if (lookup("OMPI_COMM_WORLD_SIZE")) {
    e.launcher = Launcher::kMpirun;
    e.launch_rank = rank_number(lookup("OMPI_COMM_WORLD_RANK")).value_or(0);
    e.several_nodes = leading_number(lookup("OMPI_COMM_WORLD_LOCAL_SIZE")).value_or(1) < e.launcher_size.value_or(1);
    e.slurm_tasks = leading_number(lookup("SLURM_NTASKS"));
    return;
  }
  if (lookup("PMIX_RANK") || lookup("PMIX_NAMESPACE")) {
    e.launcher = Launcher::kPmix;
  } else if (lookup("PMI_RANK") || lookup("PALS_RANKID")) {
    e.launcher = Launcher::kPmi;
    e.launcher_size = leading_number(lookup("PMI_SIZE"));
  }
  // SLURM_NTASKS is also set in a batch script, which is one process: only a step's own variables count.
  const bool step = lookup("SLURM_STEP_ID") || lookup("SLURM_STEP_NUM_TASKS");
  e.slurm_tasks = leading_number(lookup("SLURM_NTASKS"));
  if (step) {
    e.slurm_step_tasks = leading_number(lookup("SLURM_STEP_NUM_TASKS"));
    if (!e.slurm_step_tasks) e.slurm_step_tasks = e.slurm_tasks;
    e.several_nodes = leading_number(lookup("SLURM_STEP_NUM_NODES")).value_or(1) > 1;
    e.slurm_mpi = lookup("SLURM_MPI_TYPE").value_or("");
  }
  for (const char* name : {"PMIX_RANK", "PMI_RANK", "PALS_RANKID", "SLURM_PROCID"}) {
    const std::optional<int> rank = rank_number(lookup(name));
    if (!rank || (!step && std::string_view(name) == "SLURM_PROCID")) continue;
    e.launch_rank = *rank;
    break;
  }
}

/// The family whose launcher sets these variables. PMIx alone may be Slurm's, for any family.
std::string launcher_family(const VariableLookup& lookup) {
  if (lookup("OMPI_COMM_WORLD_SIZE") || lookup("PRTE_LAUNCHED")) return "openmpi";
  if (lookup("PALS_APID") || lookup("PALS_RANKID") || lookup("HYDI_CONTROL_FD")) return "mpich";
  const bool pmix = lookup("PMIX_RANK") || lookup("PMIX_NAMESPACE");
  return !pmix && (lookup("PMI_RANK") || lookup("PMI_FD")) ? "mpich" : "";
}

/// The items of a list such as `self,vader`.
std::vector<std::string_view> list_items(std::string_view text, char separator = ',') {
  std::vector<std::string_view> items;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    items.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return items;
}

/// True if a list for the transport layer `btl` leaves only transports within a machine.
bool stays_inside(std::string_view list) {
  constexpr std::string_view kInside[] = {"self", "vader", "sm", "smcuda"};
  const auto has = [](const std::vector<std::string_view>& items, std::string_view name) {
    return std::ranges::find(items, name) != items.end();
  };
  if (list.starts_with('^')) return has(list_items(list.substr(1)), "tcp");
  return std::ranges::all_of(
      list_items(list), [&](std::string_view item) { return std::ranges::find(kInside, item) != std::end(kInside); });
}

void read_mpi(const VariableLookup& lookup, Environment& e) {
  e.launcher_family = launcher_family(lookup);
  e.mpi = lookup("TDSL_MPI").value_or("");
  if (const auto home = lookup("HOME"); home && !home->empty()) e.mpi_folders.push_back(*home + "/.local/lib/tdsl/mpi");
  if (const auto home = lookup("TDSL_HOME"); home && !home->empty()) e.mpi_folders.push_back(*home + "/lib/tdsl");
  const std::string folders = lookup("LD_LIBRARY_PATH").value_or("");
  for (const std::string_view folder : list_items(folders, ':')) {
    if (!folder.empty()) e.library_folders.emplace_back(folder);
  }
}

bool is_loopback(std::string_view list) {
  return std::ranges::all_of(list_items(list),
                             [](std::string_view item) { return item == "lo" || item.starts_with("127."); });
}

/// A plain word, or one in single quotes.
std::string shell_word(const std::string& word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./,:@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

}  // namespace

Environment read_environment(const VariableLookup& lookup) {
  Environment e;
  const auto oversubscribed = lookup("TDSL_OVERSUBSCRIBED");
  e.oversubscribed = oversubscribed && !oversubscribed->empty() && *oversubscribed != "0";
  e.omp_num_threads = leading_number(lookup("OMP_NUM_THREADS"));
  e.blis_arch_type = lookup("BLIS_ARCH_TYPE");
  read_launcher(lookup, e);
  read_mpi(lookup, e);
  e.pmix_namespace = lookup("PMIX_NAMESPACE").value_or("");
  e.trusted = lookup("TDSL_LAUNCH") == "trust";
  for (const char* name : {"OMPI_MCA_pml", "OMPI_MCA_btl", "OMPI_MCA_btl_tcp_if_include"}) {
    if (const auto value = lookup(name); value && !value->empty()) e.transports.push_back({name, *value});
  }
  for (const char* name : {"BLIS_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS"}) {
    if (const auto value = lookup(name); leading_number(value)) e.blas_threads.push_back({name, *value});
  }
  e.slurm_cpus_per_task = leading_number(lookup("SLURM_CPUS_PER_TASK"));
  e.slurm_job = lookup("SLURM_JOB_ID");
  e.slurm_node_memory = slurm_node_memory(lookup);
  e.machine_file = lookup("TDSL_MACHINE");
  if (const auto cache = lookup("XDG_CACHE_HOME"); cache && cache->starts_with('/')) {
    e.measured_machine_file = *cache + "/tdsl/machine.conf";
  } else if (const auto home = lookup("HOME"); home && !home->empty()) {
    e.measured_machine_file = *home + "/.cache/tdsl/machine.conf";
  }
  const auto silent = lookup("TDSL_SILENT_INTERRUPT");
  for (const char* const name : {"SLURM_TMPDIR", "TMPDIR"}) {
    if (const std::optional<std::string> folder = lookup(name); folder && !folder->empty())
      e.scratch.push_back(*folder);
  }
  e.silent_interrupt = silent && !silent->empty() && *silent != "0";
  e.session_folder = lookup("TDSL_SESSION");
  e.ranks_per_node = leading_number(lookup("TDSL_RANKS_PER_NODE"));
  for (const SimdLevel level : {SimdLevel::kBaseline, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
    if (lookup("TDSL_SIMD") == name_of(level)) e.simd = level;
  }
  e.stop_at_boundary = leading_number(lookup("TDSL_STOP_AT_BOUNDARY")).value_or(-1);
  e.delay_seed = static_cast<std::uint64_t>(leading_number(lookup("TDSL_DELAYS")).value_or(0));
  return e;
}

Environment read_environment() {
  return read_environment([](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  });
}

void set_blis_arch_type(int architecture) { ::setenv("BLIS_ARCH_TYPE", std::to_string(architecture).c_str(), 0); }

std::vector<Setting> unusable_transports(const Environment& environment) {
  std::vector<Setting> unusable;
  if (!environment.several_nodes) return unusable;
  for (const Setting& setting : environment.transports) {
    if (setting.name == "OMPI_MCA_btl" && stays_inside(setting.value)) unusable.push_back(setting);
    if (setting.name == "OMPI_MCA_btl_tcp_if_include" && is_loopback(setting.value)) unusable.push_back(setting);
  }
  return unusable;
}

void drop(const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) ::unsetenv(setting.name.c_str());
}

Launch classify_launch(const Environment& environment) {
  if (environment.mpi == "none") return Launch::kSingle;
  if (environment.launcher == Launcher::kMpirun || environment.launcher == Launcher::kPmix) return Launch::kLaunched;
  if (environment.trusted && environment.launcher == Launcher::kPmi) return Launch::kLaunched;
  // A launcher of another MPI inside a step of one task is only detected after MPI has started.
  const bool others = environment.launcher == Launcher::kPmi &&
                      environment.launcher_size.value_or(1) > environment.slurm_step_tasks.value_or(1);
  if (environment.slurm_step_tasks && !(others && *environment.slurm_step_tasks == 1))
    return *environment.slurm_step_tasks > 1 ? Launch::kRefused : Launch::kSingle;
  return environment.launcher == Launcher::kPmi ? Launch::kLaunched : Launch::kSingle;
}

std::string refused_launch_message(const Environment& environment, const std::string& command) {
  const std::string tasks = std::to_string(environment.slurm_step_tasks.value_or(1));
  const bool pmi = environment.launcher == Launcher::kPmi;
  const std::string given = !environment.slurm_mpi.empty() ? " --mpi=" + environment.slurm_mpi
                            : pmi                          ? " with PMI"
                                                           : " without PMIx";
  return "srun" + given + " started " + tasks +
         " tasks that cannot find each other: start them with srun --mpi=pmix -n " + tasks + " " + command +
         (pmi ? " (TDSL_LAUNCH=trust if this MPI library takes " +
                    (environment.slurm_mpi.empty() ? std::string("PMI") : environment.slurm_mpi) + ")"
              : "");
}

std::string shown_command(std::span<const std::string> words) {
  constexpr std::size_t kMost = 400;
  std::string text;
  for (const std::string& word : words) {
    const std::string next = shell_word(word);
    if (text.size() + next.size() > kMost) return text + " ...";
    text += (text.empty() ? "" : " ") + next;
  }
  return text;
}

}  // namespace tdsl::rt

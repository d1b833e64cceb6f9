#include "runtime/app/run/program_run.h"

#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/memory/cores.h"
#include "runtime/app/options/instructions.h"
#include "runtime/app/options/machine_file.h"
#include "runtime/app/run/run_program_signals.h"
#include "runtime/app/session/together.h"
#include "runtime/engine/mpi/mpi_table.h"
#include "runtime/engine/store/shared_windows.h"
#include "runtime/io/temporaries.h"

namespace tdsl::rt {

namespace {

/// Cores of this machine, read once: that takes microseconds.
int online_cores() {
  static const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  return cores;
}

/// Threads per rank without --threads: the job's cores per task, or this rank's share of the node's cores; at most the
/// cores that the rank is pinned to.
int default_threads(const World& world, const Environment& environment) {
  if (environment.omp_num_threads) return *environment.omp_num_threads;
  int threads = std::max(1, online_cores() / world.topology().local_size);
  if (environment.slurm_cpus_per_task) threads = std::min(threads, *environment.slurm_cpus_per_task);
  cpu_set_t pinned;
  CPU_ZERO(&pinned);
  if (::sched_getaffinity(0, sizeof pinned, &pinned) == 0) threads = std::min(threads, CPU_COUNT(&pinned));
  return threads;
}

/// The PID namespace of this process; empty if unknown.
std::string process_namespace() {
  std::array<char, 64> name;
  const ssize_t length = ::readlink("/proc/self/ns/pid", name.data(), name.size());
  return {name.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

}  // namespace

/// Runs before anything that would differ between different programs.
void ProgramRun::check_launch() {
  if (!world_.has_mpi()) {
    if (const std::string missing = missing_instructions(); !missing.empty())
      throw RunError(launch_error({launch_facts(missing)}) + " [launch]", ExitCode::kUsage);
    return;
  }
  for (const std::string& facts : world_.access()->all_gather(encode(launch_facts(missing_instructions()))))
    launch_.push_back(decode_launch_facts(facts));
  if (const std::string error = launch_error(launch_); !error.empty())
    throw RunError(error + " [launch]", ExitCode::kUsage);
}

/// The plan depends on the number, so all ranks use rank 0's.
int ProgramRun::threads() {
  if (earlier_ != nullptr && earlier_->threads) return *earlier_->threads;
  std::string text = std::to_string(options_.threads.value_or(default_threads(world_, environment_)));
  world_.access()->broadcast(text, 0);
  const int threads = std::stoi(text);
  if (threads > kMostThreads)
    throw RunError("OMP_NUM_THREADS: a rank has at most " + std::to_string(kMostThreads) + " threads, not " + text +
                       " [bad-option]",
                   ExitCode::kUsage);
  if (earlier_ != nullptr) earlier_->threads = threads;
  return threads;
}

RunSetup ProgramRun::setup() {
  plan::PlanInputs plan;
  plan.ranks = world_.size();
  plan.ranks_per_node = world_.topology().ranks_per_node();
  plan.threads = threads();
  plan.tile = options_.tile;
  plan.node_grid = options_.node_grid;
  plan.memory = options_.memory_bytes.value_or(options_.dry_run ? std::numeric_limits<plan::Index>::max() : 0);
  plan.window = options_.window_bytes.value_or(0);
  plan.reproducible = options_.reproducible;
  plan.machine = machine();
  plan.settle_nodes();
  EngineOptions engine;
  engine.threads = plan.threads;
  engine.machine = plan.machine;
  engine.grain = environment_.delay_seed == 0 ? plan.machine.grain : 0;  // delays are for tests of concurrency
  engine.window_bytes = plan.window;
  limit_ = memory_limit(plan.threads);
  engine.memory_bytes = limit_.bytes > 0 ? limit_.bytes : options_.memory_bytes.value_or(0);
  engine.most_bytes = limit_.most;
  engine.memory_source = limit_.source;
  store_.limit(engine.memory_bytes);
  open_windows();
  engine.oversubscribed = environment_.oversubscribed || world_.topology().local_size * plan.threads > online_cores();
  engine.heartbeat = static_cast<double>(options_.heartbeat);
  engine.host = host_name();
  engine.delay_seed = environment_.delay_seed;
  if (options_.trace_file && !options_.dry_run) {
    trace_.emplace(world_, *options_.trace_file, engine.threads);
    engine.trace = &trace_->trace();
  }
  engine.place = [this](int line) { return info_.at(line); };
  const auto series = std::make_shared<SeriesList>();
  engine.report = [](const RunError& error) {
    silence_interrupts();
    unlink_temporaries();
    print_error(error);
  };
  engine.ended = [series] { std::fputs(series->kept_records().c_str(), stderr); };
  if (options_.check.any() && !options_.dry_run) {
    numbers_.emplace(options_.check, world_.rank());
    engine.watch = &*numbers_;
    const std::string inner = lines_text(info_, info_.inner_places());
    if (world_.rank() == 0 && !inner.empty()) {
      warn("--check does not see values of " + inner + ", which kernels compute on the way to others: tdslc build " +
           kSplitKernels + " lets it [check]");
    }
  }
  return {world_,
          store_,
          info_,
          options_,
          *inputs_,
          std::move(plan),
          std::move(engine),
          unfinished_outputs(),
          numbers_ ? &*numbers_ : nullptr,
          nullptr,
          series};
}

/// The least system limit over all ranks, unless --memory is smaller. --memory may exceed physical memory, but not a
/// configured limit.
RankMemory ProgramRun::memory_limit(int threads) {
  if (earlier_ != nullptr) {
    const auto known = earlier_->limits.find(threads);
    if (known != earlier_->limits.end()) return known->second;
  }
  rlimit addresses{};
  const bool bounded = ::getrlimit(RLIMIT_AS, &addresses) == 0 && addresses.rlim_cur != RLIM_INFINITY;
  const MemoryShare share{world_.topology().local_size, threads, environment_.slurm_node_memory,
                          bounded ? static_cast<std::int64_t>(addresses.rlim_cur) : 0, start_rss_};
  RankMemory limit = least_memory(world_.access()->all_gather(encode(rank_memory(read_system_file, share))));
  const bool counts = !options_.memory_bytes || (!limit.machine && limit.bytes < *options_.memory_bytes);
  if (!counts) limit = {};
  if (earlier_ != nullptr) earlier_->limits.emplace(threads, limit);
  return limit;
}

/// Without windows, blocks are sent.
void ProgramRun::open_windows() {
  if (!options_.shared_windows || options_.dry_run) return;
  if (earlier_ != nullptr)
    throw RunError("--shared-windows: not supported in a library [bad-option]", ExitCode::kUsage);
  std::string refused;
  if (auto windows = SharedWindows::open(world_, refused)) store_.share(std::move(windows));
  if (!refused.empty() && world_.rank() == 0) warn("--shared-windows has no effect: " + refused + " [launch]");
}

/// An unnamed file is reached through rank 0's descriptors, which are visible on its node only.
Unfinished ProgramRun::unfinished_outputs() {
  if (world_.size() == 1) return Unfinished::kUnnamed;
  if (options_.outputs.empty() || world_.topology().node_count > 1) return Unfinished::kNamed;
  const std::string mine = process_namespace();
  const std::vector<std::string> all = world_.access()->all_gather(mine);
  const bool alike =
      !mine.empty() && std::ranges::all_of(all, [&](const std::string& other) { return other == all.front(); });
  return alike ? Unfinished::kUnnamed : Unfinished::kNamed;
}

/// Every rank plans with rank 0's machine constants.
plan::Machine ProgramRun::machine() {
  if (earlier_ != nullptr && earlier_->machine) return *earlier_->machine;
  std::string text;
  on_first_rank(world_, {&text}, [&] {
    plan::Machine constants = load_machine(environment_);
    if (world_.size() > 1) price_writes(constants, options_.outputs);
    text = plan::machine_text(constants);
  });
  plan::Machine all = plan::parse_machine(text);
  if (earlier_ != nullptr) earlier_->machine = all;
  return all;
}

/// Prints to standard error and stores the text for --stats.
void ProgramRun::warn(const std::string& text) {
  warnings_.push_back(text);
  if (!options_.quiet) std::fprintf(stderr, "warning: %s\n", text.c_str());
}

/// Prints one line in a job's log or on a terminal, and a warning where the launcher has pinned ranks badly. Returns
/// whether all processors are identical.
bool ProgramRun::report_cores(int threads) {
  if (world_.size() == 1 && !world_.has_mpi()) return true;
  std::vector<RankCores> ranks;
  for (const std::string& cores : world_.access()->all_gather(encode(cores_of_this_process())))
    ranks.push_back(decode_cores(cores));
  const bool alike = equal_processors(ranks);
  if (world_.rank() != 0) return alike;
  for (const std::string& warning : launch_warnings(launch_, environment_, threads, command_))
    warn(warning + " [launch]");
  start_up_.push_back(cores_line(ranks, threads) + "; " + mpi_name());
  if (environment_.oversubscribed) return alike;
  const bool said = options_.threads || environment_.omp_num_threads;
  const int wanted = said ? threads : std::max(threads, environment_.slurm_cpus_per_task.value_or(1));
  const std::string warning = placement_warning(ranks, wanted, environment_.launcher, command_);
  if (!options_.quiet && (!warning.empty() || environment_.slurm_job || ::isatty(STDERR_FILENO) != 0)) {
    std::fprintf(stderr, "%s: %s\n", info_.declaration().name.c_str(), start_up_.back().c_str());
  }
  if (!warning.empty()) warn(warning + " [placement]");
  return alike;
}

}  // namespace tdsl::rt

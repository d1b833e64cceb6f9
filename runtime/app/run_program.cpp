#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "runtime/app/cores.h"
#include "runtime/app/count_check.h"
#include "runtime/app/environment.h"
#include "runtime/app/instructions.h"
#include "runtime/app/launch_check.h"
#include "runtime/app/life_sign.h"
#include "runtime/app/machine_file.h"
#include "runtime/app/memory_kills.h"
#include "runtime/app/number_format.h"
#include "runtime/app/run_program_signals.h"
#include "runtime/app/session_impl.h"
#include "runtime/app/session_inputs.h"
#include "runtime/app/statistics.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/temporaries.h"
#include "runtime/io/temporary_name.h"
#include "runtime/io/text_file.h"
#include "runtime/kernels/blas_call.h"
#include "runtime/plan/region/plan_request.h"
#include "runtime/record/start.h"

namespace tdsl::rt {

namespace {

/// Seconds since the last look.
class StopWatch {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

void print_error(const RunError& error) {
  std::fflush(stdout);
  std::fprintf(stderr, "%s\n", error.what());
  std::fflush(stderr);
}

/// Threads per rank unless --threads says: what the job gives a task, or this rank's share of the node's cores; no more than the
/// cores it is pinned to.
int default_threads(const World& world, const Environment& environment) {
  if (environment.omp_num_threads) return *environment.omp_num_threads;
  const int cores = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  int threads = std::max(1, cores / world.topology().local_size);
  if (environment.slurm_cpus_per_task) threads = std::min(threads, *environment.slurm_cpus_per_task);
  cpu_set_t pinned;
  CPU_ZERO(&pinned);
  if (::sched_getaffinity(0, sizeof pinned, &pinned) == 0) threads = std::min(threads, CPU_COUNT(&pinned));
  return threads;
}

/// The processes this one can see, as the system names them; empty if it does not say.
std::string process_namespace() {
  std::array<char, 64> name;
  const ssize_t length = ::readlink("/proc/self/ns/pid", name.data(), name.size());
  return {name.data(), static_cast<std::size_t>(std::max<ssize_t>(length, 0))};
}

/// Everything from options to exit code, on a rank that is up.
class ProgramRun {
 public:
  ProgramRun(World& world, const Environment& environment, const ProgramInfo& info, const std::function<void(Session&)>& program, double start_seconds)
      : world_(world), environment_(environment), info_(info), program_(program) {
    phases_.start = start_seconds;
  }

  /// The words of the command line.
  int operator()(std::span<const std::string> command) {
    command_ = shown_command(command);
    const std::span<const std::string> arguments = command.subspan(1);
    try {
      check_launch();
      options_ = parse_options(info_.declaration(), arguments);
      if (options_.help || options_.version) {
        describe();
        return 0;
      }
      if (world_.rank() == 0 && !options_.dry_run) {
        for (const auto& [name, path] : options_.outputs) remove_leftovers(path);
      }
      inputs_.emplace(world_, info_, options_);
    } catch (const RunError& error) {  // the same on every rank
      return end_alike(error);
    }
    phases_.read = watch_.lap();
    return run();
  }

 private:
  void check_launch();
  void describe();
  [[nodiscard]] int end_alike(const RunError& error);
  [[nodiscard]] RunSetup setup();
  [[nodiscard]] Unfinished unfinished_outputs();
  [[nodiscard]] plan::Machine machine();
  [[nodiscard]] bool report_cores(int threads);
  int run();
  void compare_counts(const EngineSink& sink);
  [[nodiscard]] bool plans_as_asked() const;
  [[nodiscard]] plan::PlanRequest plan_request() const;
  [[nodiscard]] std::string find_plan(Execution& execution);
  void survey(Execution& execution);
  void execute(Execution& execution);
  void write_statistics(const EngineSink& sink);
  void write_file(const std::string& path, const std::string& text);

  World& world_;
  const Environment& environment_;
  const ProgramInfo& info_;
  const std::function<void(Session&)>& program_;
  std::string command_;
  std::vector<LaunchFacts> launch_;  ///< of all ranks; empty without a launcher
  AppOptions options_;
  std::optional<SessionInputs> inputs_;
  std::optional<SurveyFacts> survey_;
  Store store_;
  StopWatch watch_;
  Phases phases_;
  plan::Index start_rss_ = peak_rss();
};

/// Before anything that different programs would do differently.
void ProgramRun::check_launch() {
  if (!world_.uses_mpi()) {
    if (const std::string missing = missing_instructions(); !missing.empty()) throw RunError(launch_error({launch_facts(missing)}), ExitCode::kUsage);
    return;
  }
  const std::string mine = encode(launch_facts(missing_instructions()));
  for (const std::vector<std::byte>& bytes : world_.access().all_gather(std::as_bytes(std::span(mine)))) {
    launch_.push_back(decode_launch_facts({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  if (const std::string error = launch_error(launch_); !error.empty()) throw RunError(error, ExitCode::kUsage);
}

/// Rank 0 answers --help or --version; a failure is everybody's.
void ProgramRun::describe() {
  std::string error;
  if (world_.rank() == 0) {
    try {
      write_text(options_.help ? help_text(info_.declaration()) : info_.declaration().version + "\n");
    } catch (const RunError& e) {
      error = e.what();
    }
  }
  world_.access().broadcast(error, 0);
  if (!error.empty()) throw RunError(error);
}

/// An error that is the same on every rank.
int ProgramRun::end_alike(const RunError& error) {
  silence_interrupts();
  if (world_.rank() == 0) print_error(error);
  // mpirun comments on ranks that leave by themselves with another code than 0.
  const bool aborts = world_.size() > 1 && environment_.launcher == Launcher::kMpirun;
  if (aborts) world_.fall_silent();
  if (world_.size() > 1) world_.access().barrier();
  if (aborts) world_.abort_all(error.exit_code());
  return error.exit_code();
}

RunSetup ProgramRun::setup() {
  // The plan depends on the thread count, so all ranks take rank 0's.
  std::string threads = std::to_string(options_.threads.value_or(default_threads(world_, environment_)));
  world_.access().broadcast(threads, 0);
  plan::PlanInputs plan;
  plan.ranks = world_.size();
  plan.ranks_per_node = world_.topology().ranks_per_node();
  plan.threads = std::stoi(threads);
  if (plan.threads > kMostThreads)
    throw RunError("OMP_NUM_THREADS: a rank has at most " + std::to_string(kMostThreads) + " threads, not " + threads, ExitCode::kUsage);
  plan.tile = options_.tile;
  plan.memory = options_.memory_bytes.value_or(options_.dry_run ? std::numeric_limits<plan::Index>::max() : 0);
  plan.window = options_.window_bytes.value_or(0);
  plan.reproducible = options_.reproducible;
  plan.machine = machine();
  plan.settle_nodes();
  EngineOptions engine;
  engine.threads = plan.threads;
  engine.window_bytes = plan.window;
  engine.memory_bytes = options_.memory_bytes.value_or(0);
  engine.oversubscribed =
      environment_.oversubscribed || world_.topology().local_size * plan.threads > static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  engine.delay_seed = environment_.delay_seed;
  engine.place = [this](int line) { return info_.at(line); };
  engine.report = [](const RunError& error) {
    silence_interrupts();
    unlink_temporaries();
    print_error(error);
  };
  return {world_, store_, info_, options_, *inputs_, std::move(plan), std::move(engine), unfinished_outputs()};
}

/// A file without a name is reached through rank 0's descriptors, which are seen on its machine only.
Unfinished ProgramRun::unfinished_outputs() {
  if (world_.size() == 1) return Unfinished::kUnnamed;
  if (options_.outputs.empty() || world_.topology().node_count > 1) return Unfinished::kNamed;
  const std::string mine = process_namespace();
  const auto all = world_.access().all_gather(std::as_bytes(std::span(mine)));
  const bool alike = !mine.empty() && std::ranges::all_of(all, [&](const std::vector<std::byte>& other) { return other == all.front(); });
  return alike ? Unfinished::kUnnamed : Unfinished::kNamed;
}

/// Every rank plans with rank 0's constants.
plan::Machine ProgramRun::machine() {
  std::string text;
  std::string error;
  if (world_.rank() == 0) {
    try {
      text = plan::machine_text(load_machine(environment_));
    } catch (const RunError& e) {
      error = e.what();
    }
  }
  world_.access().broadcast(error, 0);
  if (!error.empty()) throw RunError(error);
  world_.access().broadcast(text, 0);
  return plan::parse_machine(text);
}

/// One line in a job's log or on a terminal; a warning wherever the launcher has pinned ranks badly. Returns whether all processors are equal.
bool ProgramRun::report_cores(int threads) {
  if (world_.size() == 1 && !world_.uses_mpi()) return true;
  const std::string mine = encode(cores_of_this_process());
  std::vector<RankCores> ranks;
  for (const std::vector<std::byte>& bytes : world_.access().all_gather(std::as_bytes(std::span(mine)))) {
    ranks.push_back(decode_cores({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
  }
  const bool alike = equal_processors(ranks);
  if (world_.rank() != 0 || options_.quiet) return alike;
  for (const std::string& warning : launch_warnings(launch_, environment_, threads, command_)) std::fprintf(stderr, "warning: %s [launch]\n", warning.c_str());
  if (environment_.oversubscribed) return alike;
  const bool said = options_.threads || environment_.omp_num_threads;
  const int wanted = said ? threads : std::max(threads, environment_.slurm_cpus_per_task.value_or(1));
  const std::string warning = placement_warning(ranks, wanted, environment_.launcher, command_);
  if (!warning.empty() || environment_.slurm_job || ::isatty(STDERR_FILENO) != 0) {
    std::fprintf(stderr, "%s: %s\n", info_.declaration().name.c_str(), cores_line(ranks, threads).c_str());
  }
  if (!warning.empty()) std::fprintf(stderr, "warning: %s [placement]\n", warning.c_str());
  return alike;
}

int ProgramRun::run() {
  std::unique_ptr<Execution> owned;
  try {
    owned = std::make_unique<Execution>(setup());
    owned->setup.plan_inputs.alike = report_cores(owned->setup.plan_inputs.threads);
    const bool written = options_.stats_file || options_.plan_file;
    if (kChecksCounts || written) owned->sink.enable_predictions(written && options_.reproducible);
    survey(*owned);
  } catch (const RunError& error) {  // the same on every rank
    return end_alike(error);
  }
  Execution& execution = *owned;
  EngineSink& sink = execution.sink;
  bool reported = true;
  try {
    sink.engine().run([&] { execute(execution); });
    reported = false;
    phases_.plan += sink.planning_seconds();
    phases_.compute = watch_.lap() - sink.planning_seconds();
    sink.commit_outputs();
    phases_.write = watch_.lap();
    if (kChecksCounts && !options_.dry_run) compare_counts(sink);
    write_statistics(sink);
    return 0;
  } catch (const RunError& error) {
    silence_interrupts();
    if (!reported && world_.rank() == 0) print_error(error);
    unlink_temporaries();
    // Messages may be under way: MPI cannot be ended in good order any more.
    if (world_.size() > 1) world_.abort_all(error.exit_code());
    return error.exit_code();
  }
}

/// Every rank by itself.
void ProgramRun::compare_counts(const EngineSink& sink) {
  try {
    check_counts(sink.predictions(), sink.engine().statistics(), [&](int line) { return info_.at(line); });
  } catch (const RunError& error) {
    if (world_.rank() != 0) print_error(error);
    throw;
  }
}

/// Something about the plan is asked for by name.
bool ProgramRun::plans_as_asked() const { return options_.use_plan_file || options_.save_plan_file || !options_.place.empty(); }

plan::PlanRequest ProgramRun::plan_request() const {
  plan::PlanRequest request;
  request.program = info_.declaration().name;
  request.schedule = options_.schedule;
  if (options_.use_plan_file) request.use = plan::PlanFile{*options_.use_plan_file, read_text_file(*options_.use_plan_file)};
  request.place = options_.place;
  return request;
}

/// On rank 0: what the program will record, and the text of its plan; none if every operation is planned by itself.
std::string ProgramRun::find_plan(Execution& execution) {
  const record::Recording program = [&](record::Recorder& recorder, record::Control& control) {
    Session::Impl impl{execution.setup, recorder, control, nullptr};
    Session session(impl);
    program_(session);
  };
  plan::PlanInputs inputs = execution.setup.plan_inputs;
  if (!options_.memory_bytes) inputs.memory = 0;  // a dry run plans as the run will
  const record::Start start = record::start_of(program, inputs, plan_request());
  survey_ = {start.region.hash, start.region.ops.size(), start.region.whole};
  execution.sink.expect(start.region);
  for (const std::string& warning : start.plans.warnings) {
    if (!options_.quiet) std::fprintf(stderr, "warning: %s [plan]\n", warning.c_str());
  }
  // Before the program runs: a plan is of use also where the run fails, and what cannot be written is known at once.
  if (options_.save_plan_file) write_text_file(*options_.save_plan_file, plan::print(start.saved));
  return start.plan == nullptr ? std::string() : plan::print(*start.plan);
}

/// Rank 0 finds the plan; all ranks plan as it says.
void ProgramRun::survey(Execution& execution) {
  if (world_.size() == 1 && !plans_as_asked() && !info_.has_choices()) return;
  std::string text, error;
  std::string code = "0";
  if (world_.rank() == 0) {
    try {
      text = find_plan(execution);
    } catch (const RunError& e) {
      error = e.what();
      code = std::to_string(e.exit_code());
    } catch (const std::exception& e) {
      error = "internal error of the runtime, please report it: the whole program could not be planned: " + std::string(e.what());
      code = std::to_string(static_cast<int>(ExitCode::kRunTime));
    }
  }
  world_.access().broadcast(error, 0);
  world_.access().broadcast(code, 0);
  if (!error.empty()) throw RunError(error, static_cast<ExitCode>(std::stoi(code)));
  world_.access().broadcast(text, 0);
  if (!text.empty()) {
    const auto plan = std::make_shared<const plan::PlanValue>(plan::parse_plan(text));
    execution.control.set_forms({plan->forms});
    if (!plan->at.empty()) execution.sink.impose(std::make_unique<plan::ImposedPlan>(plan));
  }
  phases_.plan += watch_.lap();
}

void ProgramRun::execute(Execution& execution) {
  Session session(execution.impl);
  bool complete = true;
  try {
    program_(session);
    execution.finish();
  } catch (const DryRunOver&) {
    complete = false;
  } catch (const ProgramError&) {
    // What the program printed before comes first. Every rank fails here, so all of them can complete it.
    execution.complete();
    throw;
  }
  if (!options_.dry_run || options_.quiet || world_.rank() != 0) return;
  const plan::Index needed = execution.sink.planner().needed_memory().bytes;
  write_text("dry run" + std::string(complete ? "" : ", up to the first decision that depends on data") + ": a rank needs " +
             format_bytes(needed) + " for blocks at least (--memory " + std::to_string(needed) + ")\n");
}

void ProgramRun::write_statistics(const EngineSink& sink) {
  if (!options_.stats_file && !options_.plan_file) return;
  RankStatistics mine;
  mine.sites = sink.engine().statistics();
  mine.predictions = sink.predictions();
  mine.traffic = world_.total_traffic();
  phases_.total = phases_.start + phases_.read + phases_.plan + phases_.compute + phases_.write;
  mine.phases = phases_;
  mine.peak_block_bytes = store_.peak_bytes();
  mine.start_rss_bytes = start_rss_;
  mine.peak_rss_bytes = peak_rss();
  mine.blocks_at_exit = sink.engine().live_blocks();
  mine.silence = sink.engine().silence();
  mine.packed_bytes = sink.engine().packed_bytes();
  mine.baseline = sink.baseline_cost();
  const plan::PlanInputs& inputs = sink.planner().inputs();
  if (survey_) survey_->unsurveyed = sink.unsurveyed();
  const RunDescription run{info_.declaration().name, sink.planner().hash(), survey_, inputs.ranks_per_node, inputs.threads, inputs.machine};
  if (options_.stats_file) write_file(*options_.stats_file, statistics_json(world_, run, mine));
  mine.measured = false;
  if (options_.plan_file) write_file(*options_.plan_file, statistics_json(world_, run, mine));
}

/// Rank 0 writes; a failure is everybody's.
void ProgramRun::write_file(const std::string& path, const std::string& text) {
  std::string error;
  if (world_.rank() == 0) {
    try {
      write_text_file(path, text);
    } catch (const RunError& e) {
      error = e.what();
    }
  }
  world_.access().broadcast(error, 0);
  if (!error.empty()) throw RunError(error);
}

/// From here on the program speaks for itself.
void announce_start(const Environment& environment) {
  if (environment.session_folder) std::ofstream(*environment.session_folder + "/started") << '\n';
}

}  // namespace

int run_program(int argc, char** argv, const ProgramInfo& info, const std::function<void(Session&)>& program) {
  StopWatch watch;
  const std::vector<std::string> command(argv, argv + argc);
  Environment environment = read_environment();
  environment.trusted |= mpi_takes_pmi();
  if (environment.simd) limit_simd_level(*environment.simd);
  blas::prepare();
  open_standard_streams();
  handle_interrupts();
  const Launch launch = classify_launch(environment);
  if (launch == Launch::kLaunched) end_with_launcher();
  try {
    if (launch == Launch::kRefused) throw LaunchError(refused_launch_message(environment, shown_command(command)));
    drop(unusable_transports(environment));
    std::optional<LifeSign> sign;  // until MPI has ended
    World world(environment);
    if (environment.session_folder) sign.emplace(*environment.session_folder, world.rank());
    name_temporaries(environment.slurm_job.value_or(""), world.rank());
    if (world.rank() == 0) announce_start(environment);
    if (world.rank() == 0 && !environment.silent_interrupt) announce_interrupts();
    if (world.size() > 1 && !environment.silent_interrupt) {
      watch_memory_kills(environment.slurm_job.value_or("") + "-" + environment.pmix_namespace);
      announce_memory_kills();
    }
    return ProgramRun(world, environment, info, program, watch.lap())(command);
  } catch (const LaunchError& error) {
    if (environment.launch_rank == 0) print_error(error);
    announce_start(environment);
    return error.exit_code();
  } catch (const RunError& error) {
    print_error(error);
    announce_start(environment);
    return error.exit_code();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "internal error of the runtime, please report it: %s\n", error.what());
    return static_cast<int>(ExitCode::kRunTime);
  }
}

}  // namespace tdsl::rt

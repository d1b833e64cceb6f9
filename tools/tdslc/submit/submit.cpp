#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <thread>

#include "runtime/app/options/options.h"
#include "tools/build/interrupts.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/job/elements.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/slurm.h"
#include "tools/tdslc/job/text.h"
#include "tools/tdslc/streams.h"
#include "tools/tdslc/submit/job_estimate.h"
#include "tools/tdslc/submit/site_file.h"

namespace tdsl::tools {

namespace {

/// The elements' options, parsed by the program's own parser. Throws rt::RunError like the executable.
std::vector<rt::AppOptions> parsed_elements(const std::vector<SweepElement>& elements, const ir::Program& program) {
  const rt::ProgramDeclaration declared = declaration_of(program);
  std::vector<rt::AppOptions> parsed;
  for (const SweepElement& element : elements) {
    parsed.push_back(rt::parse_options(declared, element.arguments));
    if (parsed.back().help || parsed.back().version) throw UsageError("submit: --help and --version need no job");
  }
  return parsed;
}

/// Detects folder problems that would otherwise end the job after its time in the queue.
void check_folders(const ElementFiles& files) {
  for (const auto& [option, file] : files.written) {
    if (option == "checkpoint" && std::filesystem::is_directory(file) && ::access(file.c_str(), W_OK | X_OK) == 0)
      continue;
    const std::string folder = std::filesystem::path(file).parent_path().string();
    if (::access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) continue;
    throw UsageError(fmt::format("--{} {}: no file can be written there", option, file));
  }
}

JobWishes wishes_of(const CommandLine& line, const rt::AppOptions& options) {
  JobWishes wishes;
  wishes.ranks = line.ranks;
  wishes.nodes = line.job.nodes;
  if (options.threads) wishes.threads = *options.threads;
  wishes.rank_memory = options.memory_bytes;
  wishes.rank_memory_text = options.memory_text;
  wishes.node_memory_text = line.job.memory;
  if (!line.job.memory.empty()) wishes.node_memory = rt::parse_bytes(line.job.memory, "--mem");
  if (!line.job.time.empty()) {
    wishes.seconds = seconds_in(line.job.time);
    if (wishes.seconds.value_or(0) == 0)
      throw UsageError(fmt::format(
          "--time {}: a time as Slurm takes it is expected, such as 90, 12:00:00 or 2-00:00:00", line.job.time));
  }
  wishes.checkpoints = line.job.checkpoint;
  return wishes;
}

/// A size on which every planned element fits.
JobSize size_of(const CommandLine& line, const Front& front, const codegen::OperationProgram& operations,
                const ScriptRequest& request, const PlannedElements& planned, const JobWishes& wishes) {
  std::vector<JobEstimator> estimators;
  for (const std::size_t k : planned.elements) {
    CommandLine one = line;
    one.program_arguments = request.elements[k].arguments;
    estimators.push_back(estimator_of(one, front, operations, request.site, line.job.iterations));
  }
  const JobEstimator estimate = [&](const JobShape& shape, std::int64_t limit) {
    JobEstimate most = estimators.front()(shape, limit);
    for (std::size_t k = 1; k < estimators.size(); ++k) most = greater_of(most, estimators[k](shape, limit));
    return most;
  };
  return size_job(request.site, wishes, estimate);
}

std::string file_bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream bytes;
  bytes << in.rdbuf();
  return std::move(bytes).str();
}

/// Refuses to replace files that are not scripts of `submit`.
void check_replaceable(const std::string& script) {
  std::ifstream in(script);
  std::string first, second;
  if (!in || !std::getline(in, first)) return;
  std::getline(in, second);
  if (second.find(kScriptSign) == std::string::npos)
    throw UsageError(fmt::format("{} exists and was not written by tdslc submit: use --script FILE", script));
}

codegen::ProcessResult run_command(const std::vector<std::string>& command) {
  return codegen::run_process({.command = command, .capture = true});
}

/// Follows the job's log; returns its exit code.
int follow(const std::string& job) {
  JobFollower follower(
      run_command, job,
      [](std::string_view text) {
        fmt::print("{}", text);
        std::fflush(stdout);
      },
      [](std::string_view text) { print_error(std::string(text)); });
  using namespace std::chrono_literals;
  for (std::chrono::milliseconds pause = 500ms; !follower.look();
       pause = std::min<std::chrono::milliseconds>(pause * 5 / 4, 10s)) {
    for (auto left = pause; left > 0ms; left -= 500ms) {
      std::this_thread::sleep_for(std::min<std::chrono::milliseconds>(left, 500ms));
      follower.read_logs();
    }
  }
  std::this_thread::sleep_for(300ms);  // files written by other nodes may become visible late
  follower.read_logs();
  return follower.exit_code();
}

}  // namespace

int submit(const CommandLine& line) {
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  const Site site = site_of(line, toolchain);
  std::vector<Sweep> sweeps;
  for (const std::string& text : line.job.sweeps) sweeps.push_back(parse_sweep(text));
  ScriptRequest request;
  request.site = site;
  request.elements = sweep_elements(sweeps, line.program_arguments);

  Front front;
  compile_front(line, {}, front);
  const std::vector<rt::AppOptions> options = parsed_elements(request.elements, front.graph);
  check_options(options, line.job.checkpoint);
  std::vector<ElementFiles> files;
  for (const rt::AppOptions& o : options) files.push_back(files_of(o));
  check_files(request.elements, files);
  for (const ElementFiles& f : files) check_folders(f);

  request.source = line.program;
  request.name = program_name(line.program);
  const std::string executable = line.output.empty() ? request.name : line.output;
  request.executable = executable.find('/') == std::string::npos ? "./" + executable : executable;
  const std::string script = line.job.script.empty() ? request.name + ".sbatch" : line.job.script;
  rt::RunFiles own_files = kept_files(front);
  own_files.write("-o", executable);
  own_files.write_text("--script", script);
  for (const rt::AppOptions& element : options) rt::RunFiles(own_files).add(element);
  check_replaceable(script);
  link_own_functions(line, front);
  const codegen::OperationProgram operations = lower(front);
  std::set<std::string> outputs;
  for (const auto& [name, file] : options.front().outputs) outputs.insert(name);
  const PlannedElements planned = planned_elements(request.elements, outputs);
  request.kinds = planned.kinds;
  request.planned = planned.elements.size();
  request.size = size_of(line, front, operations, request, planned, wishes_of(line, options.front()));
  request.root = ::geteuid() == 0;
  request.spill_given = options.front().spill.has_value();
  if (line.job.checkpoint) request.checkpoint = request.name;
  const codegen::CompiledProgram program = compile_lowered(line, toolchain, front, operations);
  request.checksum = posix_checksum(file_bytes(program.path));
  const std::string text = script_text(request);
  if (line.job.dry_run) {
    fmt::print("{}", text);
    return 0;
  }
  if (const std::string warning = replacement_warning(request.executable, request.checksum); !warning.empty())
    print_error(warning + "\n");
  codegen::install_executable(program.path, executable);
  codegen::write_text(script, text);
  codegen::say_when_interrupted("interrupted; `squeue --me` says whether the job was submitted\n");
  const std::string job = submit_script(run_command, script);
  codegen::say_when_interrupted(fmt::format("job {0} goes on; `scancel {0}` ends it\n", job));
  print_error(fmt::format("job {}: {} was submitted; its log is {}\n", job, script, log_name(request, job)));
  if (line.job.wait) return follow(job);
  fmt::print("{}\n", job);
  return 0;
}

}  // namespace tdsl::tools

#include "tools/tdslc/setup/overheads.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tools/build/compile.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/launcher.h"

namespace tdsl::tools {

namespace {

/// Every iteration depends on the other rank's previous result.
constexpr const char* kIterations = R"(param steps: i64 = 1000;
let A = ones(2, 2) / 2.0;
var x = ones(2);
for k in 0..steps { x = A @ x; }
output c = sum(x);
)";
/// With these constants a plan distributes even the smallest work.
constexpr const char* kSharing = "latency = 1e-12\nexchange_overhead = 1e-12\ntask_overhead = 1e-12\nflop_rate = 1\n";
constexpr int kSteps = 1000;
constexpr int kRuns = 3;

struct Iteration {
  double seconds = 0;
  double tasks = 0;  ///< per rank
};

/// The program's executable, and the files of its runs.
class SmallSteps {
 public:
  SmallSteps()
      : toolchain_(codegen::read_toolchain(codegen::find_prefix())),
        folder_({(std::filesystem::temp_directory_path() / "tdsl-doctor-").string()}) {
    if (folder_.path().empty()) throw std::runtime_error("cannot make a temporary folder");
    CommandLine line;
    line.command = Command::kBuild;
    line.program = file("iterations.tdsl");
    line.disabled_passes = {"serial_loops"};  // otherwise the loop would be a single task
    codegen::write_text(line.program, kIterations);
    codegen::write_text(file("machine.conf"), kSharing);
    executable_ = build_program(line, toolchain_).path;
  }

  /// The fastest of several runs.
  [[nodiscard]] Iteration on(int ranks) {
    Iteration best = run(ranks);
    for (int k = 1; k < kRuns; ++k) {
      const Iteration other = run(ranks);
      if (other.seconds < best.seconds) best = other;
    }
    return best;
  }

 private:
  [[nodiscard]] std::string file(const std::string& name) const {
    return (std::filesystem::path(folder_.path()) / name).string();
  }

  [[nodiscard]] Iteration run(int ranks) {
    const std::string figures = file("stats.json");
    std::vector<std::string> command;
    if (ranks > 1) command = launcher_command(toolchain_, ranks, false);
    command.insert(command.end(), {executable_, "--threads", "1", "--quiet", "--steps", std::to_string(kSteps), "--c",
                                   file("c.npy"), "--stats", figures});
    if (ranks > 1) command.insert(command.end(), {"--tile", "1"});
    codegen::WorkFolder session(session_folders(false));
    std::vector<std::pair<std::string, std::string>> environment = session_variables(session);
    environment.emplace_back("TDSL_MACHINE", file("machine.conf"));
    const codegen::ProcessResult result = codegen::run_process(
        {.command = command, .environment = environment, .capture = true, .folder = &session, .launcher = ranks > 1});
    if (result.exit_code != 0)
      throw std::runtime_error(
          fmt::format("a program of small steps ended with {} on {} ranks", result.exit_code, ranks));
    std::ifstream in(figures);
    const nlohmann::json told = nlohmann::json::parse(in);
    double tasks = 0;
    for (const auto& statement : told.at("statements")) tasks += statement.at("measured").at("tasks").get<double>();
    const auto& phases = told.at("phases");
    return {(phases.at("plan").get<double>() + phases.at("compute").get<double>()) / kSteps, tasks / ranks / kSteps};
  }

  codegen::Toolchain toolchain_;
  codegen::WorkFolder folder_;
  std::string executable_;
};

}  // namespace

Overheads measure_overheads(double latency) {
  Overheads found;
  try {
    SmallSteps program;
    const Iteration alone = program.on(1);
    found.task = alone.seconds / alone.tasks;
    const Iteration shared = program.on(2);
    found.exchange = std::max(shared.seconds - shared.tasks * found.task - latency, latency);
  } catch (const ProgramErrors&) {
    found.trouble = "a program of small steps does not compile";
  } catch (const std::exception& error) { found.trouble = error.what(); }
  return found;
}

double measure_wake_up() {
  constexpr int kRounds = 200;
  const auto seconds = [] {
    std::mutex mutex;
    std::condition_variable wake;
    int turn = 0;
    const auto take_turns = [&](int mine) {
      for (int k = 0; k < kRounds; ++k) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return turn % 2 == mine; });
        ++turn;
        wake.notify_one();
      }
    };
    const auto begin = std::chrono::steady_clock::now();
    std::thread other([&] { take_turns(1); });
    take_turns(0);
    other.join();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  double best = seconds();
  for (int k = 1; k < kRuns; ++k) best = std::min(best, seconds());
  return best / (2 * kRounds);
}

}  // namespace tdsl::tools

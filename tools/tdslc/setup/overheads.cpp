#include "tools/tdslc/setup/overheads.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/measured_program.h"

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

class SmallSteps {
 public:
  SmallSteps()
      : program_("iterations", kIterations, "c", {"serial_loops"}) {}  // otherwise the loop would be a single task

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
  [[nodiscard]] Iteration run(int ranks) {
    std::vector<std::string> options = {"--steps", std::to_string(kSteps), "--no-replay"};
    if (ranks > 1) options.insert(options.end(), {"--tile", "1"});
    const nlohmann::json told = program_.run(ranks, options, kSharing);
    double tasks = 0;
    for (const auto& statement : told.at("statements")) tasks += statement.at("measured").at("tasks").get<double>();
    const auto& phases = told.at("phases");
    return {(phases.at("plan").get<double>() + phases.at("compute").get<double>()) / kSteps, tasks / ranks / kSteps};
  }

  MeasuredProgram program_;
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

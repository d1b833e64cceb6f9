// Jobs with several elements, and programs with loops: planning, rejected options, duration of iterations.
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "tests/unit/temporary_folder.h"
#include "tools/build/interrupts.h"
#include "tools/tdslc/job/elements.h"
#include "tools/tdslc/job/loops.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/size.h"

using namespace tdsl;
using namespace tdsl::tools;
using tdsl::codegen::testing::TemporaryFolder;

namespace {

std::string refusal_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const rt::RunError& error) { return error.what(); }
  return {};
}

struct Statement {
  int line;
  std::vector<double> weights;  ///< of its first iteration and of the middle one
  double seconds;
};

/// Every statement is a site; the one on line 1 is loaded once.
std::vector<LoopPart> parts_of_loops(const std::vector<Statement>& statements) {
  plan::Region region;
  for (std::size_t k = 0; k < statements.size(); ++k) {
    for (const double weight : statements[k].weights) {
      plan::RegionOp recorded;
      recorded.op.site = static_cast<int>(k);
      recorded.op.line = statements[k].line;
      recorded.weight = weight;
      region.ops.push_back(recorded);
    }
  }
  const auto seconds_of = [&](const plan::Region& priced) {
    double seconds = 0;
    for (const plan::RegionOp& recorded : priced.ops) {
      const Statement& statement = statements[static_cast<std::size_t>(recorded.op.site)];
      seconds += (statement.line == 1 ? 1 : recorded.weight) * statement.seconds;
    }
    return seconds;
  };
  return loop_parts(region, seconds_of(region), seconds_of);
}

Site small_site() {
  Site site;
  site.nodes = 4;
  site.cores = 8;
  site.sockets = 1;
  site.memory = std::int64_t{8} << 30;
  return site;
}

}  // namespace

TEST_CASE("an iteration has the body of a loop and its condition, and the longest one counts") {
  // The condition of a `while` is evaluated once more than its body.
  const std::vector<LoopPart> condition = parts_of_loops({{1, {1}, 7}, {3, {1, 10}, 0.16}, {4, {1, 9}, 540}});
  REQUIRE(condition.size() == 1);
  CHECK(longest_iteration(condition) == doctest::Approx(540.16));
  CHECK(loop_text(condition) == "10 iterations of lines 3 to 4, 9 min each");
  // Here the outer loop's own statements take longer than the inner loop.
  const std::vector<LoopPart> nested = parts_of_loops({{2, {1}, 5000}, {4, {1, 9}, 300}, {5, {1, 999}, 2}});
  REQUIRE(nested.size() == 2);
  CHECK(longest_iteration(nested) == doctest::Approx(300));
  CHECK(loop_text(nested) == "10 iterations of line 4, 5 min each");
  CHECK(parts_of_loops({{2, {1}, 5000}}).empty());
  CHECK(loop_text({}).empty());
  CHECK(longest_iteration({}) == 0);
  CHECK(loop_text(parts_of_loops({{0, {20}, 60}, {0, {22}, 30}})) == "a loop runs 20 times, 60 s each");
}

TEST_CASE("elements that differ in what sizes depend on are planned") {
  const std::set<std::string> outputs{"w"};
  const auto planned = [&](const std::vector<Sweep>& sweeps, const std::vector<std::string>& arguments) {
    return planned_elements(sweep_elements(sweeps, arguments), outputs);
  };
  Sweep seed{"seed", {}};
  for (int k = 0; k < 16; ++k) seed.values.push_back(fmt::format("{}", k));
  const PlannedElements sizes = planned({seed, {"n", {"100", "12000"}}}, {"--w", "w-{seed}-{n}.npy"});
  CHECK(sizes.elements == std::vector<std::size_t>{0, 1});
  CHECK(sizes.kinds == 2);
  CHECK(planned({seed}, {"--w=w-{seed}.npy", "--stats", "s-{seed}"}).elements.size() == 1);
  CHECK(planned({seed}, {"--X", "x-{seed}.npy"}).kinds == 16);  // different files have different sizes
  CHECK(planned({}, {}).elements == std::vector<std::size_t>{0});
  Sweep many{"n", {}};
  for (int k = 0; k < 100; ++k) many.values.push_back(fmt::format("{}", k));
  const PlannedElements some = planned({many}, {});
  CHECK(some.kinds == 100);
  REQUIRE(some.elements.size() == kMostPlanned);
  CHECK(some.elements.front() == 0);
  CHECK(some.elements.back() == 99);
}

TEST_CASE("what elements cannot have each for itself is refused") {
  rt::AppOptions a, b;
  a.threads = 2, b.threads = 4;
  CHECK(refusal_of([&] { check_options({a, b}, false); }).find("cannot differ in --threads") != std::string::npos);
  b.threads = 2;
  check_options({a, b}, true);
  b.memory_bytes = 4096;
  CHECK(refusal_of([&] { check_options({a, b}, false); }).find("cannot differ in --memory") != std::string::npos);
  a.memory_bytes = 4096;
  a.checkpoint_directory = b.checkpoint_directory = "ck/";
  check_options({a, b}, false);
  CHECK(refusal_of([&] {
          check_options({a, b}, true);
        }) ==
        "submit --checkpoint gives the program --checkpoint and --resume: leave out --checkpoint behind `--` "
        "[bad-option]");
  const std::vector<SweepElement> elements = sweep_elements({{"steps", {"10", "20"}}}, {});
  CHECK(refusal_of([&] {
          check_files(elements, {files_of(a), files_of(b)});
        }) == "--checkpoint ck: elements 0 and 1 of the sweep write this file: name it ck-{steps} [file-clash]");
  b.checkpoint_directory = "other";
  b.resume_directory = "./ck";
  CHECK(refusal_of([&] {
          check_files(elements, {files_of(a), files_of(b)});
        }).find("--resume ./ck: element 1 of the sweep reads this file") == 0);
}

TEST_CASE("bytes of input files: datasets, columns, directories, each file once") {
  const TemporaryFolder folder;
  codegen::testing::put_content(folder / "big.h5", std::string(5000, 'x'));
  codegen::testing::put_content(folder / "table.csv", std::string(300, 'x'));
  REQUIRE(::mkdir((folder / "t.zarr").c_str(), 0777) == 0);
  codegen::testing::put_content(folder / "t.zarr/0.0", std::string(20, 'x'));
  rt::AppOptions options;
  options.inputs = {{"A", folder / "big.h5:/C"},
                    {"B", folder / "big.h5:/D"},
                    {"T", folder / "table.csv"},
                    {"Z", folder / "t.zarr"},
                    {"none", folder / "no.npy"}};
  CHECK(bytes_of_inputs(options) == 5320);
}

TEST_CASE("the job of a sweep is that of its largest elements") {
  const JobEstimate fitting{
      .peak = 1e9, .largest = "small", .seconds = 9000, .read_bytes = 7, .iteration = 20, .loops = "small"};
  const JobEstimate large{.fits = false,
                          .peak = 9e9,
                          .largest = "large",
                          .seconds = 300,
                          .iteration = 10,
                          .loops = "large",
                          .spills = true,
                          .homes = "`X` lies on disk",
                          .disk = 5e9,
                          .spill_seconds = 6000};
  for (const JobEstimate& both : {greater_of(fitting, large), greater_of(large, fitting)}) {
    CHECK(!both.fits);
    CHECK(both.spills);
    CHECK(both.spill_seconds == 9000);
    CHECK(both.peak == 9e9);
    CHECK(both.iteration == 20);
    CHECK(both.read_bytes == 7);
    CHECK(both.largest == "large");
    CHECK(both.homes == "`X` lies on disk");
    CHECK(both.disk == 5e9);
    CHECK(both.loops == "large");
  }
  JobEstimate refused = large;
  refused.spills = false;
  CHECK(!greater_of(refused, large).spills);
  CHECK(!greater_of(fitting, fitting).spills);
  CHECK(greater_of({.seconds = 3, .loops = "short"}, {.seconds = 4, .loops = "long"}).loops == "long");
  CHECK(greater_of({.unknown = "a", .counts = true}, {.unknown = "b"}).unknown == "b");
  // An iteration that waits for the disk takes longer.
  Site site = small_site();
  site.write_rate = 1e12;
  const auto waits = [](const JobShape&, std::int64_t limit) {
    JobEstimate e{.fits = limit == 0, .peak = 1e13, .seconds = 1e4, .iteration = 100};
    e.spills = true, e.spill_seconds = 5e4;
    return e;
  };
  CHECK(size_job(site, {.checkpoints = true}, waits).signal_lead == 2 * 1.5 * 500 + 10 + 1);
}

TEST_CASE("a script says how much of a sweep was planned, and what helps against too little memory") {
  ScriptRequest request;
  request.site = small_site();
  request.size.node_megabytes = 3000;
  request.name = "train";
  request.executable = "./train";
  request.elements = sweep_elements({{"n", {"1", "2"}}}, {});
  request.kinds = 2;
  request.planned = 2;
  const auto says = [&](const std::string& part) { return script_text(request).find(part) != std::string::npos; };
  CHECK(says("# Sweep: 2 elements, 2 kinds of them, 2 planned: the numbers here are the greatest\n"));
  CHECK(says("for memory, tdslc submit --mem 6000M asks for twice as much"));
  request.size.node_megabytes = 5000;
  CHECK(says("a node has no more than 8192 MiB: tdslc submit --nodes 2 takes more of them"));
  request.size.shape.nodes = 4;
  CHECK(says("a node has no more than 8192 MiB, and no job more nodes"));
  request.elements = sweep_elements({}, {});
  CHECK(!says("Sweep:"));
}

TEST_CASE("an interrupt prints the message about the running job") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    codegen::handle_interrupts(nullptr);
    codegen::say_when_interrupted("job 7 goes on; `scancel 7` ends it\n");
    ::raise(SIGINT);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string said(256, ' ');
  const auto size = ::read(ends[0], said.data(), said.size());
  ::close(ends[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(said.substr(0, static_cast<std::size_t>(std::max<long>(size, 0))) == "job 7 goes on; `scancel 7` ends it\n");
}

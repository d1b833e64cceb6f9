#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/memory/rank_memory.h"
#include "runtime/app/options/options.h"
#include "runtime/app/run/fitting_start.h"
#include "runtime/base/environment.h"
#include "runtime/message_id.h"
#include "runtime/plan/op_builder.h"
#include "runtime/plan/region/memory_need.h"

using namespace tdsl;
using namespace tdsl::rt;
using plan::Index;

namespace {

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

using Files = std::map<std::string, std::string>;

RankMemory memory_in(const Files& files, const MemoryShare& share) {
  return rank_memory(
      [&files](const std::string& path) -> std::optional<std::string> {
        const auto found = files.find(path);
        return found == files.end() ? std::nullopt : std::optional(found->second);
      },
      share);
}

/// A machine of 4 GiB, on which this process uses 40 MiB of 500 MiB of address space.
Files machine() {
  return {{"/proc/meminfo", "MemTotal:        4194304 kB\nMemFree:          100000 kB\n"},
          {"/proc/self/status", "Name:\tproduct\nVmPeak:\t  600000 kB\nVmSize:\t  512000 kB\nVmRSS:\t   40960 kB\n"}};
}

Files with_group(std::int64_t bytes) {
  Files files = machine();
  files["/proc/self/cgroup"] = "4:memory:/slurm/uid_7/job_12/step_0\n";
  files["/proc/self/mountinfo"] = "36 31 0:33 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n";
  files["/sys/fs/cgroup/memory/slurm/uid_7/job_12/step_0/memory.stat"] =
      "cache 0\nhierarchical_memory_limit " + std::to_string(bytes) + "\n";
  return files;
}

Index of_most(std::int64_t most) { return static_cast<Index>(0.95 * static_cast<double>(most)); }

}  // namespace

TEST_CASE("memory: a rank has its part of the least limit, less resident memory and a reserve") {
  const RankMemory whole = memory_in(machine(), {});
  CHECK(whole.most == (4096 - 40 - 64) * kMiB);
  CHECK(whole.bytes == of_most(whole.most));
  CHECK(whole.machine);
  CHECK(whole.source == "the machine's memory is 4.0 GiB");

  const RankMemory four = memory_in(with_group(2048 * kMiB), {.ranks = 4});
  CHECK(four.most == (512 - 104) * kMiB);
  CHECK(four.beside == 104 * kMiB);
  CHECK(!four.machine);
  CHECK(four.source ==
        "the limit of the control group /sys/fs/cgroup/memory/slurm/uid_7/job_12/step_0 is 2.0 GiB for 4 ranks");
  CHECK(memory_in(with_group(8192 * kMiB), {.ranks = 4}).machine);
  // Small shares: pages shared by ranks are counted for each of them, so a minimum remains.
  CHECK(memory_in(with_group(100 * kMiB), {.ranks = 4}).most == 25 * kMiB / 8);
  CHECK(memory_in({}, {}).bytes == 0);
}

TEST_CASE("memory: what Slurm says, and the address space of a process") {
  const auto slurm = [](const Files& variables) {
    return read_environment([&variables](const std::string& name) -> std::optional<std::string> {
             const auto found = variables.find(name);
             return found == variables.end() ? std::nullopt : std::optional(found->second);
           })
        .slurm_node_memory;
  };
  CHECK(slurm({{"SLURM_MEM_PER_NODE", "2000"}}) == 2000 * kMiB);
  CHECK(slurm({{"SLURM_MEM_PER_CPU", "500"}, {"SLURM_CPUS_ON_NODE", "8"}}) == 4000 * kMiB);
  CHECK(slurm({{"SLURM_MEM_PER_CPU", "500"}}) == 0);
  CHECK(slurm({{"SLURM_MEM_PER_NODE", "0"}}) == 0);
  const RankMemory job = memory_in(machine(), {.ranks = 2, .slurm_node = 1000 * kMiB});
  CHECK(job.most == (500 - 104) * kMiB);
  CHECK(job.source == "the memory of the Slurm job on a node is 1000.0 MiB for 2 ranks");

  // Each process has its own address space, which threads also use.
  const RankMemory addresses = memory_in(machine(), {.ranks = 2, .threads = 3, .address_space = 1000 * kMiB});
  CHECK(addresses.most == (1000 - 500 - 2 * 72 - 64) * kMiB);
  CHECK(addresses.ranks == 1);
  CHECK(memory_in(machine(), {.ranks = 2, .address_space = 100'000 * kMiB}).machine);
}

TEST_CASE("memory: the rank with least decides for all") {
  const RankMemory much = memory_in(machine(), {}), little = memory_in(with_group(1024 * kMiB), {.ranks = 2});
  const RankMemory least = least_memory(std::vector{encode(much), encode(little), encode(RankMemory{})});
  CHECK(encode(least) == encode(little));
  CHECK(least.source == little.source);
  CHECK(least_memory(std::vector{encode(RankMemory{})}).bytes == 0);
}

namespace {

constexpr Index kEdge = 512, kMatrix = kEdge * kEdge * 8;

/// C = A @ B, and its product with B in line 4, after which both are dead.
record::Recording product(const plan::PlanInputs& /*inputs*/) {
  return [](record::Recorder& recorder, record::Control& /*control*/) {
    const auto source = [&](const char* name, int site) {
      plan::OpBuilder op(plan::OpClass::kSource, name, site, site);
      op.out("i", kEdge).out("j", kEdge);
      return recorder.record(std::move(op.op()), ElementType::kF64);
    };
    const auto times = [&](const char* name, int site, const record::TensorHandle& a, const record::TensorHandle& b) {
      plan::OpBuilder op(plan::OpClass::kContraction, name, site, site);
      op.out("i", kEdge).out("j", kEdge).reduce("k", kEdge).combine(plan::Combine::kSum).flops(2);
      op.read(a.id(), {plan::at(0), plan::at(2)}).read(b.id(), {plan::at(2), plan::at(1)});
      return recorder.record(std::move(op.op()), ElementType::kF64);
    };
    const record::TensorHandle a = source("A", 1), b = source("B", 2);
    const record::TensorHandle c = times("C", 3, a, b);
    const record::TensorHandle d = times("D", 4, c, b);
  };
}

StartRequest request_on(Index ranks, Index limit) {
  StartRequest request;
  request.program = product;
  request.inputs.ranks = request.inputs.ranks_per_node = ranks;
  request.plan.program = "p";
  request.limit = {limit, limit + limit / 16, 104 * kMiB, static_cast<int>(ranks), false, "the limit is small"};
  request.ranks_of_node = static_cast<int>(ranks);
  request.place = [](int line) { return SourceLine{"p.tdsl", line}; };
  request.patience = std::chrono::seconds(600);
  return request;
}

std::string refusal(const StartRequest& request) {
  try {
    static_cast<void>(fitting_start(request));
  } catch (const RunError& error) {
    CHECK(error.code() == ExitCode::kUsage);
    return without_id(error.what());
  }
  return "it fits";
}

}  // namespace

TEST_CASE("memory: a limit that does not bind changes nothing, one that binds makes another plan") {
  for (const Index ranks : {1, 4}) {
    CAPTURE(ranks);
    const StartRequest free = request_on(ranks, 0);
    const FittingStart unlimited = fitting_start(free);
    const plan::MemoryNeed need = plan::expected_need(unlimited.start.region, free.inputs, unlimited.start.plan);
    CHECK(need.bytes >= 3 * kMatrix / ranks);
    CHECK(static_cast<double>(need.bytes) <= plan::most_need(unlimited.start.region, 1));
    const FittingStart enough = fitting_start(request_on(ranks, need.bytes));
    CHECK(enough.memory == 0);
    if (ranks == 1) continue;
    CHECK(plan::print(enough.start.saved) == plan::print(unlimited.start.saved));
    // Owned blocks are fixed; received panels can be thinner.
    const Index tight = (3 * kMatrix / ranks + need.bytes) / 2;
    CHECK(fitting_start(request_on(ranks, tight)).memory == tight);
  }
}

TEST_CASE("memory: a saved plan is kept as long as it fits the current limit") {
  for (const Index ranks : {1, 4}) {
    CAPTURE(ranks);
    StartRequest then = request_on(ranks, 0);
    const FittingStart made = fitting_start(then);
    const auto text_of = [](const record::Start& start) {
      return start.plan == nullptr ? std::string() : plan::print(*start.plan);
    };
    const std::string plan = text_of(made.start);
    const Index need = plan::expected_need(made.start.region, then.inputs, made.start.plan).bytes;
    CHECK_FALSE(need_beyond_limit(then, plan));
    StartRequest least = request_on(ranks, need / 2);
    least.limit.most = need;
    CHECK_FALSE(need_beyond_limit(least, plan));
    least.limit.most = need - 1;
    const auto beyond = need_beyond_limit(least, plan);
    REQUIRE(beyond);
    CHECK(beyond->bytes == need);
    if (ranks == 1) continue;
    // A plan made within less memory is kept on a smaller node.
    const Index tight = (3 * kMatrix / ranks + need) / 2;
    const FittingStart lean = fitting_start(request_on(ranks, tight));
    StartRequest now = request_on(ranks, tight);
    now.inputs.memory = lean.memory;
    CHECK_FALSE(need_beyond_limit(now, text_of(lean.start)));
  }
}

TEST_CASE("memory: an earlier plan with tensors on disk is kept as long as it fits the limit of now") {
  for (const Index ranks : {1, 2}) {
    CAPTURE(ranks);
    StartRequest request = request_on(ranks, kMatrix / ranks);
    request.disk = request.saves = true;
    const FittingStart made = fitting_start(request);
    REQUIRE_FALSE(made.homes.homes.empty());
    CHECK(made.homes.memory + made.homes.reserve == kMatrix / ranks);
    const std::string plan = plan::print(*made.start.plan);
    request.inputs.memory = made.memory;
    CHECK_FALSE(need_beyond_limit(request, plan));
    request.limit.most = made.homes.need.bytes + made.homes.reserve;
    CHECK_FALSE(need_beyond_limit(request, plan));
    request.limit.most -= 1;
    CHECK(need_beyond_limit(request, plan));
  }
}

TEST_CASE("memory: what does not fit is refused with the operation, the least memory and the least number of ranks") {
  const std::string text = refusal(request_on(1, 2 * kMatrix));
  CHECK(text.starts_with("p.tdsl:"));
  CHECK(text.find("does not fit into memory: it needs at least ") != std::string::npos);
  CHECK(text.find("which may have 4.0 MiB, as the limit is small; give at least ") != std::string::npos);
  CHECK(text.find(" such nodes with ") != std::string::npos);
  // The reported minimum is sufficient, and a byte less is not.
  const std::size_t at = text.rfind("with ") + 5;
  const Index ranks = std::stoll(text.substr(at));
  StartRequest more = request_on(ranks, 2 * kMatrix);
  more.inputs.ranks_per_node = more.ranks_of_node = 1;
  CHECK(refusal(more) == "it fits");
  more.inputs.ranks = ranks - 1;
  CHECK(refusal(more) != "it fits");

  StartRequest given = request_on(2, 0);
  given.inputs.memory = kMatrix;
  const std::string small = refusal(given);
  const std::size_t least_at = small.find("give at least --memory ");
  REQUIRE(least_at != std::string::npos);
  const Index least = std::stoll(small.substr(least_at + 23));
  given.inputs.memory = least;
  CHECK(refusal(given) == "it fits");
  CHECK(small.find(" ranks", least_at) != std::string::npos);
  // In the unit in which --memory was given.
  given.inputs.memory = kMatrix;
  given.memory_text = "2MiB";
  const std::string rounded = refusal(given);
  CHECK(rounded.starts_with("p.tdsl:"));
  CHECK(rounded.find("--memory 2MiB is too small: `") != std::string::npos);
  CHECK(rounded.find("give at least --memory " + option_size(least, "2MiB")) != std::string::npos);
}

TEST_CASE("memory: a dry run's least is what --memory may say") {
  for (const Index ranks : {1, 4}) {
    CAPTURE(ranks);
    StartRequest request = request_on(ranks, 0);
    const FittingStart free = fitting_start(request);
    const EnoughMemory least = enough_memory(request, free.start);
    CHECK_FALSE(least.on_disk);
    request.disk = true;
    const EnoughMemory spilled = enough_memory(request, free.start);
    CHECK(spilled.in_memory == least.in_memory);
    REQUIRE(spilled.on_disk);
    CHECK(*spilled.on_disk < least.in_memory);
    for (const auto& [bytes, disk] : {std::pair(least.in_memory, false), std::pair(*spilled.on_disk, true)}) {
      StartRequest given = request_on(ranks, 0);
      given.inputs.memory = bytes;
      given.disk = disk;
      CHECK(refusal(given) == "it fits");
    }
  }
}

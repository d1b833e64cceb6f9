// Batch jobs as text: site profiles, sizes, scripts, sweeps, Slurm's output.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/check.h"
#include "tests/unit/temporary_folder.h"
#include "tools/build/process.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/site.h"
#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/slurm.h"
#include "tools/tdslc/job/sweep.h"
#include "tools/tdslc/job/text.h"

using namespace tdsl;
using namespace tdsl::tools;
using tdsl::codegen::testing::TemporaryFolder;

namespace {

constexpr double kGiB = 1 << 30;

/// The message of the usage error; empty if there is none.
std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const rt::RunError& error) { return error.what(); }
  return {};
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

constexpr const char* kProfile = R"(
partition = big
launcher = srun
nodes = 16
cores = 32
sockets = 2
memory = 64GiB
max_time = 1-00:00:00
read_rate = 1GiB
write_rate = 512MiB
option = --constraint=ib
setup = module load openmpi
)";

Site profile() { return parse_site(kProfile, "site.conf"); }

/// 100 GiB shared by all ranks plus 2 per rank; 1000 seconds for one thread.
JobEstimate shared_work(const JobShape& shape, std::int64_t limit) {
  JobEstimate e;
  e.peak = 100 * kGiB / static_cast<double>(shape.ranks) + 2 * kGiB;
  if (limit > 0 && e.peak > static_cast<double>(limit))
    e.peak = std::max(0.9 * e.peak, static_cast<double>(limit) / 2);  // a leaner plan
  e.fits = limit == 0 || e.peak <= static_cast<double>(limit);
  e.seconds = 1e6 / static_cast<double>(shape.ranks * shape.threads);
  e.read_bytes = 100 * kGiB;
  return e;
}

ScriptRequest request_of_test(const Site& site, const JobSize& size) {
  ScriptRequest request;
  request.site = site;
  request.size = size;
  request.source = "dir/train.tdsl";
  request.name = "train";
  request.executable = "./train";
  request.checksum = posix_checksum("x");
  request.elements = sweep_elements({}, {"--X", "x y.npy", "--title", "it's $HOME `id`\nnew", "--w", "w.npy"});
  return request;
}

/// Runs the script with mocked Slurm commands that print their arguments.
codegen::ProcessResult run_script(const std::string& script, std::vector<std::pair<std::string, std::string>> variables,
                                  const std::string& launcher = "for a; do printf '<%s>' \"$a\"; done; exit ${CODE:-0}",
                                  const std::string& shell = "sh") {
  const TemporaryFolder folder;
  codegen::testing::put_content(folder / "job", script);
  const auto command = [&](const char* name, const std::string& text) {
    codegen::testing::put_content(folder / name, "#!/bin/sh\n" + text + "\n");
    REQUIRE(::chmod((folder / name).c_str(), 0755) == 0);
  };
  command("srun", launcher);
  command("mpirun", launcher);
  command("scontrol", "echo \"scontrol $*\"");
  codegen::testing::put_content(folder / "train", "x");
  variables.emplace_back("PATH", folder.path() + ":/usr/bin:/bin");
  variables.emplace_back("SLURM_CPUS_PER_TASK", "16");
  return codegen::run_process({.command = {"/bin/sh", "-c", "cd " + folder.path() + " && " + shell + " ./job"},
                               .environment = variables,
                               .capture = true});
}

/// Output of successive attempts of one job: each has a different launcher and finds the files of its predecessors.
/// `$script` is the script's process.
std::vector<std::string> run_again(const std::string& script, const std::vector<std::string>& launchers) {
  const TemporaryFolder folder;
  codegen::testing::put_content(folder / "job", script);
  codegen::testing::put_content(folder / "train", "x");
  std::vector<std::string> outputs;
  const auto command = [&](const char* name, const std::string& text) {
    codegen::testing::put_content(folder / name, "#!/bin/sh\n" + text + "\n");
    REQUIRE(::chmod((folder / name).c_str(), 0755) == 0);
  };
  command("scontrol", "echo \"scontrol $*\"");
  for (std::size_t k = 0; k < launchers.size(); ++k) {
    command("srun", "script=$(awk '{ print $4 }' /proc/$PPID/stat)\n" + launchers[k]);
    const std::vector<std::pair<std::string, std::string>> variables = {{"PATH", folder.path() + ":/usr/bin:/bin"},
                                                                        {"SLURM_CPUS_PER_TASK", "16"},
                                                                        {"SLURM_JOB_ID", "7"},
                                                                        {"SLURM_RESTART_COUNT", std::to_string(k)}};
    outputs.push_back(codegen::run_process({.command = {"/bin/sh", "-c", "cd " + folder.path() + " && sh ./job"},
                                            .environment = variables,
                                            .capture = true})
                          .output);
  }
  return outputs;
}

}  // namespace

TEST_CASE("a profile of a site is read, printed and compared") {
  const Site site = profile();
  CHECK(site.partition == "big");
  CHECK(site.memory == std::int64_t{64} << 30);
  CHECK(site.max_time == 86400);
  const Site again = parse_site(site_text(site), "again");
  CHECK(site_text(again) == site_text(site));
  CHECK(site_differences(site, again).empty());
  CHECK(error_of([] { (void)parse_site("nodes = 1\nkores = 2\n", "s"); }) == "s:2: unknown key `kores`");
  CHECK(error_of([] { (void)parse_site("nodes 1\n", "s"); }) == "s:1: expected `key = value`");
  CHECK(has(error_of([] { (void)parse_site("nodes = 4\n", "s"); }), "`cores = …` is missing"));
  CHECK(has(error_of([] { (void)parse_site("partition = a b\n", "s"); }), "a name without blanks"));
  CHECK(has(error_of([] { (void)parse_site("max_time = soon\n", "s"); }), "a time as Slurm writes it"));
  CHECK(has(error_of([] { (void)parse_site("max_time = 0\n", "s"); }), "s:1: `0`: a time as Slurm writes it"));
  CHECK(has(error_of([] { (void)parse_site("max_time = 0-00:00:00\n", "s"); }), "above 0"));
  CHECK(has(error_of([] { (void)parse_site("max_time = UNLIMITED\n", "s"); }), "`nodes = …` is missing"));
  CHECK(has(error_of([] { (void)parse_site("launcher = ssh\n", "s"); }), "srun or mpirun"));
  CHECK(has(error_of([] { (void)parse_site("option = -p x\n", "s"); }), "an option of sbatch"));
  for (const char* wrong : {"local", "/a b", "$(id)", "/a\"b", "/a`b"})
    CHECK(
        has(error_of([&] { (void)parse_site(std::string("spill_dir = ") + wrong + "\n", "s"); }), "a folder such as"));
}

TEST_CASE("a profile is proposed from what Slurm says") {
  const char* nodes =
      "debug|2|8|1|4|2|16000|30:00|up|0\nbig*|12|64|2|16|2|256000|2-00:00:00|up|400000\nbig*|4|128|2|32|2|512000+|2-00:"
      "00:00|up|300000+\nold|9|8|1|8|1|9|1|down|0\n";
  const char* plugins =
      "MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\nspecific pmix plugin versions available: pmix_v4\n";
  Site site = propose_site(
      nodes, plugins, "Configuration data as of\nMaxMemPerNode           = 200000\nTmpFS                   = /local\n");
  CHECK(site.partition == "big");
  CHECK(site.nodes == 16);
  CHECK(site.cores == 32);  // of the smaller nodes, without hardware threads
  CHECK(site.sockets == 2);
  CHECK(site.memory == std::int64_t{200000} << 20);
  CHECK(site.max_time == 2 * 86400);
  CHECK(site.scratch == std::int64_t{300000} << 20);
  CHECK(site.spill_dir == "/local");
  CHECK(propose_site(nodes, plugins, "TmpFS = /tmp\n", "debug").spill_dir == "");
  CHECK(site.options == std::vector<std::string>{"--threads-per-core=1"});
  CHECK(site.launcher == JobLauncher::kSrun);
  CHECK(propose_site(nodes, "MPI plugin types are...\n\tnone\n\tpmi2\n", "").launcher == JobLauncher::kMpirun);
  CHECK(propose_site(nodes, plugins, "", "debug").max_time == 1800);
  CHECK(error_of([&] { (void)propose_site("old|9|8|1|8|1|9|1|down|0\n", plugins, ""); }) ==
        "sinfo shows no partition that is up");
  // Limited to nodes that can run jobs and to the maximum per job.
  const auto partition = [&](const std::string& rows) { return propose_site(rows, plugins, ""); };
  const std::string of_node = "|64|2|32|1|256000|1:00|up|0|", small = "|8|1|8|1|1000|1:00|up|0|";
  const std::string rows = "b*|3" + of_node + "idle|1-infinite\nb*|2" + of_node + "mix-|1-infinite\nb*|4" + of_node +
                           "alloc|1-infinite\nb*|1" + of_node + "comp|1-infinite\nb*|2" + of_node +
                           "idle~|1-infinite\n";
  std::string idle_no_more;
  for (const char* state : {"down", "down*", "drain", "drng", "idle*", "resv", "maint", "fail", "unk"})
    idle_no_more += fmt::format("b*|7{}{}|1-infinite\n", small, state);
  for (const std::string& all : {rows + idle_no_more, idle_no_more + rows}) {
    CHECK(partition(all).nodes == 12);
    CHECK(partition(all).cores == 64);
    CHECK(partition(all).memory == std::int64_t{256000} << 20);
  }
  CHECK(partition(idle_no_more).nodes == 63);  // none is up today
  for (const auto& [limit, most] : std::vector<std::pair<std::string, int>>{
           {"1-4", 4}, {"2", 2}, {"1-2K", 9}, {"1-UNLIMITED", 9}, {"", 9}, {"n/a", 9}}) {
    CHECK(partition("b*|9" + of_node + "idle|" + limit + "\n").nodes == most);
  }
  CHECK(partition("b*|9" + of_node + "\n").nodes == 9);
  CHECK(partition("b*|5000" + of_node + "idle|1-2K\n").nodes == 2048);
  const std::vector<std::string> differences = site_differences(profile(), site);
  REQUIRE(differences.size() == 3);
  CHECK(differences[0] == "memory: the profile says 65536MiB, the cluster 200000MiB");
  CHECK(differences[1] == "scratch: the profile says nothing, the cluster 300000MiB");
  CHECK(differences[2] == "max_time: the profile says 1-00:00:00, the cluster 2-00:00:00");
}

TEST_CASE("Slurm's times") {
  CHECK(seconds_in("90") == 5400);
  CHECK(seconds_in("1:30") == 90);
  CHECK(seconds_in("2:00:00") == 7200);
  CHECK(seconds_in("1-12") == 36 * 3600);
  CHECK(seconds_in("1-00:30") == 86400 + 1800);
  CHECK(seconds_in("UNLIMITED") == 0);
  for (const char* wrong : {"", "x", "1:2:3:4", "-1", "1-", "1.5"}) CHECK(!seconds_in(wrong));
  CHECK(slurm_time(90061) == "1-01:01:01");
}

TEST_CASE("a job has the fewest nodes whose memory is enough") {
  const Site site = profile();
  const JobSize size = size_job(site, {}, shared_work);
  // 0.9 x 64 GiB for two ranks: 27 GiB of blocks; 100 / ranks + 2, or 0.9 times that under a limit.
  CHECK(size.shape.nodes == 2);
  CHECK(size.shape.ranks == 4);
  CHECK(size.shape.threads == 16);
  CHECK(size.program_memory == 0);
  REQUIRE(size.too_few);
  CHECK(size.too_few->first == 1);
  CHECK(size.node_megabytes == static_cast<std::int64_t>(std::ceil(2 * (kMemoryMargin * 27 * 1024 + 160))));
  CHECK(static_cast<double>(size.node_megabytes) <= kMemoryShare * 64 * 1024);
  // Twice 1.5 x 1e6 / 64 seconds, plus 100 s for reading.
  CHECK(size.seconds == 46980);
  CHECK(size.requeues == 0);
}

TEST_CASE("a plan under a limit is taken where the other one does not fit") {
  Site site = profile();
  site.memory = std::int64_t{62} << 30;
  const JobSize size = size_job(site, {.nodes = 2}, shared_work);
  CHECK(size.program_memory == size.rank_limit);
  CHECK(size.estimate.peak < 27 * kGiB);
}

TEST_CASE("programs that exceed the memory of every job size are planned with tensors on disk") {
  const Site site = profile();
  const auto spilling = [](const JobShape&, std::int64_t limit) {
    return JobEstimate{.fits = limit == 0,
                       .peak = 1e15,
                       .seconds = 10,
                       .spills = limit > 0,
                       .homes = "`X` lies on disk",
                       .disk = 50 * kGiB,
                       .spill_seconds = 5000};
  };
  const JobSize all = size_job(site, {}, spilling);
  CHECK(all.shape.nodes == site.nodes);
  CHECK(all.program_memory == all.rank_limit);
  CHECK(all.estimate.seconds == 5000);
  CHECK(size_job(site, {.nodes = 2}, spilling).shape.nodes == 2);
  // The spill folder, and the node-local disk space requested.
  ScriptRequest request = request_of_test(site, all);
  CHECK(has(script_text(request),
            "# Disk: `X` lies on disk; a node needs room for 102.0 GiB, and the profile does not say how much it has "
            "(scratch)\n"));
  CHECK(!has(script_text(request), "--tmp"));
  request.site.scratch = std::int64_t{200} << 30;
  request.site.spill_dir = "${LOCAL:-/local}/$USER";
  request.site.setup.clear();
  CHECK(has(script_text(request), "a node needs room for 102.0 GiB of 200.0 GiB (--tmp)\n"));
  CHECK(has(script_text(request), "#SBATCH --tmp=104448M\n"));
  // Variables are expanded in the tasks, where they may differ from those of the script's host.
  const auto spilled_to = [&](const std::string& folder, const std::string& of_task) {
    request.site.spill_dir = folder;
    const std::string task =
        "printf '#!/bin/sh\\nfor a; do printf \"<%%s>\" \"$a\"; done\\n' >train; chmod +x train; while [ \"${1#--}\" "
        "!= \"$1\" ]; do shift; done; ";
    return run_script(script_text(request), {{"TMPDIR", "/of script"}, {"USER", "me"}},
                      task + of_task + "; exec \"$@\"")
        .output;
  };
  const std::string before = fmt::format("<--w><w.npy><--memory><{}>", all.rank_limit);
  const auto ends_with = [&](const std::string& output, const std::string& option) {
    return output.ends_with(before + option);
  };
  CHECK(ends_with(spilled_to("$TMPDIR", "export TMPDIR='/of task'"), "<--spill></of task>"));
  CHECK(ends_with(spilled_to("${TMPDIR}", "export TMPDIR=/t"), "<--spill></t>"));
  CHECK(ends_with(spilled_to("$TMPDIR", "unset TMPDIR"), ""));
  CHECK(ends_with(spilled_to("${LOCAL:-/local}/$USER", "export LOCAL=/nvme"), "<--spill></nvme/me>"));
  CHECK(ends_with(spilled_to("/local", "true"), "<--spill></local>"));
  CHECK(!has(script_text(request), "sh -c"));
  request.site.spill_dir = "$TMPDIR";
  request.spill_given = true;
  CHECK(!has(script_text(request), "--spill"));
  Site small = site;
  small.scratch = std::int64_t{100} << 30;
  CHECK(has(error_of([&] { (void)size_job(small, {}, spilling); }),
            "102.0 GiB of tensors that memory has no room for would be on the disk of a node, which has 100.0 GiB"));
}

TEST_CASE("requests that exceed the site's limits are refused with the numbers") {
  const Site site = profile();
  JobWishes wishes;
  wishes.nodes = 17;
  CHECK(error_of([&] { (void)size_job(site, wishes, shared_work); }) == "17 nodes are wanted, and a job can have 16");
  wishes.nodes = 1;
  CHECK(has(error_of([&] { (void)size_job(site, wishes, shared_work); }),
            "1 node x 2 ranks: a rank needs 46.8 GiB of blocks, of 27.0 GiB that it may have: more nodes"));
  const auto endless = [](const JobShape&, std::int64_t limit) {
    return JobEstimate{.fits = limit == 0, .peak = 1e15, .largest = "C, line 5"};
  };
  CHECK(has(error_of([&] { (void)size_job(site, {}, endless); }),
            "(C, line 5), of 27.0 GiB that it may have there: no job of this site is large enough"));
  CHECK(has(error_of([&] { (void)size_job(site, {.rank_memory = 4096}, endless); }),
            "--memory 4096 is too small: on 16 nodes a rank needs"));
  CHECK(has(error_of([&] { (void)size_job(site, {.rank_memory = 3000000000, .rank_memory_text = "3GB"}, endless); }),
            "--memory 3GB is too small: on 16 nodes a rank needs 1000000.00 GB of blocks"));
  CHECK(error_of([&] {
          (void)size_job(site, {.node_memory = std::int64_t{1} << 50, .node_memory_text = "1125900GB"}, endless);
        }).ends_with(" GB"));
  CHECK(error_of([&] { (void)size_job(site, {.node_memory = 4096}, endless); }) ==
        "--mem: 2 ranks need 320 MiB besides blocks");
  const auto refused = [](const std::vector<std::string>&) {
    return codegen::ProcessResult{.exit_code = 1, .output = "a\nb\nsbatch: error: c\nd\n"};
  };
  CHECK(error_of([&] { (void)submit_script(refused, "s"); }) == "sbatch did not take s: b\nsbatch: error: c\nd");
  CHECK(has(error_of([&] { (void)size_job(site, {.threads = 64}, shared_work); }), "nodes have 32 cores"));
  CHECK(has(error_of([&] { (void)size_job(site, {.rank_memory = std::int64_t{40} << 30}, shared_work); }),
            "a rank may have"));
}

TEST_CASE("ranks and threads that are given decide the nodes") {
  const Site site = profile();
  const JobSize seven = size_job(site, {.ranks = 7}, shared_work);
  CHECK(seven.shape.nodes == 4);
  CHECK(seven.shape.ranks == 7);
  CHECK(seven.shape.threads == 16);
  const JobSize packed =
      size_job(site, {.ranks = 16, .nodes = 2}, [](const JobShape&, std::int64_t) { return JobEstimate{}; });
  CHECK(packed.shape.ranks_per_node == 8);
  CHECK(packed.shape.threads == 4);
  const JobSize one = size_job(site, {.ranks = 1}, [](const JobShape&, std::int64_t) { return JobEstimate{}; });
  CHECK(one.shape.threads == 16);  // the cores of a socket
  CHECK(size_job(site, {.threads = 32}, shared_work).shape.ranks_per_node == 1);
}

TEST_CASE("time: an unknown time must be given, too long a time is refused or requeued") {
  const Site site = profile();
  const auto long_work = [](const JobShape&, std::int64_t) { return JobEstimate{.seconds = 200000}; };
  CHECK(has(error_of([&] { (void)size_job(site, {}, long_work); }),
            "predicted to take 44.4 h to 3.5 days on 1 nodes, and a job may take 24.0 h: more nodes"));
  const JobSize size = size_job(site, {.checkpoints = true}, long_work);
  CHECK(size.seconds == 86400);
  CHECK(size.requeues == 3);
  CHECK(size.signal_lead == 120);
  const auto turns = [](const JobShape&, std::int64_t) {
    return JobEstimate{.peak = 2 * kGiB, .seconds = 200000, .iteration = 1000};
  };
  CHECK(size_job(site, {.checkpoints = true}, turns).signal_lead ==
        2 * 1500 + 10 + 2 * 2 * 4);  // two ranks write 4 GiB at 0.5 GiB/s
  CHECK(has(error_of([&] { (void)size_job(site, {.seconds = 3600, .checkpoints = true}, turns); }),
            "a job of 60 min is too short"));
  Site patient = site;
  patient.max_time = 10 * 86400;
  const auto days = [](const JobShape&, std::int64_t) { return JobEstimate{.seconds = 400000, .iteration = 40000}; };
  const JobSize early = size_job(patient, {.checkpoints = true}, days);
  CHECK(early.signal_lead == 65535);
  ScriptRequest request = request_of_test(patient, early);
  CHECK(!has(script_text(request), "Signal:"));
  request.checkpoint = "train";
  CHECK(has(script_text(request), "# Signal: as early as Slurm gives one; 33.3 h would be wanted"));
  const auto week = [](const JobShape&, std::int64_t) { return JobEstimate{.seconds = 400000, .iteration = 70000}; };
  CHECK(has(error_of([&] { (void)size_job(patient, {.checkpoints = true}, week); }),
            "take 19.4 h, and Slurm tells a job that its time ends at most 18.2 h before"));
  const auto unknown = [](const JobShape&, std::int64_t) {
    return JobEstimate{.unknown = "how often a loop runs depends on data", .counts = true};
  };
  CHECK(error_of([&] { (void)size_job(site, {}, unknown); }) ==
        "how often a loop runs depends on data: give --iterations N, or --time");
  CHECK(size_job(site, {.seconds = 600}, unknown).seconds == 600);
  CHECK(has(error_of([&] { (void)size_job(site, {.seconds = 90000}, unknown); }),
            "--time 1-01:00:00: a job may take 1-00:00:00"));
}

TEST_CASE("a script is what shells read, and hands on every word as it is") {
  const Site site = profile();
  const JobSize size = size_job(site, {}, shared_work);
  ScriptRequest request = request_of_test(site, size);
  const std::string text = script_text(request);
  const std::string expected = fmt::format(R"sh(#!/bin/sh
# dir/train.tdsl, made by tdslc submit: 2 nodes x 2 ranks x 16 threads
# Memory: a rank needs 27.0 GiB of blocks of 27.0 GiB that it may have, and 160 MiB besides; on 1 node 46.8 )sh"
                                           R"sh(GiB, which does not fit
# Time: 4.3 h are predicted, 3.5 h to 6.5 h with files; files 100.0 GiB read, 0 bytes written
#SBATCH --job-name=train
#SBATCH --partition=big
#SBATCH --nodes=2 --ntasks-per-node=2 --cpus-per-task=16 --mem={}M --time=13:03:00
#SBATCH --requeue --open-mode=append --output=train-%j.log
#SBATCH --constraint=ib
module load openmpi
export SRUN_CPUS_PER_TASK="$SLURM_CPUS_PER_TASK"  # Slurm 22.05 and later does not pass it on
export SLURM_PMIX_FENCE="${{SLURM_PMIX_FENCE:-ring}}"  # else ranks may get through MPI_Init before others are )sh"
                                           R"sh(ready, which crash then
if [ "$(cksum <./train)" != '{}' ]; then
    echo './train is not the file that this job was submitted with: submit it again' >&2
    exit 2
fi
srun --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=cores \
    ./train --X 'x y.npy' --title 'it'\''s $HOME `id`
new' --w w.npy
code=$?
if [ "$code" = 137 ] || [ "$code" = 255 ]; then
    echo 'train: a rank was killed; if that was for memory, a node has no more than 65536 MiB: tdslc submit )sh"
                                           R"sh(--nodes 4 takes more of them' >&2
fi
exit "$code"
)sh",
                                           size.node_megabytes, posix_checksum("x"));
  CHECK(text == expected);
  CHECK(posix_checksum("123456789") == "930766865 9");  // as printed by `cksum`

  request.site.setup.clear();
  const codegen::ProcessResult run = run_script(script_text(request), {{"CODE", "75"}});
  CHECK(run.exit_code == 75);
  CHECK(run.output ==
        "<--mpi=pmix><--kill-on-bad-exit=1><--cpu-bind=cores><./train><--X><x y.npy><--title><it's $HOME "
        "`id`\nnew><--w><w.npy>");
  const codegen::ProcessResult killed = run_script(script_text(request), {{"CODE", "137"}});
  CHECK(has(killed.output, "tdslc submit --nodes 4"));
  CHECK(has(run_script(script_text(request), {{"CODE", "255"}}).output, "tdslc submit --nodes 4"));
  CHECK(!has(run_script(script_text(request), {{"CODE", "205"}}).output, "killed"));
  request.checksum = "1 1";
  const codegen::ProcessResult other = run_script(script_text(request), {});
  CHECK(other.exit_code == 2);
  CHECK(has(other.output, "is not the file that this job was submitted with"));
}

TEST_CASE("a profile names the MPI library") {
  Site site = parse_site(std::string(kProfile) + "mpi_family = mpich\n", "s");
  CHECK(site.mpi_family == "mpich");
  CHECK(parse_site(site_text(site), "again").mpi_family == "mpich");
  CHECK(has(error_of([] { (void)parse_site("mpi_family = a b\n", "s"); }), "without blanks"));
}

TEST_CASE("scripts of mpirun, of arrays and with checkpoints pass shellcheck") {
  Site site = profile();
  site.setup.clear();
  const JobSize size = size_job(site, {.ranks = 7, .checkpoints = true}, shared_work);
  ScriptRequest srun = request_of_test(site, size);
  srun.checkpoint = "train";
  ScriptRequest mpirun = request_of_test(site, size);
  mpirun.site.launcher = JobLauncher::kMpirun;
  mpirun.root = true;
  mpirun.elements = sweep_elements({{"lambda", {"0.1", "a 'b'"}}}, {"--w", "w-{lambda}.npy"});
  mpirun.size.program_memory = 4096;
  ScriptRequest both = mpirun;
  both.checkpoint = "train";
  ScriptRequest spilling = srun;
  spilling.size.disk_megabytes = 1;
  spilling.site.spill_dir = "$TMPDIR";
  for (const ScriptRequest& request : {srun, mpirun, both, spilling, request_of_test(site, size)}) {
    const TemporaryFolder folder;
    codegen::testing::put_content(folder / "job", script_text(request));
    const codegen::ProcessResult parsed =
        codegen::run_process({.command = {"sh", "-n", folder / "job"}, .capture = true});
    CHECK_MESSAGE(parsed.exit_code == 0, parsed.output);
    const codegen::ProcessResult checked =
        codegen::run_process({.command = {"shellcheck", "--exclude=SC2016", folder / "job"}, .capture = true});
    CHECK_MESSAGE(checked.exit_code == 0, checked.output);
  }
  const std::string text = script_text(mpirun);
  CHECK(has(text, "--output=train-%A_%a.log"));
  CHECK(has(text, "#SBATCH --array=0-1\n"));
  CHECK(has(text, "    1) set -- --w 'w-a '\\''b'\\''.npy' --lambda 'a '\\''b'\\''' ;;\n"));
  CHECK(has(text, "mpirun -q -n 7 --map-by ppr:2:node:PE=16 --bind-to core"));
  CHECK(has(text, "./train \"$@\" --memory 4096\n"));
  CHECK(!has(text, "trap"));
  const codegen::ProcessResult run = run_script(text, {{"SLURM_ARRAY_TASK_ID", "1"}});
  CHECK(has(run.output, "<./train><--w><w-a 'b'.npy><--lambda><a 'b'><--memory><4096>"));
  // The trap is the first command: an earlier signal would end the job.
  const std::string first = script_text(srun);
  const std::size_t command = first.find("\ntold=\nrun=\ntrap ");
  REQUIRE(command != std::string::npos);
  CHECK(first.find("\n", first.rfind("#SBATCH")) == command);
  CHECK(size.signal_lead > 120);
  CHECK(has(first, fmt::format("--signal=B:USR1@{} ", size.signal_lead)));
  CHECK(has(first, "unset SLURM_NTASKS_PER_NODE"));
}

TEST_CASE(
    "a script with checkpoints hands on the signal, queues the job again if something was saved, and believes a "
    "finished run only") {
  Site site = profile();
  site.setup.clear();
  const auto work = [](const JobShape&, std::int64_t) { return JobEstimate{.seconds = 200000}; };
  ScriptRequest request = request_of_test(site, size_job(site, {.checkpoints = true}, work));
  request.checkpoint = "train";
  const std::string script = script_text(request);
  const auto run = [&](const std::string& launcher) { return run_script(script, {{"SLURM_JOB_ID", "7"}}, launcher); };
  const codegen::ProcessResult finished =
      run("ls train-7.ck; touch train-7.ck/finished; for a; do printf '<%s>' \"$a\"; done");
  CHECK(finished.exit_code == 0);
  CHECK(has(finished.output, "<--w><w.npy><--checkpoint><./train-7.ck><--resume><./train-7.ck>"));
  CHECK(run("true").exit_code == 1);
  // The signal arrives while the launcher runs, as it ends, and afterwards.
  const std::string script_of = "script=$(awk '{ print $4 }' /proc/$PPID/stat); ";
  for (const char* const launcher :
       {"trap 'echo ck-000001 >train-7.ck/newest; exit 75' USR1; while :; do kill -USR1 $script; sleep 0.05; done",
        "trap '' USR1; echo ck-$$ >train-7.ck/newest; kill -USR1 $script; exit 75",
        "echo ck-$$ >train-7.ck/newest; (sleep 0.01; kill -USR1 $script) & exit 75"}) {
    for (const char* const shell : {"sh", "bash", "bash --posix"}) {
      const codegen::ProcessResult saved = run_script(script, {{"SLURM_JOB_ID", "7"}}, script_of + launcher, shell);
      CHECK_MESSAGE(saved.exit_code == 75, saved.output);
      CHECK(has(saved.output, "scontrol requeue 7"));
    }
  }
  const codegen::ProcessResult nothing = run("exit 75");
  CHECK(nothing.exit_code == 75);
  CHECK(!has(nothing.output, "requeue"));
  CHECK(has(nothing.output, "no new checkpoint came about"));
  CHECK(run("exit 3").exit_code == 3);
  // Killed, or a lost link: requeued only if this attempt has saved a checkpoint.
  for (const char* const code : {"137", "205", "255"}) {
    CHECK(!has(run(fmt::format("exit {}", code)).output, "requeue"));
    CHECK(!has(run_again(script, {fmt::format("echo ck-000001 >train-7.ck/newest; exit {}", code),
                                  fmt::format("exit {}", code)})
                   .back(),
               "requeue"));
    CHECK(has(run(fmt::format("echo ck-000001 >train-7.ck/newest; exit {}", code)).output, "scontrol requeue 7"));
  }
  CHECK(!has(run("echo ck-000001 >train-7.ck/newest; exit 1").output, "requeue"));
}

TEST_CASE("a script with checkpoints is queued again three times without progress, and anew after some") {
  Site site = profile();
  site.setup.clear();
  const auto work = [](const JobShape&, std::int64_t) { return JobEstimate{.seconds = 200000}; };
  ScriptRequest request = request_of_test(site, size_job(site, {.checkpoints = true}, work));
  request.checkpoint = "train";
  const std::string script = script_text(request);
  const auto requeues = [&](const std::vector<std::string>& launchers) {
    std::string all;
    for (const std::string& output : run_again(script, launchers)) {
      const bool again = has(output, "scontrol requeue 7");
      const bool ends = has(output, "no new checkpoint came about, so the job is not queued again");
      CHECK(!(again && ends));
      all += again ? '+' : ends ? '-' : '?';
    }
    return all;
  };
  const std::string lost = "exit 69", early = "exit 138", saved = "echo ck-$$ >train-7.ck/newest; ";
  CHECK(requeues({lost, lost, lost, lost, lost}) == "+++--");
  CHECK(requeues({lost, early, early, lost}) == "+++-");
  CHECK(requeues({lost, lost, lost, saved + lost, lost, lost, lost, lost}) == "+++++++-");
  // Attempts with progress do not count: neither those in Slurm's own count, nor one whose script had no time to record
  // it.
  CHECK(requeues({saved + "exit 75", saved + "exit 75", saved + "exit 75", saved + "exit 75", lost, lost, lost,
                  lost}) == "+++++++-");
  CHECK(requeues({lost, lost, lost, saved + "kill -9 $script", lost, lost, lost, lost}) == "+++?+++-");
  // Not requeued if attempts cannot be counted.
  CHECK(requeues({"mkdir train-7.ck/.attempts; exit 69"}) == "-");
}

TEST_CASE("a signal that comes before the program can heed it queues the job again") {
  Site site = profile();
  const auto work = [](const JobShape&, std::int64_t) { return JobEstimate{.seconds = 200000}; };
  const JobSize size = size_job(site, {.checkpoints = true}, work);
  for (const char* const shell : {"sh", "bash", "bash --posix"}) {
    // During the setup lines: nothing is started.
    site.setup = {"kill -USR1 $$"};
    ScriptRequest request = request_of_test(site, size);
    request.checkpoint = "train";
    const codegen::ProcessResult setup =
        run_script(script_text(request), {{"SLURM_JOB_ID", "7"}}, "echo started; exit 0", shell);
    CHECK_MESSAGE(setup.exit_code == 138, setup.output);
    CHECK(has(setup.output, "scontrol requeue 7"));
    CHECK(!has(setup.output, "started"));
    // Before the launcher's process id is known.
    request.site.setup = {"sh() { kill -USR1 $$; sleep 0.3; command sh \"$@\"; }"};
    const codegen::ProcessResult between =
        run_script(script_text(request), {{"SLURM_JOB_ID", "7"}}, "echo started; exit 0", shell);
    CHECK_MESSAGE(between.exit_code == 138, between.output);
    CHECK(!has(between.output, "started"));
    // While the program starts.
    request.site.setup.clear();
    const codegen::ProcessResult start =
        run_script(script_text(request), {{"SLURM_JOB_ID", "7"}},
                   "kill -USR1 $(awk '{ print $4 }' /proc/$PPID/stat); while :; do sleep 0.05; done", shell);
    CHECK_MESSAGE(start.exit_code == 138, start.output);
    CHECK(has(start.output, "scontrol requeue 7"));
  }
}

TEST_CASE("an executable that jobs may wait for is not replaced without a word") {
  const TemporaryFolder folder;
  const std::string path = folder / "train";
  CHECK(replacement_warning(path, posix_checksum("x")).empty());
  codegen::testing::put_content(path, "x");
  CHECK(replacement_warning(path, posix_checksum("x")).empty());
  CHECK(has(replacement_warning(path, posix_checksum("y")), "will end with exit code 2; -o FILE keeps it [replaced]"));
  codegen::testing::put_content(path, "");
  CHECK(!replacement_warning(path, posix_checksum("y")).empty());
}

TEST_CASE("sweeps: every combination, and a file of its own for each") {
  const Sweep lambda = parse_sweep("lambda=0.1,0.2"), steps = parse_sweep("steps=1,2,3");
  const std::vector<SweepElement> elements = sweep_elements({lambda, steps}, {"--w", "out/w-{lambda}-{steps}.npy"});
  REQUIRE(elements.size() == 6);
  CHECK(elements[4].arguments == std::vector<std::string>{"--w", "out/w-0.2-2.npy", "--lambda", "0.2", "--steps", "2"});
  const auto files = [](const std::string& name, const std::vector<SweepElement>& all) {
    std::vector<ElementFiles> result;
    for (const SweepElement& e : all) result.push_back({{{"X", "x.npy"}}, {{name, e.arguments[1]}}});
    return result;
  };
  check_files(elements, files("w", elements));
  const std::vector<SweepElement> clash = sweep_elements({lambda}, {"--w", "w.npy"});
  CHECK(error_of([&] { check_files(clash, files("w", clash)); }) ==
        "--w w.npy: elements 0 and 1 of the sweep write this file: name it w-{lambda}.npy");
  const std::vector<SweepElement> same = sweep_elements({parse_sweep("d=.,./a/..")}, {"--w", "{d}/w.npy"});
  CHECK(has(error_of([&] { check_files(same, files("w", same)); }), "write this file"));
  const std::vector<SweepElement> read = sweep_elements({parse_sweep("d=x,y")}, {"--w", "{d}.npy"});
  CHECK(has(error_of([&] { check_files(read, files("w", read)); }), "reads this file"));
  CHECK(has(error_of([] { (void)parse_sweep("lambda"); }), "NAME=VALUE"));
  CHECK(has(error_of([] { (void)parse_sweep("a=1,,2"); }), "an empty value"));
  CHECK(has(error_of([] { (void)parse_sweep("a=1,1"); }), "1 twice"));
  CHECK(has(error_of([&] { (void)sweep_elements({lambda, lambda}, {}); }), "twice"));
  CHECK(has(error_of([&] { (void)sweep_elements({lambda}, {"--lambda=3"}); }), "swept as well"));
}

TEST_CASE("Slurm's answers are read, and a job is followed until it has ended") {
  CHECK(job_number("12\n") == "12");
  CHECK(job_number("sbatch: warning: x\n12;cluster\n") == "12");
  CHECK(!job_number("sbatch: error: no\n"));
  const TemporaryFolder folder;
  const auto state = [&](const std::string& text) {
    return fmt::format("JobId=3 JobName=x JobState={} Reason=Priority Restarts=0 ExitCode={} StdOut={}/a log Power= \n",
                       text.substr(0, text.find(' ')), text.substr(text.find(' ') + 1), folder.path());
  };
  const std::vector<std::string> answers = {state("PENDING 0:0"), "slurm_load_jobs error: Socket timed out\n",
                                            state("RUNNING 0:0"), state("COMPLETING 7:0"), state("FAILED 7:0")};
  std::size_t asked = 0;
  std::string log, said;
  JobFollower follower(
      [&](const std::vector<std::string>& command) {
        CHECK(command == std::vector<std::string>{"scontrol", "show", "job", "-o", "3"});
        const std::string answer = answers.at(asked++);
        return codegen::ProcessResult{.exit_code = answer.starts_with("JobId") ? 0 : 1, .output = answer};
      },
      "3", [&](std::string_view text) { log += text; }, [&](std::string_view text) { said += text; });
  for (int k = 0; k < 4; ++k) {
    CHECK(!follower.look());
    std::ofstream(folder / "a log", std::ios::app) << "line " << k << "\nrest";
    follower.read_logs();
  }
  CHECK(log == "line 0\nrestline 1\nrestline 2\nrestline 3\n");
  CHECK(follower.look());
  follower.read_logs();
  CHECK(log == "line 0\nrestline 1\nrestline 2\nrestline 3\nrest\n");
  CHECK(said == "job 3: PENDING (Priority)\njob 3: RUNNING\njob 3: COMPLETING\njob 3: FAILED, exit code 7\n");
  CHECK(follower.exit_code() == 7);
  // Slurm forgets elements of an array one by one, finally all of them.
  const std::string two =
      "JobId=5 ArrayTaskId=1 JobState=RUNNING Restarts=1 ExitCode=0:0\nJobId=4 ArrayTaskId=0 JobState=FAILED "
      "ExitCode=3:0\n";
  const std::vector<std::string> later = {"JobId=4 ArrayTaskId=0-1 JobState=PENDING Reason=None ExitCode=0:0\n", two,
                                          two.substr(0, two.find('\n') + 1), "Invalid job id",
                                          "4_0|FAILED|3:0\n4_1|CANCELLED by 0|0:15\n"};
  asked = 0;
  said.clear();
  JobFollower array(
      [&](const std::vector<std::string>&) {
        const std::string answer = later.at(asked++);
        return codegen::ProcessResult{.exit_code = answer == "Invalid job id" ? 1 : 0, .output = answer};
      },
      "4", {}, [&](std::string_view text) { said += text; });
  CHECK(!array.look());
  CHECK(!array.look());
  CHECK(!array.look());
  CHECK(array.look());
  CHECK(asked == 5);
  CHECK(array.exit_code() == 143);
  CHECK(said ==
        "job 4_0-1: PENDING\njob 4_1: RUNNING, requeued 1 time\njob 4_0: FAILED, exit code 3\njob 4_1: CANCELLED, exit "
        "code 143\n");
  CHECK(job_states(state("TIMEOUT 0:0"))[0].exit_code() == 1);
  CHECK(job_states(state("CANCELLED 0:15"))[0].exit_code() == 143);
  CHECK(job_states("JobId=4 ArrayTaskId=2-5 JobState=PENDING ExitCode=0:0\n")[0].element == "2-5");
  JobFollower lost(
      [](const std::vector<std::string>&) {
        return codegen::ProcessResult{.exit_code = 1, .output = "slurm_load_jobs error: Invalid job id specified\n"};
      },
      "9", {}, {});
  CHECK(has(error_of([&] { (void)lost.look(); }), "job 9: Slurm does not know it any more"));
}

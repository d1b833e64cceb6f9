// Batch jobs as text: site profiles, sizes, sweeps, Slurm's output.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tests/unit/temporary_folder.h"
#include "tests/unit/tools/job_support.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/site.h"
#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/slurm.h"
#include "tools/tdslc/job/sweep.h"
#include "tools/tdslc/job/text.h"

using namespace tdsl;
using namespace tdsl::tools;
using namespace tdsl::tests::jobs;
using tdsl::codegen::testing::TemporaryFolder;

TEST_CASE("a profile of a site is read, printed and compared") {
  const Site site = profile();
  CHECK(site.partition == "big");
  CHECK(site.memory == std::int64_t{64} << 30);
  CHECK(site.max_time == 86400);
  const Site again = parse_site(site_text(site), "again");
  CHECK(site_text(again) == site_text(site));
  CHECK(site_differences(site, again).empty());
  CHECK(error_of([] { (void)parse_site("nodes = 1\nkores = 2\n", "s"); }) == "s:2: unknown key `kores` [site-profile]");
  CHECK(error_of([] { (void)parse_site("nodes 1\n", "s"); }) == "s:1: expected `key = value` [site-profile]");
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
        "sinfo shows no partition that is up [batch-system]");
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
  CHECK(error_of([&] { (void)size_job(site, wishes, shared_work); }) ==
        "17 nodes are wanted, and a job can have 16 [job-size]");
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
        }).ends_with(" GB [job-size]"));
  CHECK(error_of([&] { (void)size_job(site, {.node_memory = 4096}, endless); }) ==
        "--mem: 2 ranks need 320 MiB besides blocks [job-size]");
  const auto refused = [](const std::vector<std::string>&) {
    return codegen::ProcessResult{.exit_code = 1, .output = "a\nb\nsbatch: error: c\nd\n"};
  };
  CHECK(error_of([&] { (void)submit_script(refused, "s"); }) ==
        "sbatch did not take s: b [batch-system]\nsbatch: error: c\nd");
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
        "how often a loop runs depends on data: give --iterations N, or --time [job-size]");
  CHECK(size_job(site, {.seconds = 600}, unknown).seconds == 600);
  CHECK(has(error_of([&] { (void)size_job(site, {.seconds = 90000}, unknown); }),
            "--time 1-01:00:00: a job may take 1-00:00:00"));
}

TEST_CASE("a profile names the MPI library") {
  Site site = parse_site(std::string(kProfile) + "mpi_family = mpich\n", "s");
  CHECK(site.mpi_family == "mpich");
  CHECK(parse_site(site_text(site), "again").mpi_family == "mpich");
  CHECK(has(error_of([] { (void)parse_site("mpi_family = a b\n", "s"); }), "without blanks"));
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
        "--w w.npy: elements 0 and 1 of the sweep write this file: name it w-{lambda}.npy [file-clash]");
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

// Scripts of batch jobs, executed with mocked Slurm commands.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/unit/temporary_folder.h"
#include "tests/unit/tools/job_support.h"
#include "tools/build/process.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/site.h"
#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/sweep.h"
#include "tools/tdslc/job/text.h"

using namespace tdsl;
using namespace tdsl::tools;
using namespace tdsl::tests::jobs;
using tdsl::codegen::testing::TemporaryFolder;

namespace {

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

#pragma once

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "tests/unit/temporary_folder.h"
#include "tools/build/process.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/site.h"
#include "tools/tdslc/job/size.h"
#include "tools/tdslc/job/sweep.h"

/// A site, a program and its script, for the tests of batch jobs.
namespace tdsl::tests::jobs {

using namespace tdsl::tools;
using tdsl::codegen::testing::TemporaryFolder;

inline constexpr double kGiB = 1 << 30;

/// The message of the usage error; empty if there is none.
inline std::string error_of(const std::function<void()>& f) {
  try {
    f();
  } catch (const rt::RunError& error) { return error.what(); }
  return {};
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

inline constexpr const char* kProfile = R"(
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

inline Site profile() { return parse_site(kProfile, "site.conf"); }

/// 100 GiB shared by all ranks plus 2 per rank; 1000 seconds for one thread.
inline JobEstimate shared_work(const JobShape& shape, std::int64_t limit) {
  JobEstimate e;
  e.peak = 100 * kGiB / static_cast<double>(shape.ranks) + 2 * kGiB;
  if (limit > 0 && e.peak > static_cast<double>(limit))
    e.peak = std::max(0.9 * e.peak, static_cast<double>(limit) / 2);  // a leaner plan
  e.fits = limit == 0 || e.peak <= static_cast<double>(limit);
  e.seconds = 1e6 / static_cast<double>(shape.ranks * shape.threads);
  e.read_bytes = 100 * kGiB;
  return e;
}

inline ScriptRequest request_of_test(const Site& site, const JobSize& size) {
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
inline codegen::ProcessResult run_script(
    const std::string& script, std::vector<std::pair<std::string, std::string>> variables,
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

}  // namespace tdsl::tests::jobs

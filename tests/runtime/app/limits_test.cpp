#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

#include "runtime/app/options/limits.h"

using namespace tdsl::rt;

namespace {

MemoryGroup group_in(const std::map<std::string, std::string>& files) {
  return memory_group([&files](const std::string& path) -> std::optional<std::string> {
    const auto found = files.find(path);
    return found == files.end() ? std::nullopt : std::optional(found->second);
  });
}

}  // namespace

TEST_CASE("limits: version 1 says the least of all groups") {
  const MemoryGroup group =
      group_in({{"/proc/self/cgroup", "9:cpu,cpuacct:/\n4:memory:/slurm/uid_7/job_12/step_0\n0::/\n"},
                {"/proc/self/mountinfo",
                 "35 31 0:32 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
                 "36 31 0:33 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory\n"},
                {"/sys/fs/cgroup/memory/slurm/uid_7/job_12/step_0/memory.stat",
                 "cache 0\nhierarchical_memory_limit 115343360\nhierarchical_memsw_limit 9223372036854771712\n"}});
  CHECK(group.limit.bytes == 115343360);
  CHECK(group.limit.source == "the limit of the control group /sys/fs/cgroup/memory/slurm/uid_7/job_12/step_0");
  REQUIRE(group.counters.size() == 5);
  CHECK(group.counters.front() == "/sys/fs/cgroup/memory/slurm/uid_7/job_12/step_0/memory.oom_control");
  CHECK(group.counters.back() == "/sys/fs/cgroup/memory/memory.oom_control");
}

TEST_CASE("limits: in version 2 every group above has one of its own") {
  std::map<std::string, std::string> files{
      {"/proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_3/step_0/user/task_1\n"},
      {"/proc/self/mountinfo", "30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"},
      {"/sys/fs/cgroup/system.slice/slurmstepd.scope/job_3/step_0/user/task_1/memory.max", "max\n"},
      {"/sys/fs/cgroup/system.slice/slurmstepd.scope/job_3/step_0/memory.max", "2097152000\n"},
      {"/sys/fs/cgroup/system.slice/slurmstepd.scope/job_3/memory.max", "1048576000\n"}};
  CHECK(group_in(files).limit.bytes == 1048576000);
  CHECK(group_in(files).limit.source.ends_with("slurmstepd.scope/job_3"));
  // Kills are counted up to the group with the limit: groups above it contain other jobs.
  REQUIRE(group_in(files).counters.size() == 4);
  CHECK(group_in(files).counters.back() == "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_3/memory.events");
  files.erase("/proc/self/mountinfo");
  CHECK(group_in(files).limit.bytes == 0);
}

TEST_CASE("limits: the hierarchy of a container begins at its own group") {
  std::map<std::string, std::string> files{
      {"/proc/self/cgroup", "4:memory:/docker/ab12\n"},
      {"/proc/self/mountinfo", "36 31 0:33 /docker/ab12 /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"},
      {"/sys/fs/cgroup/memory/memory.stat", "hierarchical_memory_limit 4294967296\n"}};
  CHECK(group_in(files).limit.bytes == 4294967296);
  files["/sys/fs/cgroup/memory/memory.stat"] = "hierarchical_memory_limit 9223372036854771712\n";
  CHECK(group_in(files).limit.bytes == 0);
  CHECK(group_in({}).counters.empty());
}

TEST_CASE("limits: kills are counted in the texts of both versions") {
  CHECK(killed_processes("oom_kill_disable 0\nunder_oom 0\noom_kill 3\n") == 3);
  CHECK(killed_processes("low 0\nhigh 0\nmax 12\noom 2\noom_kill 12\noom_group_kill 0\n") == 12);
  CHECK(killed_processes("oom_kill_disable 1\n") == 0);
  CHECK(killed_processes("") == 0);
}

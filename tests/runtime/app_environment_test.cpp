#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>

#include "runtime/app/environment.h"

using namespace tdsl::rt;

namespace {

Environment environment_of(const std::map<std::string, std::string>& variables) {
  return read_environment([&variables](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

Launch launch_of(const std::map<std::string, std::string>& variables) {
  return classify_launch(environment_of(variables));
}

}  // namespace

TEST_CASE("launchers are recognised") {
  CHECK(launch_of({}) == Launch::kSingle);
  CHECK(launch_of({{"OMPI_COMM_WORLD_SIZE", "1"}}) == Launch::kLaunched);
  CHECK(launch_of({{"PMIX_RANK", "3"}, {"SLURM_STEP_NUM_TASKS", "4"}}) == Launch::kLaunched);
  CHECK(launch_of({{"PMI_RANK", "0"}}) == Launch::kLaunched);
  CHECK(launch_of({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}) == Launch::kSingle);  // a batch script
  CHECK(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}) == Launch::kSingle);
  CHECK(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}) == Launch::kRefused);
  CHECK(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}}) == Launch::kRefused);
  CHECK(refused_launch_message(environment_of({{"SLURM_STEP_NUM_TASKS", "4"}})).find("4 tasks") != std::string::npos);
}

TEST_CASE("variables are read") {
  const Environment e = environment_of({{"TDSL_OVERSUBSCRIBED", "1"},
                                        {"OMP_NUM_THREADS", "4,2"},
                                        {"BLIS_ARCH_TYPE", "3"},
                                        {"OMPI_COMM_WORLD_SIZE", "7"},
                                        {"SLURM_CPUS_PER_TASK", "many"}});
  CHECK(e.oversubscribed);
  CHECK(e.omp_num_threads == 4);
  CHECK(e.blis_arch_type == "3");
  CHECK(e.launcher_size == 7);
  CHECK_FALSE(e.slurm_cpus_per_task.has_value());
  CHECK_FALSE(environment_of({{"TDSL_OVERSUBSCRIBED", "0"}}).oversubscribed);
  CHECK(environment_of({{"TDSL_RANKS_PER_NODE", "4"}}).ranks_per_node == 4);
  CHECK_FALSE(environment_of({{"TDSL_RANKS_PER_NODE", "0"}}).ranks_per_node.has_value());
  CHECK(environment_of({{"TDSL_SIMD", "avx2"}}).simd == SimdLevel::kAvx2);
  CHECK_FALSE(environment_of({{"TDSL_SIMD", "wide"}}).simd.has_value());
}

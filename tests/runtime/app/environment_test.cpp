#include <doctest/doctest.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/environment.h"

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
  CHECK(launch_of({{"PMI_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}) == Launch::kRefused);
  CHECK(launch_of({{"PMI_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}, {"TDSL_LAUNCH", "trust"}}) == Launch::kLaunched);
  CHECK(launch_of({{"PMI_RANK", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}) == Launch::kSingle);
  CHECK(launch_of({{"SLURM_NTASKS", "4"}, {"SLURM_PROCID", "0"}}) == Launch::kSingle);  // a batch script
  CHECK(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}) == Launch::kSingle);
  CHECK(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_TASKS", "4"}}) == Launch::kRefused);
  CHECK(launch_of({{"SLURM_STEP_ID", "0"}, {"SLURM_NTASKS", "4"}}) == Launch::kRefused);
}

TEST_CASE("a launcher's variables name its MPI family") {
  const auto family = [](const std::map<std::string, std::string>& variables) {
    return environment_of(variables).launcher_family;
  };
  CHECK(family({}).empty());
  CHECK(family({{"OMPI_COMM_WORLD_SIZE", "2"}, {"PMIX_RANK", "0"}}) == "openmpi");
  CHECK(family({{"PRTE_LAUNCHED", "1"}, {"PMIX_RANK", "0"}}) == "openmpi");
  CHECK(family({{"PMI_RANK", "0"}, {"PMI_FD", "7"}}) == "mpich");
  CHECK(family({{"HYDI_CONTROL_FD", "5"}}) == "mpich");
  CHECK(family({{"PALS_RANKID", "0"}, {"PMIX_RANK", "0"}}) == "mpich");
  CHECK(family({{"PMIX_RANK", "0"}}).empty());
  CHECK(family({{"PMIX_RANK", "0"}, {"PMI_RANK", "0"}}).empty());
}

TEST_CASE("variables tell where MPI libraries and shims are") {
  const Environment e = environment_of({{"HOME", "/home/u"},
                                        {"TDSL_HOME", "/opt/tdsl"},
                                        {"LD_LIBRARY_PATH", "/a::/b"},
                                        {"TDSL_MPI", "none"},
                                        {"OMPI_COMM_WORLD_SIZE", "2"}});
  CHECK(e.mpi_folders == std::vector<std::string>{"/home/u/.local/lib/tdsl/mpi", "/opt/tdsl/lib/tdsl"});
  CHECK(e.library_folders == std::vector<std::string>{"/a", "/b"});
  CHECK(classify_launch(e) == Launch::kSingle);
}

TEST_CASE("a refused launch names the command that works") {
  const auto message = [](std::map<std::string, std::string> variables) {
    variables["SLURM_STEP_NUM_TASKS"] = "4";
    const std::vector<std::string> command{"./product", "--A", "it's.npy"};
    return refused_launch_message(environment_of(variables), shown_command(command));
  };
  CHECK(message({{"SLURM_MPI_TYPE", "none"}}) ==
        "srun --mpi=none started 4 tasks that cannot find each other: start them with srun --mpi=pmix -n 4 ./product "
        "--A 'it'\\''s.npy'");
  CHECK(message({{"SLURM_MPI_TYPE", "pmi2"}, {"PMI_RANK", "0"}})
            .ends_with("(TDSL_LAUNCH=trust if this MPI library takes pmi2)"));
  CHECK(shown_command(std::vector<std::string>(100, "a word of some length")).ends_with("' ..."));
}

TEST_CASE("mpirun's variables go before those of the step that it starts its ranks from") {
  const std::map<std::string, std::string> variables{
      {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_RANK", "6"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
      {"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_ID", "0"},        {"SLURM_PROCID", "0"},
      {"SLURM_NTASKS", "3"}};
  const Environment e = environment_of(variables);
  CHECK(e.launcher == Launcher::kMpirun);
  CHECK(e.launch_rank == 6);
  CHECK(e.several_nodes);
  CHECK_FALSE(e.slurm_step_tasks.has_value());
}

TEST_CASE("transports that do not leave a node are found where there are several") {
  const auto unusable = [](const std::string& name, const std::string& value, const char* nodes = "2") {
    return !unusable_transports(
                environment_of(
                    {{"PMIX_RANK", "0"}, {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NUM_NODES", nodes}, {name, value}}))
                .empty();
  };
  CHECK(unusable("OMPI_MCA_btl", "self,vader"));
  CHECK(unusable("OMPI_MCA_btl", "^openib,tcp"));
  CHECK_FALSE(unusable("OMPI_MCA_btl", "^openib"));
  CHECK_FALSE(unusable("OMPI_MCA_btl", "tcp,self"));
  CHECK_FALSE(unusable("OMPI_MCA_btl", "self,vader", "1"));
  CHECK(unusable("OMPI_MCA_btl_tcp_if_include", "lo"));
  CHECK(unusable("OMPI_MCA_btl_tcp_if_include", "127.0.0.0/8"));
  CHECK_FALSE(unusable("OMPI_MCA_btl_tcp_if_include", "eth0,lo"));
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

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/app/options/instructions.h"
#include "runtime/app/run/launch_check.h"

using namespace tdsl::rt;

namespace {

LaunchFacts running(const char* host, const char* program, std::uint64_t content, const char* missing = "",
                    bool fabric = false) {
  return {host, program, content, missing, fabric};
}

const std::vector<LaunchFacts> kTwo{running("a", "/p", 1), running("b", "/p", 1)};

}  // namespace

TEST_CASE("launch: facts travel between ranks") {
  const LaunchFacts mine = launch_facts("AVX2");
  CHECK(mine.content != 0);
  CHECK(decode_launch_facts(encode(mine)) == mine);
  CHECK(launch_facts("") == launch_facts(""));
}

TEST_CASE("launch: ranks run one program") {
  CHECK(launch_error(kTwo).empty());
  CHECK(
      launch_error({running("a", "/p", 1), running("b", "/q", 2)}) ==
      "the ranks run different executables: rank 0 on a runs /p, rank 1 on b runs /q: start the same file everywhere");
  CHECK(launch_error({running("a", "/p", 1), running("b", "/p", 2)})
            .ends_with("with other content: copy the file to every node, or start one that all nodes see"));
  CHECK(launch_error({running("a", "/p", 0), running("b", "/p", 2)}).empty());
}

TEST_CASE("launch: processors have the instructions") {
  CHECK(launch_error({running("a", "/p", 1), running("b", "/p", 1, "AVX2, FMA")}) ==
        "the processor of rank 1 on b lacks AVX2, FMA, which this executable uses: rebuild without --native, or build "
        "on that node");
  // This test was compiled for this processor.
  note_instructions(kCompiledInstructions);
  CHECK(missing_instructions().empty());
}

TEST_CASE("launch: warnings about settings that waste cores or have no effect") {
  Environment e;
  CHECK(launch_warnings(kTwo, e, 1, "./p").empty());
  e.omp_num_threads = 1;
  e.slurm_cpus_per_task = 16;
  CHECK(launch_warnings(kTwo, e, 1, "./p") ==
        std::vector<std::string>{
            "OMP_NUM_THREADS=1 leaves 15 cores of every rank's 16 idle: unset it, or start with --threads 16"});
  CHECK(launch_warnings(kTwo, e, 16, "./p").empty());
  e = {};
  e.blas_threads = {{"BLIS_NUM_THREADS", "1"}, {"MKL_NUM_THREADS", "8"}};
  REQUIRE(launch_warnings(kTwo, e, 1, "./p").size() == 1);
  CHECK(launch_warnings(kTwo, e, 1, "./p").front().starts_with("MKL_NUM_THREADS=8 has no effect"));
  e = {};
  e.launcher = Launcher::kMpirun;
  e.slurm_tasks = 8;
  CHECK(launch_warnings(kTwo, e, 1, "./p") ==
        std::vector<std::string>{"2 ranks run, but the job has room for 8: start with mpirun -n 8 ./p"});
  CHECK(launch_warnings(kTwo, e, 4, "./p").empty());  // two ranks using all cores
}

TEST_CASE("launch: settings that keep ranks from each other, or from the fast network") {
  Environment e;
  e.several_nodes = true;
  e.transports = {{"OMPI_MCA_btl", "self,vader"}};
  CHECK(
      launch_warnings(kTwo, e, 1, "./p") ==
      std::vector<std::string>{"OMPI_MCA_btl=self,vader cannot reach other nodes and was ignored: unset OMPI_MCA_btl"});
  e.transports = {{"OMPI_MCA_btl", "tcp,self"}};
  CHECK(launch_warnings(kTwo, e, 1, "./p").empty());
  CHECK(launch_warnings({running("a", "/p", 1, "", true), running("b", "/p", 1)}, e, 1, "./p") ==
        std::vector<std::string>{
            "OMPI_MCA_btl=tcp,self keeps the ranks from the nodes' fast network: unset OMPI_MCA_btl"});
}

#include "tools/build/process.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/unit/temporary_folder.h"

using namespace tdsl::codegen;
using namespace tdsl::codegen::testing;

TEST_CASE("build process: commands of a request run at the same time; one that fails makes the result") {
  const TemporaryFolder folder;
  const std::string pipe = folder / "pipe";
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  // Each waits for the other.
  const ProcessResult result = run_process({.command = {"sh", "-c", "echo hello >\"$0\"", pipe},
                                            .capture = true,
                                            .others = {{"sh", "-c", "read x <\"$0\"; echo \"got $x\"; exit 3", pipe}}});
  CHECK(result.exit_code == 3);
  CHECK(result.output == "got hello\n");
}

TEST_CASE("build process: if one of several commands cannot be started, none is left running") {
  const ProcessResult result =
      run_process({.command = {"sleep", "600"}, .capture = true, .others = {{"/no such program"}}});
  CHECK(result.exit_code == 127);
  CHECK(result.output.find("cannot start") != std::string::npos);
}

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "runtime/app/session/session_inputs.h"
#include "tests/runtime/temporary_folder.h"

using namespace tdsl::rt;

namespace {

/// A `.npy` file of 24 zeros of type f64.
std::string npy(const std::string& shape) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" + std::string(24 * 8, '\0');
}

/// Overwrites the file and resets its times: by inode, size and mtime it is the same file.
void rewrite(const std::string& path, const std::string& bytes) {
  struct stat before {};
  REQUIRE(::stat(path.c_str(), &before) == 0);
  const int fd = ::open(path.c_str(), O_WRONLY);
  REQUIRE(::pwrite(fd, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  const timespec times[] = {before.st_atim, before.st_mtim};
  REQUIRE(::futimens(fd, times) == 0);
  ::close(fd);
}

}  // namespace

TEST_CASE("an input that is rewritten between the headers of two ranks is named") {
  Environment environment;
  environment.launcher = Launcher::kMpirun;
  World world(environment);
  const tdsl::tests::TemporaryFolder folder;
  std::string path = folder.write("A.npy", npy("4, 6"));
  world.access()->broadcast(path, 0);
  ProgramInfo info("p", "p.tdsl", "p 1");
  info.input("A", "f64[n, m]", ElementType::kF64, {"n", "m"}, 1);
  AppOptions options;
  options.inputs["A"] = path;
  const auto open = [&](const std::string& name, const std::string& file, ElementType type) {
    if (world.rank() == world.size() - 1 && world.rank() > 0) rewrite(file, npy("6, 4"));
    return open_input(name, file, type);
  };
  if (world.size() == 1) {
    CHECK(SessionInputs(world, info, options, open).dimension("n") == 4);
  } else {
    CHECK_THROWS_WITH_AS(SessionInputs(world, info, options, open), doctest::Contains("is another file on rank"),
                         RunError);
  }
  world.access()->barrier();
}

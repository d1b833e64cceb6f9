#include <doctest/doctest.h>

#include <sstream>

#include "runtime/app/memory/cores.h"

using namespace tdsl::rt;

namespace {
std::string warned(const std::vector<RankCores>& ranks, int wanted, Launcher launcher = Launcher::kMpirun) {
  return placement_warning(ranks, wanted, launcher, "./a");
}
RankCores on(const char* host, std::vector<int> allowed, int online = 8) {
  return {host, std::move(allowed), online, 0};
}
}  // namespace

TEST_CASE("cores: what travels between ranks is the same afterwards") {
  const RankCores mine = cores_of_this_process();
  CHECK(!mine.allowed.empty());
  CHECK(decode_cores(encode(mine)) == mine);
  CHECK(decode_cores(encode(on("", {}))) == on("", {}));
}

TEST_CASE("cores: one line says where ranks and threads sit") {
  CHECK(cores_line({on("a", {0, 1}), on("a", {2, 3}), on("b", {0, 1, 2, 3, 6}), on("b", {7})}, 2) ==
        "4 ranks x 2 threads: a: cores 0-1 | 2-3; b: cores 0-3,6 | 7");
  CHECK(cores_line({on("a", {0, 1, 2, 3})}, 1) == "1 rank x 1 thread: a: cores 0-3");
  CHECK(cores_line({on("a", {0, 1}), on("a", {0, 1})}, 1) == "2 ranks x 1 thread: a: cores 0-1 for 2 ranks");
  std::vector<RankCores> many;
  for (const char* host : {"a", "b", "c", "d", "e", "f"}) many.push_back(on(host, {0}));
  CHECK(cores_line(many, 1) == "6 ranks x 1 thread: a: cores 0; b: cores 0; c: cores 0; d: cores 0; and 2 more nodes");
}

TEST_CASE("cores: a good placement has no warning") {
  CHECK(warned({on("a", {0, 1}), on("a", {2, 3}), on("b", {0, 1}), on("b", {2, 3})}, 2).empty());
  CHECK(warned({on("a", {0, 1, 2, 3, 4, 5, 6, 7}), on("a", {0, 1, 2, 3, 4, 5, 6, 7})}, 4).empty());
  // Oversubscribed on request.
  CHECK(warned({on("a", {0, 1}, 2), on("a", {0, 1}, 2), on("a", {0, 1}, 2)}, 1).empty());
}

TEST_CASE("cores: a bad placement is named with its remedy") {
  CHECK(warned({on("a", {0}), on("a", {1})}, 2) ==
        "rank 0 wants 2 threads, but the launcher has pinned it to core 0 of a: start with mpirun -n 2 --map-by "
        "ppr:2:node:PE=2 --bind-to core ./a");
  CHECK(warned({on("a", {0}), on("b", {1})}, 2, Launcher::kPmix) ==
        "rank 0 wants 2 threads, but the launcher has pinned it to core 0 of a: start with srun --mpi=pmix -n 2 "
        "--cpus-per-task=2 --cpu-bind=cores ./a");
  CHECK(warned({on("a", {0}), on("a", {1}), on("b", {0, 1})}, 2)
            .ends_with("mpirun -n 3 --map-by slot:PE=2 --bind-to core ./a"));
  CHECK(warned({on("a", {0, 1}), on("a", {0, 1})}, 2) ==
        "2 ranks of a are pinned to the same cores 0-1 while others are free: start with mpirun -n 2 --map-by "
        "ppr:2:node:PE=2 --bind-to core ./a");
}

TEST_CASE("cores: processors are equal if their models and instructions are") {
  const auto hash = [](const std::string& text) {
    std::istringstream file(text);
    return processor_of(file);
  };
  const std::string one = "processor\t: 0\nmodel name\t: A\ncpu MHz\t: 2000\nflags\t: fma avx2\n\nprocessor\t: 1\n";
  CHECK(hash(one) != 0);
  CHECK(hash(one) == hash("processor\t: 7\nmodel name\t: A\ncpu MHz\t: 3500\nflags\t: fma avx2\n"));
  CHECK(hash(one) != hash("processor\t: 0\nmodel name\t: A\nflags\t: fma avx2 avx512f\n"));
  CHECK(hash("processor\t: 0\n") == 0);
  RankCores other = on("b", {0});
  other.processor = hash(one);
  CHECK(equal_processors({on("a", {0}), on("b", {0})}));
  CHECK_FALSE(equal_processors({on("a", {0}), other}));
}

// Measures the link between two ranks. Rank 0 prints the one-way latency of a small message, and the bytes per second
// that a rank receives while both send, as lines `latency = ...` and `bandwidth = ...`. `tdsl_links --name`, on one
// rank: prints the MPI library that TDSL_MPI names, without initialising it.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_table.h"

namespace {

using tdsl::rt::check_mpi;
using tdsl::rt::mpi;
using tdsl::rt::MpiHandle;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Polls like the engine: a rank that shares its core lets the other one run.
void wait_for(MpiHandle& request) {
  constexpr int kPolls = 1000;
  int done = 0;
  for (int polls = 1; done == 0; ++polls) {
    check_mpi(mpi().test(&request, &done), "MPI_Test");
    if (done == 0 && polls % kPolls == 0) std::this_thread::yield();
  }
}

void exchange(std::vector<char>& mine, std::vector<char>& theirs, std::int64_t count, int other) {
  MpiHandle receive = 0, send = 0;
  check_mpi(mpi().irecv(theirs.data(), count, mpi().byte_type, other, 0, mpi().world, &receive), "MPI_Irecv");
  check_mpi(mpi().isend(mine.data(), count, mpi().byte_type, other, 0, mpi().world, &send), "MPI_Isend");
  wait_for(receive);
  wait_for(send);
}

/// Minimum seconds over `times` rounds, in which both ranks send and receive `count` bytes, `turns` times.
double quickest(std::vector<char>& mine, std::vector<char>& theirs, std::int64_t count, int turns, int times,
                int other) {
  double best = 1e300;
  for (int round = 0; round < times; ++round) {
    MpiHandle barrier = 0;
    check_mpi(mpi().ibarrier(mpi().world, &barrier), "MPI_Ibarrier");
    wait_for(barrier);
    const double begin = seconds_now();
    for (int turn = 0; turn < turns; ++turn) exchange(mine, theirs, count, other);
    best = std::min(best, (seconds_now() - begin) / turns);
  }
  return best;
}

/// Lines `family = ...`, `name = ...` and `library = ...`.
int print_name() {
  const tdsl_mpi_table& table = tdsl::rt::load_mpi(tdsl::rt::read_environment());
  std::printf("family = %s\nname = %s\nlibrary = %s\n", table.family, tdsl::rt::mpi_name().c_str(),
              tdsl::rt::mpi_library().c_str());
  return 0;
}

int measure() {
  tdsl::rt::load_mpi(tdsl::rt::read_environment());
  int rank = 0, size = 0, serialized = 0;
  check_mpi(mpi().init_thread(&serialized), "MPI_Init_thread");
  check_mpi(mpi().comm_rank(mpi().world, &rank), "MPI_Comm_rank");
  check_mpi(mpi().comm_size(mpi().world, &size), "MPI_Comm_size");
  if (size == 2) {
    constexpr int kLarge = 8 << 20;
    std::vector<char> mine(kLarge, 'm'), theirs(kLarge, 't');
    const double small = quickest(mine, theirs, 8, 500, 6, 1 - rank);
    const double large = quickest(mine, theirs, kLarge, 2, 5, 1 - rank);
    if (rank == 0) std::printf("latency = %.9g\nbandwidth = %.9g\n", small, kLarge / large);
  }
  mpi().finalize();
  return size == 2 ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return argc == 2 && std::strcmp(argv[1], "--name") == 0 ? print_name() : measure();
  } catch (const tdsl::rt::RunError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}

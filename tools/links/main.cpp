// Measures the link between two ranks. Rank 0 prints the one-way latency of a small message, and the bytes per second
// that a rank receives while both send, as lines `latency = ...` and `bandwidth = ...`.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <vector>

namespace {

/// Minimum seconds over `times` rounds, in which both ranks send and receive `count` bytes, `turns` times.
double quickest(std::vector<char>& mine, std::vector<char>& theirs, int count, int turns, int times, int other) {
  double best = 1e300;
  for (int round = 0; round < times; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (int turn = 0; turn < turns; ++turn) {
      MPI_Sendrecv(mine.data(), count, MPI_BYTE, other, 0, theirs.data(), count, MPI_BYTE, other, 0, MPI_COMM_WORLD,
                   MPI_STATUS_IGNORE);
    }
    best = std::min(best, (MPI_Wtime() - begin) / turns);
  }
  return best;
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0, size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size == 2) {
    constexpr int kLarge = 8 << 20;
    std::vector<char> mine(kLarge, 'm'), theirs(kLarge, 't');
    const double small = quickest(mine, theirs, 8, 500, 6, 1 - rank);
    const double large = quickest(mine, theirs, kLarge, 2, 5, 1 - rank);
    if (rank == 0) std::printf("latency = %.9g\nbandwidth = %.9g\n", small, kLarge / large);
  }
  MPI_Finalize();
  return size == 2 ? 0 : 2;
}

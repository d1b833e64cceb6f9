// ping_pong TURNS: two ranks exchange eight bytes back and forth. Prints the one-way latency in seconds.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long turns = argc > 1 ? std::atol(argv[1]) : 10000;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  double value = 1;
  double seconds = 0;
  for (int round = 0; round < 2; ++round) {  // the first round opens connections
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long turn = 0; turn < turns; ++turn) {
      if (rank == 0) MPI_Send(&value, 1, MPI_DOUBLE, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&value, 1, MPI_DOUBLE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      if (rank == 1) MPI_Send(&value, 1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD);
    }
    seconds = MPI_Wtime() - start;
  }
  if (rank == 0) std::printf("{\"seconds\": %.9f}\n", seconds / static_cast<double>(2 * turns));
  MPI_Finalize();
}

// bytes BYTES: two or four ranks in a square grid exchange the data of a distributed matrix product: every rank
// receives half of BYTES from its neighbour in the row and half from that in the column, in messages of at most 4 MiB.
// Prints the seconds of the slowest rank.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const long long bytes = argc > 1 ? std::atoll(argv[1]) : 0;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  constexpr long long kMessage = 1LL << 22;
  std::vector<char> out(static_cast<std::size_t>(bytes), 1);
  std::vector<char> in(static_cast<std::size_t>(bytes));
  double slowest = 0;
  for (int round = 0; round < 2; ++round) {  // the first round opens connections
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    std::vector<MPI_Request> requests;
    for (long long at = 0, number = 0; at < bytes; at += kMessage, ++number) {
      const int peer = rank ^ (number % 2 == 0 && ranks > 2 ? 2 : 1);
      const int size = static_cast<int>(std::min(kMessage, bytes - at));
      MPI_Irecv(in.data() + at, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
      MPI_Isend(out.data() + at, size, MPI_CHAR, peer, 0, MPI_COMM_WORLD, &requests.emplace_back());
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    const double mine = MPI_Wtime() - start;
    MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  }
  if (rank == 0) std::printf("{\"seconds\": %.6f}\n", slowest);
  MPI_Finalize();
}

// scalapack ROWS COLUMNS NB N K M A.npy B.npy w.npy r.bin: C = A B with PDGEMM on a ROWS x COLUMNS process grid in
// block-cyclic layout with blocks of NB; prints the slowest rank's seconds.

#include <mpi.h>

#include "block_cyclic.h"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 11) peer::stop("usage: scalapack ROWS COLUMNS NB N K M A.npy B.npy w.npy r.bin");
  const int nb = std::atoi(argv[3]), n = std::atoi(argv[4]), k = std::atoi(argv[5]), m = std::atoi(argv[6]);
  const auto count = [](int x, int y) { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); };
  const peer::MatrixFile<double> a_file(argv[7], count(n, k)), b_file(argv[8], count(k, m)), w(argv[9], count(m, 1));
  using peer::Part;
  const peer::Grid grid = peer::make_grid(std::atoi(argv[1]), std::atoi(argv[2]));
  Part a(grid, n, k, nb), b(grid, k, m, nb), c(grid, n, m, nb);
  a.read(a_file, k);
  b.read(b_file, m);
  const auto multiply = [&](int rows, int sum, int columns) { peer::multiply(a, b, 0, c, rows, sum, columns); };
  multiply(std::min(n, 512), std::min(k, 512), std::min(m, 512));
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = peer::now();
  multiply(n, k, m);
  double seconds = peer::now() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::vector<double> mine(static_cast<std::size_t>(n), 0.0), r(static_cast<std::size_t>(n));
  for (int j = 0; j < c.columns; ++j) {
    for (int i = 0; i < c.rows; ++i)
      mine[static_cast<std::size_t>(c.global_row(i))] += c.at(i, j) * c.at(i, j) * w.data()[c.global_column(j)];
  }
  MPI_Reduce(mine.data(), r.data(), n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) peer::report(seconds, r, argv[10]);
  MPI_Finalize();
}

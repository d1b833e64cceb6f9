// papers_scalapack ROWS COLUMNS NB WORKLOAD FOLDER SIZES...: `product` n k m (C = A B) or `chain` s t u (R = A B + C (D
// E)) with PDGEMM on a ROWS x COLUMNS process grid in blocks of NB. Prints the slowest rank's seconds for the second
// run; writes FOLDER/answer.bin.
#include <mpi.h>

#include <cmath>
#include <string>

#include "block_cyclic.h"

using peer::Part;

namespace {

Part part_of(const peer::Grid& grid, const std::string& folder, const char* name, int rows, int columns, int nb) {
  Part part(grid, rows, columns, nb);
  const peer::MatrixFile<double> file((folder + "/" + name + ".npy").c_str(),
                                      static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  part.read(file, columns);
  return part;
}

/// The slowest rank's seconds for the second of two runs.
template <class F>
double timed(F&& f) {
  double seconds = 0;
  for (int run = 0; run < 2; ++run) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = peer::now();
    f();
    seconds = peer::now() - start;
  }
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return seconds;
}

/// Multiplies every row by the numbers of digest.py.
void report(double seconds, Part& result, int rows, const std::string& folder) {
  std::vector<double> mine(static_cast<std::size_t>(rows), 0.0), all(static_cast<std::size_t>(rows));
  for (int j = 0; j < result.columns; ++j) {
    const double factor = 2 + std::cos(static_cast<double>(result.global_column(j)));
    for (int i = 0; i < result.rows; ++i)
      mine[static_cast<std::size_t>(result.global_row(i))] += result.at(i, j) * factor;
  }
  MPI_Reduce(mine.data(), all.data(), rows, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) peer::report(seconds, all, (folder + "/answer.bin").c_str());
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 9) peer::stop("usage: papers_scalapack ROWS COLUMNS NB WORKLOAD FOLDER SIZE SIZE SIZE");
  const peer::Grid grid = peer::make_grid(std::atoi(argv[1]), std::atoi(argv[2]));
  const int nb = std::atoi(argv[3]), x = std::atoi(argv[6]), y = std::atoi(argv[7]), z = std::atoi(argv[8]);
  const std::string workload = argv[4], folder = argv[5];
  const auto read = [&](const char* name, int rows, int columns) {
    return part_of(grid, folder, name, rows, columns, nb);
  };
  if (workload == "product") {
    const Part a = read("A", x, y), b = read("B", y, z);
    Part c(grid, x, z, nb);
    const double seconds = timed([&] { peer::multiply(a, b, 0, c, x, y, z); });
    report(seconds, c, x, folder);
  } else {
    const Part a = read("A", x, y), b = read("B", y, x), c = read("C", x, y), d = read("D", y, z), e = read("E", z, x);
    Part de(grid, y, x, nb), r(grid, x, x, nb);
    const double seconds = timed([&] {
      peer::multiply(a, b, 0, r, x, y, x);
      peer::multiply(d, e, 0, de, y, z, x);
      peer::multiply(c, de, 1, r, x, y, x);
    });
    report(seconds, r, x, folder);
  }
  MPI_Finalize();
}

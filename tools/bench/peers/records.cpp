// records ROWS COLUMNS RECORDS OUT: a matrix that grows by 1 per step, written to one `.npy` file after each step by
// all ranks, each its rows, and flushed to disk at the end: the loop of `bench series` by hand.

#include <fcntl.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

void require(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

std::string header(long records, long rows, long columns) {
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (" + std::to_string(records) + ", " +
                     std::to_string(rows) + ", " + std::to_string(columns) + "), }";
  text.resize(117, ' ');
  return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(118) + '\0' + text + "\n";
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  require(argc == 5, "usage: records ROWS COLUMNS RECORDS OUT");
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const long rows = std::atol(argv[1]), columns = std::atol(argv[2]), records = std::atol(argv[3]);
  const std::string head = header(records, rows, columns);
  if (rank == 0) {
    const int made = ::open(argv[4], O_WRONLY | O_CREAT | O_TRUNC, 0644);
    require(made >= 0 && ::pwrite(made, head.data(), head.size(), 0) == static_cast<ssize_t>(head.size()), argv[4]);
    ::close(made);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  const int file = ::open(argv[4], O_WRONLY);
  require(file >= 0, argv[4]);
  const long first = rows * rank / size, end = rows * (rank + 1) / size;
  std::vector<double> state(static_cast<std::size_t>((end - first) * columns), 0.0);
  const auto bytes = static_cast<ssize_t>(state.size() * sizeof(double));
  for (long t = 0; t < records; ++t) {
    for (double& x : state) x += 1.0;
    const auto at = static_cast<off_t>(head.size()) + (t * rows + first) * columns * static_cast<off_t>(sizeof(double));
    for (ssize_t done = 0; done < bytes;) {
      const ssize_t wrote = ::pwrite(file, reinterpret_cast<const char*>(state.data()) + done,
                                     static_cast<std::size_t>(bytes - done), at + done);
      require(wrote > 0, argv[4]);
      done += wrote;
    }
  }
  require(::fsync(file) == 0, argv[4]);
  ::close(file);
  MPI_Finalize();
}

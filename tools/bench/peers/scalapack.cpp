// scalapack ROWS COLUMNS NB N K M A.npy B.npy w.npy r.bin: C = A B by PDGEMM on a ROWS x COLUMNS grid of ranks in its own
// block-cyclic layout with blocks of NB; prints the slowest rank's seconds.

#include <mpi.h>

#include <algorithm>

#include "matrix_file.h"

extern "C" {
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
int numroc_(const int*, const int*, const int*, const int*, const int*);
void descinit_(int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, int*);
void pdgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*, const int*, const int*,
             const double*, const int*, const int*, const int*, const double*, double*, const int*, const int*, const int*);
}

namespace {

struct Grid {
  int context = 0, rows = 1, columns = 1, row = 0, column = 0;
};

/// A rank's part of a matrix: column-major, local (i, j) is global (global_row(i), global_column(j)).
struct Part {
  int rows = 0, columns = 0, block = 1;
  int descriptor[9] = {};
  std::vector<double> data;

  Part(const Grid& grid, int global_rows, int global_columns, int nb) : block(nb), grid_(grid) {
    const int zero = 0;
    rows = numroc_(&global_rows, &nb, &grid.row, &zero, &grid.rows);
    columns = numroc_(&global_columns, &nb, &grid.column, &zero, &grid.columns);
    const int leading = std::max(1, rows);
    int info = 0;
    descinit_(descriptor, &global_rows, &global_columns, &nb, &nb, &zero, &zero, &grid.context, &leading, &info);
    if (info != 0) peer::stop("descinit failed");
    data.assign(static_cast<std::size_t>(leading) * static_cast<std::size_t>(std::max(1, columns)), 1.0);
  }
  int global_row(int i) const { return ((i / block) * grid_.rows + grid_.row) * block + i % block; }
  int global_column(int j) const { return ((j / block) * grid_.columns + grid_.column) * block + j % block; }
  double& at(int i, int j) { return data[static_cast<std::size_t>(j) * static_cast<std::size_t>(std::max(1, rows)) + static_cast<std::size_t>(i)]; }

  void read(const peer::MatrixFile<double>& file, int global_columns) {
    for (int i = 0; i < rows; ++i) {
      const double* const line = file.data() + static_cast<std::size_t>(global_row(i)) * static_cast<std::size_t>(global_columns);
      for (int j = 0; j < columns; ++j) at(i, j) = line[global_column(j)];
    }
  }

 private:
  Grid grid_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 11) peer::stop("usage: scalapack ROWS COLUMNS NB N K M A.npy B.npy w.npy r.bin");
  const int nb = std::atoi(argv[3]), n = std::atoi(argv[4]), k = std::atoi(argv[5]), m = std::atoi(argv[6]);
  const auto count = [](int x, int y) { return static_cast<std::size_t>(x) * static_cast<std::size_t>(y); };
  const peer::MatrixFile<double> a_file(argv[7], count(n, k)), b_file(argv[8], count(k, m)), w(argv[9], count(m, 1));
  Grid grid;
  Cblacs_get(0, 0, &grid.context);
  Cblacs_gridinit(&grid.context, "R", std::atoi(argv[1]), std::atoi(argv[2]));
  Cblacs_gridinfo(grid.context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  Part a(grid, n, k, nb), b(grid, k, m, nb), c(grid, n, m, nb);
  a.read(a_file, k);
  b.read(b_file, m);
  const int one = 1;
  const double alpha = 1, beta = 0;
  const auto multiply = [&](int rows, int sum, int columns) {
    pdgemm_("N", "N", &rows, &columns, &sum, &alpha, a.data.data(), &one, &one, a.descriptor, b.data.data(), &one, &one, b.descriptor, &beta,
            c.data.data(), &one, &one, c.descriptor);
  };
  multiply(std::min(n, 512), std::min(k, 512), std::min(m, 512));
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = peer::now();
  multiply(n, k, m);
  double seconds = peer::now() - start;
  MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  std::vector<double> mine(static_cast<std::size_t>(n), 0.0), r(static_cast<std::size_t>(n));
  for (int j = 0; j < c.columns; ++j) {
    for (int i = 0; i < c.rows; ++i) mine[static_cast<std::size_t>(c.global_row(i))] += c.at(i, j) * c.at(i, j) * w.data()[c.global_column(j)];
  }
  MPI_Reduce(mine.data(), r.data(), n, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) peer::report(seconds, r, argv[10]);
  MPI_Finalize();
}

#pragma once

#include <algorithm>
#include <vector>

#include "matrix_file.h"

// Process grids and block-cyclic matrices for ScaLAPACK.

extern "C" {
void Cblacs_get(int, int, int*);
void Cblacs_gridinit(int*, const char*, int, int);
void Cblacs_gridinfo(int, int*, int*, int*, int*);
int numroc_(const int*, const int*, const int*, const int*, const int*);
void descinit_(int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*, const int*,
               int*);
void pdgemm_(const char*, const char*, const int*, const int*, const int*, const double*, const double*, const int*,
             const int*, const int*, const double*, const int*, const int*, const int*, const double*, double*,
             const int*, const int*, const int*);
}

namespace peer {

struct Grid {
  int context = 0, rows = 1, columns = 1, row = 0, column = 0;
};

/// A rank's part of a matrix: column-major; local (i, j) is global (global_row(i), global_column(j)).
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
    if (info != 0) stop("descinit failed");
    data.assign(static_cast<std::size_t>(leading) * static_cast<std::size_t>(std::max(1, columns)), 1.0);
  }
  int global_row(int i) const { return ((i / block) * grid_.rows + grid_.row) * block + i % block; }
  int global_column(int j) const { return ((j / block) * grid_.columns + grid_.column) * block + j % block; }
  double& at(int i, int j) {
    return data[static_cast<std::size_t>(j) * static_cast<std::size_t>(std::max(1, rows)) +
                static_cast<std::size_t>(i)];
  }

  void read(const MatrixFile<double>& file, int global_columns) {
    for (int i = 0; i < rows; ++i) {
      const double* const line =
          file.data() + static_cast<std::size_t>(global_row(i)) * static_cast<std::size_t>(global_columns);
      for (int j = 0; j < columns; ++j) at(i, j) = line[global_column(j)];
    }
  }

 private:
  Grid grid_;
};

/// Creates a rows x columns process grid.
inline Grid make_grid(int rows, int columns) {
  Grid grid;
  Cblacs_get(0, 0, &grid.context);
  Cblacs_gridinit(&grid.context, "R", rows, columns);
  Cblacs_gridinfo(grid.context, &grid.rows, &grid.columns, &grid.row, &grid.column);
  return grid;
}

/// c = a b + beta c for the leading rows x columns, summed over `sum`.
inline void multiply(const Part& a, const Part& b, double beta, Part& c, int rows, int sum, int columns) {
  const int one = 1;
  const double alpha = 1;
  pdgemm_("N", "N", &rows, &columns, &sum, &alpha, a.data.data(), &one, &one, a.descriptor, b.data.data(), &one, &one,
          b.descriptor, &beta, c.data.data(), &one, &one, c.descriptor);
}

}  // namespace peer

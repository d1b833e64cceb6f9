/* Calls the library `product` from C: on the ranks of a communicator of its own if there are several, in this process alone without MPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "product.h"

#ifdef __SANITIZE_ADDRESS__
/* As in programs of ours (runtime/engine/mpi/mpi_world.cpp): what MPI's plugins leave behind is told by the library that allocated it. */
int dlclose(void *handle) { return handle == NULL; }
#endif

enum { N = 61, M = 40, K = 53 };

static int failures = 0;

static void expect(int good, const char *what, const char *message) {
  if (good) return;
  printf("caller: %s: %s\n", what, message);
  failures++;
}

static double a_at(int i, int l) { return (i * 7 + l * 3) % 11 - 4; }
static double b_at(int l, int j) { return (l * 5 + j * 2) % 13 - 6; }
static double c_at(int i, int j) {
  double sum = 0;
  for (int l = 0; l < M; ++l) sum += a_at(i, l) * b_at(l, j);
  return sum;
}

/* A box of A by rows; of B by columns, stored column after column; of C by rows, backwards. */
static tdsl_box box_of(double *data, int lo0, int hi0, int lo1, int hi1, int64_t stride0, int64_t stride1) {
  tdsl_box box = {data, {lo0, lo1}, {hi0, hi1}, {stride0, stride1}};
  return box;
}

static void multiply(product_handle *handle, int rank, int ranks) {
  const int a0 = N * rank / ranks, a1 = N * (rank + 1) / ranks;
  const int b0 = K * (ranks - 1 - rank) / ranks, b1 = K * (ranks - rank) / ranks;
  double *a = malloc(sizeof(double) * N * M), *b = malloc(sizeof(double) * M * K), *c = malloc(sizeof(double) * N * K);
  for (int i = a0; i < a1; ++i)
    for (int l = 0; l < M; ++l) a[(i - a0) * M + l] = a_at(i, l);
  for (int j = b0; j < b1; ++j)
    for (int l = 0; l < M; ++l) b[(j - b0) * M + l] = b_at(l, j);
  tdsl_box a_box = box_of(a, a0, a1, 0, M, M, 1), b_box = box_of(b, 0, M, b0, b1, 1, M);
  tdsl_box c_box = box_of(c + (a1 - a0 > 0 ? (a1 - a0 - 1) * K : 0), a0, a1, 0, K, -K, 1);
  tdsl_array inputs[] = {{"A", TDSL_F64, 2, {N, M}, 1, &a_box}, {"B", TDSL_F64, 2, {M, K}, 1, &b_box}};
  tdsl_array output = {"C", TDSL_F64, 2, {N, K}, 1, &c_box};
  const int code = product_run(handle, inputs, 2, &output, 1);
  expect(code == TDSL_GOOD, "run", product_message(handle));
  for (int i = a0; i < a1 && code == 0; ++i)
    for (int j = 0; j < K; ++j)
      if (c[(a1 - 1 - i) * K + j] != c_at(i, j)) {
        expect(0, "C", "another value");
        i = a1;
        break;
      }
  for (int i = a0; i < a1; ++i)
    for (int l = 0; l < M; ++l)
      if (a[(i - a0) * M + l] != a_at(i, l)) {
        expect(0, "A", "an input was changed");
        i = a1;
        break;
      }

  tdsl_array found = {"C", 0, 0, {0}, 0, NULL};
  expect(product_run(handle, inputs, 2, &found, 1) == TDSL_GOOD, "run with memory of the library", product_message(handle));
  expect(found.type == TDSL_F64 && found.dimensions == 2 && found.shape[0] == N && found.shape[1] == K, "found", "another shape");
  double *mine = product_take(handle, 0);
  for (int64_t k = 0; k < found.box_count; ++k) {
    const tdsl_box *box = &found.boxes[k];
    for (int64_t i = box->lo[0]; i < box->hi[0]; ++i)
      for (int64_t j = box->lo[1]; j < box->hi[1]; ++j)
        if (mine[(i - box->lo[0]) * box->stride[0] + (j - box->lo[1]) * box->stride[1]] != c_at((int)i, (int)j)) {
          expect(0, "found C", "another value");
          i = box->hi[0];
          break;
        }
  }
  free(mine);

  /* Mistakes: all ranks hear of them, and the handle goes on. */
  inputs[1].shape[0] = M + 1;
  expect(product_run(handle, inputs, 2, &output, 1) == TDSL_MISUSED && strstr(product_message(handle), "no rank gives the element") != NULL, "elements that are missing",
         product_message(handle));
  inputs[1].shape[0] = M;
  if (rank == ranks - 1) a_box.hi[1] = M + 1;
  expect(product_run(handle, inputs, 2, &output, 1) == TDSL_MISUSED && strstr(product_message(handle), "input A has a box [0, 41)") != NULL, "a box beyond its tensor",
         product_message(handle));
  a_box.hi[1] = M;
  inputs[0].type = TDSL_F32;
  expect(product_run(handle, inputs, 2, &output, 1) == TDSL_MISUSED && strstr(product_message(handle), "declared f64") != NULL, "another type", product_message(handle));
  inputs[0].type = TDSL_F64;
  expect(product_run(handle, inputs, 1, &output, 1) == TDSL_MISUSED, "an input that is missing", product_message(handle));

  const tdsl_array *layout = NULL;
  expect(product_layout(handle, inputs, 2, "A", &layout) == TDSL_GOOD, "layout", product_message(handle));
  long long elements = 0, all = 0;
  for (int64_t k = 0; layout != NULL && k < layout->box_count; ++k)
    elements += (layout->boxes[k].hi[0] - layout->boxes[k].lo[0]) * (layout->boxes[k].hi[1] - layout->boxes[k].lo[1]);
  if (ranks > 1)
    MPI_Allreduce(&elements, &all, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  else
    all = elements;
  expect(all >= N * M && layout->shape[0] == N, "layout", "not all elements are somewhere");
  expect(product_run(handle, inputs, 2, &output, 1) == TDSL_GOOD, "run after mistakes", product_message(handle));
  free(a);
  free(b);
  free(c);
}

/* A as rows of stored elements, C likewise: first their number, then the elements. */
static void multiply_rows(product_handle *handle, int rank, int ranks) {
  const int a0 = N * rank / ranks, a1 = N * (rank + 1) / ranks;
  int32_t *indptr = malloc(sizeof(int32_t) * (size_t)(a1 - a0 + 1)), *indices = malloc(sizeof(int32_t) * N * M);
  double *values = malloc(sizeof(double) * N * M), *b = malloc(sizeof(double) * M * K);
  int32_t count = 0;
  indptr[0] = 0;
  for (int i = a0; i < a1; ++i) {
    for (int l = M - 1; l >= 0; --l) {
      if (a_at(i, l) == 0) continue;
      indices[count] = l;
      values[count++] = a_at(i, l);
    }
    indptr[i - a0 + 1] = count;
  }
  for (int l = 0; l < M; ++l)
    for (int j = 0; j < K; ++j) b[l * K + j] = b_at(l, j);
  tdsl_sparse a_rows = {sizeof(tdsl_sparse), 32, indptr, indices, values, a1 - a0, M, count};
  tdsl_box a_box = {&a_rows, {a0, 0}, {a1, M}, {0}}, b_box = box_of(b, 0, M, 0, K, K, 1);
  tdsl_array inputs[] = {{"A", TDSL_F64 + TDSL_SPARSE, 2, {N, M}, 1, &a_box}, {"B", TDSL_F64, 2, {M, K}, 1, &b_box}};
  tdsl_sparse c_rows = {sizeof(tdsl_sparse), 0, NULL, NULL, NULL, 0, 0, 0};
  tdsl_box c_box = {&c_rows, {0}, {0}, {0}};
  tdsl_array output = {"C", TDSL_SPARSE, 0, {0}, 1, &c_box};
  expect(product_run(handle, inputs, 2, &output, 1) == TDSL_GOOD, "run with rows", product_message(handle));
  expect(output.type == TDSL_F64 + TDSL_SPARSE && output.shape[0] == N && c_rows.cols == K && c_rows.rows == c_box.hi[0] - c_box.lo[0], "rows of C", "another shape");
  int64_t *starts = malloc(sizeof(int64_t) * (size_t)(c_rows.rows + 1)), *columns = malloc(sizeof(int64_t) * (size_t)(c_rows.count + 1));
  double *c = malloc(sizeof(double) * (size_t)(c_rows.count + 1));
  c_rows.index_bits = 64;
  expect(product_fill(handle, 0, &c_rows) == TDSL_MISUSED, "fill without memory", product_message(handle));
  c_rows.indptr = starts;
  c_rows.indices = columns;
  c_rows.values = c;
  expect(product_fill(handle, 0, &c_rows) == TDSL_GOOD, "fill", product_message(handle));
  for (int64_t i = 0; i < c_rows.rows; ++i) {
    int64_t k = starts[i];
    for (int j = 0; j < K; ++j) {
      const double wanted = c_at((int)(i + c_box.lo[0]), j);
      if (wanted == 0) continue;
      expect(k < starts[i + 1] && columns[k] == j && c[k] == wanted, "an element of C", "another value");
      ++k;
    }
    expect(k == starts[i + 1], "a row of C", "another length");
  }
  expect(product_fill(handle, 0, &c_rows) == TDSL_MISUSED, "fill twice", product_message(handle));
  if (rank == 0) indices[0] = M;
  expect(product_run(handle, inputs, 2, &output, 1) == TDSL_MISUSED && strstr(product_message(handle), "an element in column 40 of 40") != NULL,
         "a column beyond the matrix", product_message(handle));
  free(indptr);
  free(indices);
  free(values);
  free(b);
  free(starts);
  free(columns);
  free(c);
}

int main(int argc, char **argv) {
  int rank = 0, ranks = 1, provided = 0;
  const int with_mpi = argc > 1 && strcmp(argv[1], "mpi") == 0;
  MPI_Comm mine;
  if (with_mpi) {
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* The other way round. */
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &mine);
    MPI_Comm_rank(mine, &rank);
  }
  const char *options[] = {"--threads", "2"};
  product_handle *handle = NULL, *wrong = NULL;
  expect(product_open(with_mpi ? &mine : NULL, options, 2, &handle) == TDSL_GOOD, "open", product_message(handle));
  const char *unknown[] = {"--thread", "2"};
  expect(product_open(with_mpi ? &mine : NULL, unknown, 2, &wrong) == TDSL_MISUSED, "an unknown option", product_message(wrong));
  product_close(wrong);
  multiply(handle, rank, ranks);
  multiply_rows(handle, rank, ranks);
  expect(product_close(handle) == TDSL_GOOD, "close", "");
  if (with_mpi) {
    /* MPI is still the caller's. */
    int sum = 0, all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, mine);
    expect(sum == ranks * (ranks - 1) / 2, "MPI afterwards", "another sum");
    MPI_Comm_free(&mine);
    MPI_Finalize();
    failures = all;
  }
  if (rank == 0 && failures == 0) printf("caller: good\n");
  return failures != 0;
}

// sparse_graphblas CASE REPEATS FILE.raw: a case of `bench sparse` by SuiteSparse:GraphBLAS, one thread. The file has rows, columns, entries,
// then pointers, columns (64 bits each) and values. Prints JSON as sparse_blocks.cpp does.

#include <GraphBLAS.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void require(GrB_Info info) {
  if (info == GrB_SUCCESS) return;
  fprintf(stderr, "GraphBLAS: error %d\n", (int)info);
  exit(1);
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  const int repeats = atoi(argv[2]);
  FILE* file = fopen(argv[3], "rb");
  GrB_Index size[3];
  if (file == NULL || fread(size, 8, 3, file) != 3) return 2;
  GrB_Index* pointers = malloc(8 * (size[0] + 1));
  GrB_Index* columns = malloc(8 * size[2]);
  double* values = malloc(8 * size[2]);
  if (fread(pointers, 8, size[0] + 1, file) != size[0] + 1 || fread(columns, 8, size[2], file) != size[2] || fread(values, 8, size[2], file) != size[2]) return 2;
  require(GrB_init(GrB_NONBLOCKING));
  require(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, 1));
  GrB_Matrix a;
  require(GrB_Matrix_import(&a, GrB_FP64, size[0], size[1], pointers, columns, values, size[0] + 1, size[2], size[2], GrB_CSR_FORMAT));
  GrB_Vector x, y;
  require(GrB_Vector_new(&x, GrB_FP64, size[1]));
  for (GrB_Index k = 0; k < size[1]; ++k) require(GrB_Vector_setElement(x, (double)(k % 17) - 8, k));
  require(GrB_Vector_wait(x, GrB_MATERIALIZE));
  double least = 1e30, answer = 0;
  GrB_Matrix c = NULL;
  require(GrB_Vector_new(&y, GrB_FP64, size[0]));
  for (int step = 0; step <= repeats; ++step) {
    const double start = now();
    if (strcmp(argv[1], "spgemm") == 0) {
      if (c != NULL) GrB_free(&c);
      require(GrB_Matrix_new(&c, GrB_FP64, size[0], size[1]));
      require(GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, a, NULL));
      require(GrB_Matrix_wait(c, GrB_MATERIALIZE));
    } else if (strcmp(argv[1], "spmv") == 0) {
      require(GrB_mxv(y, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, x, NULL));
      require(GrB_Vector_wait(y, GrB_MATERIALIZE));
    } else {
      require(GrB_vxm(y, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, x, a, NULL));
      require(GrB_Vector_wait(y, GrB_MATERIALIZE));
    }
    const double seconds = now() - start;
    if (step > 0 && seconds < least) least = seconds;
  }
  if (c != NULL) {
    GrB_Index count;
    require(GrB_Matrix_nvals(&count, c));
    GrB_Index* i = malloc(8 * (count + 1));
    GrB_Index* j = malloc(8 * (count + 1));
    double* v = malloc(8 * (count + 1));
    require(GrB_Matrix_extractTuples_FP64(i, j, v, &count, c));
    for (GrB_Index k = 0; k < count; ++k) answer += v[k] * (double)((i[k] + j[k]) % 5);
  } else {
    for (GrB_Index k = 0; k < size[0]; ++k) {
      double v = 0;
      if (GrB_Vector_extractElement_FP64(&v, y, k) == GrB_SUCCESS) answer += v * (double)(k % 5);
    }
  }
  printf("{\"seconds\": %.9f, \"answer\": %.17g}\n", least, answer);
  return 0;
}

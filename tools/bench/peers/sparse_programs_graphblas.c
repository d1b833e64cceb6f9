// sparse_programs_graphblas CASE REPEATS THREADS ANSWER A.raw V.raw: programs of `bench sparse_programs` by SuiteSparse:GraphBLAS. A.raw has rows, columns,
// entries, then pointers, columns (64 bits each) and values; V.raw the elements of the vector. Writes the result's elements and prints the seconds of a step
// as JSON, operands in memory. PageRank has the transpose of its links, made ahead, as LAGraph has.

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

static void* read_array(FILE* file, size_t count) {
  void* data = malloc(8 * (count + 1));
  if (data == NULL || fread(data, 8, count, file) != count) {
    fprintf(stderr, "a file is too short\n");
    exit(2);
  }
  return data;
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static GrB_Index n;

// r = A r / 64
static void product_step(GrB_Matrix a, GrB_Descriptor how, GrB_Vector* r) {
  GrB_Vector y;
  require(GrB_Vector_new(&y, GrB_FP64, n));
  require(GrB_mxv(y, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, *r, how));
  require(GrB_apply(y, NULL, NULL, GrB_DIV_FP64, y, 64.0, NULL));
  require(GrB_Vector_wait(y, GrB_MATERIALIZE));
  GrB_free(r);
  *r = y;
}

// r = 0.15 / n + 0.85 * links' (r / degrees), where damped has degrees / 0.85 and nothing of pages without links
static void page_rank_step(GrB_Matrix transposed, GrB_Vector damped, GrB_Vector* r) {
  GrB_Vector share, y;
  require(GrB_Vector_new(&share, GrB_FP64, n));
  require(GrB_eWiseMult(share, NULL, NULL, GrB_DIV_FP64, *r, damped, NULL));
  require(GrB_Vector_new(&y, GrB_FP64, n));
  require(GrB_assign(y, NULL, NULL, 0.15 / (double)n, GrB_ALL, n, NULL));
  require(GrB_mxv(y, NULL, GrB_PLUS_FP64, GxB_PLUS_SECOND_FP64, transposed, share, NULL));
  require(GrB_Vector_wait(y, GrB_MATERIALIZE));
  GrB_free(&share);
  GrB_free(r);
  *r = y;
}

int main(int argc, char** argv) {
  if (argc != 7) return 2;
  const int repeats = atoi(argv[2]);
  FILE* file = fopen(argv[5], "rb");
  FILE* vector = fopen(argv[6], "rb");
  if (file == NULL || vector == NULL) return 2;
  GrB_Index* size = read_array(file, 3);
  n = size[0];
  GrB_Index* pointers = read_array(file, n + 1);
  GrB_Index* columns = read_array(file, size[2]);
  double* values = read_array(file, size[2]);
  double* first = read_array(vector, n);
  require(GrB_init(GrB_NONBLOCKING));
  require(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, atoi(argv[3])));
  GrB_Matrix a, transposed = NULL;
  require(GrB_Matrix_import(&a, GrB_FP64, n, size[1], pointers, columns, values, n + 1, size[2], size[2], GrB_CSR_FORMAT));
  GrB_Vector r, damped;
  require(GrB_Vector_new(&r, GrB_FP64, n));
  require(GrB_Vector_new(&damped, GrB_FP64, n));
  for (GrB_Index k = 0; k < n; ++k) {
    require(GrB_Vector_setElement(r, first[k], k));
    if (pointers[k + 1] > pointers[k]) require(GrB_Vector_setElement(damped, (double)(pointers[k + 1] - pointers[k]) / 0.85, k));
  }
  require(GrB_Vector_wait(r, GrB_MATERIALIZE));
  require(GrB_Vector_wait(damped, GrB_MATERIALIZE));
  const int pages = strcmp(argv[1], "pagerank") == 0;
  GrB_Descriptor how = strcmp(argv[1], "spmv_transposed") == 0 ? GrB_DESC_T0 : NULL;
  if (pages) {
    require(GrB_Matrix_new(&transposed, GrB_FP64, size[1], n));
    require(GrB_transpose(transposed, NULL, NULL, a, NULL));
    require(GrB_Matrix_wait(transposed, GrB_MATERIALIZE));
  }
  double start = 0;
  for (int step = 0; step <= repeats; ++step) {
    if (step == 1) start = now();
    if (pages) {
      page_rank_step(transposed, damped, &r);
    } else {
      product_step(a, how, &r);
    }
    if (step == 0) {  // a first step, not counted, from the operand again
      for (GrB_Index k = 0; k < n; ++k) require(GrB_Vector_setElement(r, first[k], k));
      require(GrB_Vector_wait(r, GrB_MATERIALIZE));
    }
  }
  const double seconds = (now() - start) / repeats;
  FILE* answer = fopen(argv[4], "wb");
  if (answer == NULL) return 2;
  for (GrB_Index k = 0; k < n; ++k) {
    double v = 0;
    if (GrB_Vector_extractElement_FP64(&v, r, k) != GrB_SUCCESS) v = 0;
    fwrite(&v, 8, 1, answer);
  }
  fclose(answer);
  printf("{\"seconds\": %.9f}\n", seconds);
  return 0;
}

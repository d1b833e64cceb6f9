/* exchange TURNS BYTES: two ranks exchange messages as the engine does, by receives, sends and a poll of all requests.
   Prints the median seconds of a turn. With -DDIRECT it calls MPI; otherwise the table of a shim: exchange TURNS BYTES
   LIBRARY SHIM. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef DIRECT
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
typedef MPI_Request Request;
static void start(char** argv, int* rank) {
  int provided;
  (void)argv;
  MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, rank);
}
static void post(char* in, char* out, int bytes, int other, Request* requests) {
  MPI_Irecv(in, bytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, &requests[0]);
  MPI_Isend(out, bytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, &requests[1]);
}
static int poll_both(Request* requests, long long* received) {
  int done = 0, indices[2];
  MPI_Status statuses[2];
  MPI_Testsome(2, requests, &done, indices, statuses);
  for (int i = 0; i < done; ++i) {
    MPI_Count bytes = 0;
    if (indices[i] == 0) MPI_Get_elements_x(&statuses[i], MPI_BYTE, &bytes);
    *received += bytes;
  }
  return done;
}
static void end(void) { MPI_Finalize(); }
#else
#include "mpi_shim.h"
typedef tdsl_h Request;
static const tdsl_mpi_table* mpi;
static void start(char** argv, int* rank) {
  int serialized;
  if (dlopen(argv[3], RTLD_NOW | RTLD_GLOBAL) == NULL) exit(3);
  void* const shim = dlopen(argv[4], RTLD_NOW);
  if (shim == NULL) exit(4);
  mpi = ((const tdsl_mpi_table* (*)(void))dlsym(shim, "tdsl_mpi_v1"))();
  mpi->init_thread(&serialized);
  mpi->comm_rank(mpi->world, rank);
}
static void post(char* in, char* out, int bytes, int other, Request* requests) {
  mpi->irecv(in, bytes, mpi->byte_type, other, 3, mpi->world, &requests[0]);
  mpi->isend(out, bytes, mpi->byte_type, other, 3, mpi->world, &requests[1]);
}
static int poll_both(Request* requests, long long* received) {
  int done = 0, indices[2];
  tdsl_mpi_status statuses[2];
  mpi->testsome(2, requests, &done, indices, statuses);
  for (int i = 0; i < done; ++i) *received += indices[i] == 0 ? statuses[i].bytes : 0;
  return done;
}
static void end(void) { mpi->finalize(); }
#endif

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int smaller(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int turns = atoi(argv[1]), bytes = atoi(argv[2]);
  int rank = 0;
  start(argv, &rank);
  char *const in = calloc((size_t)bytes, 1), *const out = calloc((size_t)bytes, 1);
  double* const seconds = calloc((size_t)turns, sizeof *seconds);
  long long received = 0;
  for (int turn = 0; turn < turns; ++turn) {
    Request requests[2];
    const double begin = now();
    post(in, out, bytes, 1 - rank, requests);
    for (int left = 2; left > 0;) {
      const int done = poll_both(requests, &received);
      left -= done > 0 ? done : 0;
    }
    seconds[turn] = now() - begin;
  }
  qsort(seconds, (size_t)turns, sizeof *seconds, smaller);
  if (received != (long long)turns * bytes) return 5;
  if (rank == 0) printf("{\"seconds\": %.9g, \"least\": %.9g}\n", seconds[turns / 2], seconds[0]);
  free(in);
  free(out);
  free(seconds);
  end();
  return 0;
}

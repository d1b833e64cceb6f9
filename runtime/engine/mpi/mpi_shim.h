#ifndef TDSL_MPI_SHIM_H
#define TDSL_MPI_SHIM_H

#include <stdint.h>

/* The MPI functions that the runtime calls, as a table (C11 and C++). A shim, mpi_shim.c compiled with the header of
   one family of MPI libraries, fills it in; programs open the shim of the MPI they are started with (mpi_load.cpp).
   Nothing but the shims includes mpi.h.

   Functions return 0 or MPI's error code. Counts are bytes unless a type is given. Calls are serialised by the caller
   (MPI_THREAD_SERIALIZED), except `abort`. The table grows only at its end. */

#ifdef __cplusplus
extern "C" {
#endif

typedef intptr_t tdsl_h; /* any MPI handle: an int of MPICH or a pointer of Open MPI; 0 is a handle of none */

typedef struct {
  int32_t source, tag;
  int64_t bytes;
} tdsl_mpi_status;

typedef struct {
  uint32_t abi;  /* TDSL_MPI_ABI */
  uint32_t size; /* of this struct, in bytes */
  const char* family;
  tdsl_h world, comm_null, byte_type, request_null;

  /* The process. `serialized` becomes 1 if MPI_THREAD_SERIALIZED is provided, else 0. Texts end with NUL. */
  int (*initialized)(int* flag);
  int (*finalized)(int* flag);
  int (*init_thread)(int* serialized);
  int (*query_thread)(int* serialized);
  int (*finalize)(void);
  int (*abort)(tdsl_h comm, int code);
  int (*library_version)(char* text, int capacity);
  int (*error_string)(int code, char* text, int capacity);

  /* Communicators. */
  tdsl_h (*comm_of)(const void* mpi_comm); /* the address of an MPI_Comm */
  tdsl_h (*comm_f2c)(int32_t comm);        /* Fortran's handle */
  int (*comm_rank)(tdsl_h comm, int* rank);
  int (*comm_size)(tdsl_h comm, int* size);
  int (*comm_test_inter)(tdsl_h comm, int* flag);
  int (*comm_tag_limit)(tdsl_h comm, int* limit);
  int (*comm_dup)(tdsl_h comm, tdsl_h* copy);                 /* errors are returned */
  int (*comm_split_node)(tdsl_h comm, int key, tdsl_h* node); /* ranks with shared memory */
  int (*comm_free)(tdsl_h* comm);

  /* Messages. Probes accept any source and tag. */
  int (*isend)(const void* from, int64_t count, tdsl_h type, int rank, int tag, tdsl_h comm, tdsl_h* request);
  int (*irecv)(void* to, int64_t count, tdsl_h type, int rank, int tag, tdsl_h comm, tdsl_h* request);
  int (*recv)(void* to, int64_t count, tdsl_h type, int rank, int tag, tdsl_h comm);
  int (*iprobe)(tdsl_h comm, int* flag, tdsl_mpi_status* status);
  int (*improbe)(tdsl_h comm, int* flag, tdsl_h* message, tdsl_mpi_status* status);
  int (*mrecv)(void* to, int64_t bytes, tdsl_h* message);

  /* Requests; completed ones become request_null. `testsome`: `completed` is 0 if none is active; indices and statuses
     have room for `count`; `bytes` of a status is that of a receive. */
  int (*test)(tdsl_h* request, int* flag);
  int (*testsome)(int count, tdsl_h* requests, int* completed, int* indices, tdsl_mpi_status* statuses);
  int (*testall)(int count, tdsl_h* requests, int* flag);
  int (*wait)(tdsl_h* request);
  int (*cancel)(tdsl_h* request);
  int (*request_free)(tdsl_h* request);

  /* Collectives. */
  int (*ibarrier)(tdsl_h comm, tdsl_h* request);
  int (*ibcast)(void* data, int64_t bytes, int root, tdsl_h comm, tdsl_h* request);
  int (*iallgather)(const void* own, int64_t bytes, void* all, tdsl_h comm, tdsl_h* request);
  int (*iallgatherv)(const void* own, int64_t bytes, void* all, const int* counts, const int* offsets, tdsl_h comm,
                     tdsl_h* request);

  /* Types: copies of `type`, contiguous, or `stride` bytes apart. */
  int (*type_contiguous)(int64_t count, tdsl_h type, tdsl_h* made);
  int (*type_hvector)(int64_t count, int64_t stride, tdsl_h type, tdsl_h* made);
  int (*type_commit)(tdsl_h* type);
  int (*type_free)(tdsl_h* type);
} tdsl_mpi_table;

#define TDSL_MPI_ABI 1u

/* The only symbol of a shim. Not thread-safe at the first call. */
__attribute__((visibility("default"))) const tdsl_mpi_table* tdsl_mpi_v1(void);

#ifdef __cplusplus
}
#endif

#endif

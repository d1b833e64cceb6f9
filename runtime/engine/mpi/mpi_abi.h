#ifndef TDSL_MPI_ABI_H
#define TDSL_MPI_ABI_H

#include <stdint.h>

/* The part of MPI 5.0's standard ABI that mpi_shim.c uses. The values are the standard's (chapter 20, appendix A): any
   library named libmpi_abi.so has them. */

typedef struct MPI_ABI_Comm* MPI_Comm;
typedef struct MPI_ABI_Datatype* MPI_Datatype;
typedef struct MPI_ABI_Errhandler* MPI_Errhandler;
typedef struct MPI_ABI_Info* MPI_Info;
typedef struct MPI_ABI_Message* MPI_Message;
typedef struct MPI_ABI_Request* MPI_Request;
typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count;
typedef struct {
  int MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5];
} MPI_Status;

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_STATUS_IGNORE ((MPI_Status*)0)

enum {
  MPI_SUCCESS = 0,
  MPI_ERR_OTHER = 16,
  MPI_ERR_PENDING = 18,
  MPI_ERR_IN_STATUS = 19,
  MPI_ANY_SOURCE = -1,
  MPI_ANY_TAG = -2,
  MPI_UNDEFINED = -32766,
  MPI_THREAD_SINGLE = 0,
  MPI_THREAD_SERIALIZED = 2048,
  MPI_COMM_TYPE_SHARED = 221,
  MPI_TAG_UB = 501,
  MPI_MAX_ERROR_STRING = 512,
  MPI_MAX_LIBRARY_VERSION_STRING = 8192
};

int MPI_Initialized(int* flag);
int MPI_Finalized(int* flag);
int MPI_Init_thread(int* argc, char*** argv, int required, int* provided);
int MPI_Query_thread(int* provided);
int MPI_Finalize(void);
int MPI_Abort(MPI_Comm comm, int code);
int MPI_Get_library_version(char* version, int* length);
int MPI_Error_string(int code, char* text, int* length);
MPI_Comm MPI_Comm_fromint(int comm);
int MPI_Comm_rank(MPI_Comm comm, int* rank);
int MPI_Comm_size(MPI_Comm comm, int* size);
int MPI_Comm_test_inter(MPI_Comm comm, int* flag);
int MPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag);
int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* copy);
int MPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler);
int MPI_Comm_split_type(MPI_Comm comm, int split, int key, MPI_Info info, MPI_Comm* made);
int MPI_Comm_free(MPI_Comm* comm);
int MPI_Isend(const void* from, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Irecv(void* to, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Request* request);
int MPI_Recv(void* to, int count, MPI_Datatype type, int rank, int tag, MPI_Comm comm, MPI_Status* status);
int MPI_Get_elements_x(const MPI_Status* status, MPI_Datatype type, MPI_Count* count);
int MPI_Iprobe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Status* status);
int MPI_Improbe(int rank, int tag, MPI_Comm comm, int* flag, MPI_Message* message, MPI_Status* status);
int MPI_Mrecv(void* to, int count, MPI_Datatype type, MPI_Message* message, MPI_Status* status);
int MPI_Test(MPI_Request* request, int* flag, MPI_Status* status);
int MPI_Testsome(int count, MPI_Request* requests, int* completed, int* indices, MPI_Status* statuses);
int MPI_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses);
int MPI_Wait(MPI_Request* request, MPI_Status* status);
int MPI_Cancel(MPI_Request* request);
int MPI_Request_free(MPI_Request* request);
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request);
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request);
int MPI_Iallgather(const void* own, int count, MPI_Datatype type, void* all, int each, MPI_Datatype other,
                   MPI_Comm comm, MPI_Request* request);
int MPI_Iallgatherv(const void* own, int count, MPI_Datatype type, void* all, const int* counts, const int* offsets,
                    MPI_Datatype other, MPI_Comm comm, MPI_Request* request);
int MPI_Type_contiguous(int count, MPI_Datatype type, MPI_Datatype* made);
int MPI_Type_create_hvector(int count, int length, MPI_Aint stride, MPI_Datatype type, MPI_Datatype* made);
int MPI_Type_commit(MPI_Datatype* type);
int MPI_Type_free(MPI_Datatype* type);

#endif

/* A shim between the runtime and one family of MPI libraries: see mpi_shim.h. C11, compiled once per family:

       mpicc -std=c11 -O2 -fPIC -shared mpi_shim.c -o libtdsl_mpi_FAMILY.so

   or, without an MPI library among those it needs, with the header's folder only. TDSL_MPI_STANDARD_ABI: against the
   ABI of MPI 5.0, by a header of our own. */
#ifdef TDSL_MPI_STANDARD_ABI
#include "mpi_abi.h"
#define FAMILY "abi"
#else
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>
#if defined(OPEN_MPI)
#define FAMILY "openmpi"
#elif defined(MPICH_VERSION) || defined(MPICH_NUMVERSION) || defined(I_MPI_VERSION)
#define FAMILY "mpich"
#else
#define FAMILY "other"
#endif
#endif

#include <stdlib.h>
#include <string.h>

#include "mpi_shim.h"

#define H(handle) ((tdsl_h)(handle))
#define COMM(h) ((MPI_Comm)(h))
#define TYPE(h) ((MPI_Datatype)(h))
#define REQUEST(h) ((MPI_Request)(h))

/* ---- the process ---- */

static int shim_initialized(int* flag) { return MPI_Initialized(flag); }
static int shim_finalized(int* flag) { return MPI_Finalized(flag); }

static int shim_init_thread(int* serialized) {
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
  *serialized = provided >= MPI_THREAD_SERIALIZED;
  return code;
}

static int shim_query_thread(int* serialized) {
  int provided = MPI_THREAD_SINGLE;
  const int code = MPI_Query_thread(&provided);
  *serialized = provided >= MPI_THREAD_SERIALIZED;
  return code;
}

static int shim_abort(tdsl_h comm, int code) { return MPI_Abort(COMM(comm), code); }

static void copy_text(char* to, int capacity, const char* from) {
  strncpy(to, from, (size_t)capacity - 1);
  to[capacity - 1] = '\0';
}

static int shim_library_version(char* text, int capacity) {
  char whole[MPI_MAX_LIBRARY_VERSION_STRING + 1] = {0};
  int length = 0;
  const int code = MPI_Get_library_version(whole, &length);
  copy_text(text, capacity, whole);
  return code;
}

static int shim_error_string(int error, char* text, int capacity) {
  char whole[MPI_MAX_ERROR_STRING + 1] = {0};
  int length = 0;
  const int code = MPI_Error_string(error, whole, &length);
  copy_text(text, capacity, whole);
  return code;
}

/* ---- communicators ---- */

static tdsl_h shim_comm_of(const void* mpi_comm) { return H(*(const MPI_Comm*)mpi_comm); }

static tdsl_h shim_comm_f2c(int32_t comm) {
#ifdef TDSL_MPI_STANDARD_ABI
  return H(MPI_Comm_fromint((int)comm));
#else
  return H(MPI_Comm_f2c((MPI_Fint)comm));
#endif
}

static int shim_comm_rank(tdsl_h comm, int* rank) { return MPI_Comm_rank(COMM(comm), rank); }
static int shim_comm_size(tdsl_h comm, int* size) { return MPI_Comm_size(COMM(comm), size); }
static int shim_comm_test_inter(tdsl_h comm, int* flag) { return MPI_Comm_test_inter(COMM(comm), flag); }

static int shim_comm_tag_limit(tdsl_h comm, int* limit) {
  int* value = NULL;
  int found = 0;
  const int code = MPI_Comm_get_attr(COMM(comm), MPI_TAG_UB, (void*)&value, &found);
  *limit = found && value != NULL ? *value : 32767;
  return code;
}

static int shim_comm_dup(tdsl_h comm, tdsl_h* copy) {
  MPI_Comm made = MPI_COMM_NULL;
  int code = MPI_Comm_dup(COMM(comm), &made);
  if (code == MPI_SUCCESS) code = MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
  *copy = H(made);
  return code;
}

static int shim_comm_split_node(tdsl_h comm, int key, tdsl_h* node) {
  MPI_Comm made = MPI_COMM_NULL;
  const int code = MPI_Comm_split_type(COMM(comm), MPI_COMM_TYPE_SHARED, key, MPI_INFO_NULL, &made);
  *node = H(made);
  return code;
}

static int shim_comm_free(tdsl_h* comm) {
  MPI_Comm freed = COMM(*comm);
  const int code = MPI_Comm_free(&freed);
  *comm = H(freed);
  return code;
}

/* ---- messages ---- */

static int shim_isend(const void* from, int64_t count, tdsl_h type, int rank, int tag, tdsl_h comm, tdsl_h* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Isend(from, (int)count, TYPE(type), rank, tag, COMM(comm), &made);
  *request = H(made);
  return code;
}

static int shim_irecv(void* to, int64_t count, tdsl_h type, int rank, int tag, tdsl_h comm, tdsl_h* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Irecv(to, (int)count, TYPE(type), rank, tag, COMM(comm), &made);
  *request = H(made);
  return code;
}

static int shim_recv(void* to, int64_t count, tdsl_h type, int rank, int tag, tdsl_h comm) {
  return MPI_Recv(to, (int)count, TYPE(type), rank, tag, COMM(comm), MPI_STATUS_IGNORE);
}

static void translate_status(const MPI_Status* from, tdsl_mpi_status* to) {
  MPI_Count bytes = 0;
  if (MPI_Get_elements_x(from, MPI_BYTE, &bytes) != MPI_SUCCESS) bytes = -1;
  to->source = from->MPI_SOURCE;
  to->tag = from->MPI_TAG;
  to->bytes = (int64_t)bytes;
}

static int shim_iprobe(tdsl_h comm, int* flag, tdsl_mpi_status* status) {
  MPI_Status found;
  *flag = 0;
  const int code = MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, COMM(comm), flag, &found);
  if (code == MPI_SUCCESS && *flag) translate_status(&found, status);
  return code;
}

static int shim_improbe(tdsl_h comm, int* flag, tdsl_h* message, tdsl_mpi_status* status) {
  MPI_Status found;
  MPI_Message handle = MPI_MESSAGE_NULL;
  *flag = 0;
  const int code = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, COMM(comm), flag, &handle, &found);
  if (code == MPI_SUCCESS && *flag) translate_status(&found, status);
  *message = H(handle);
  return code;
}

static int shim_mrecv(void* to, int64_t bytes, tdsl_h* message) {
  MPI_Message handle = (MPI_Message)*message;
  const int code = MPI_Mrecv(to, (int)bytes, MPI_BYTE, &handle, MPI_STATUS_IGNORE);
  *message = H(handle);
  return code;
}

/* ---- requests ---- */

static int shim_test(tdsl_h* request, int* flag) {
  MPI_Request tested = REQUEST(*request);
  *flag = 0;
  const int code = MPI_Test(&tested, flag, MPI_STATUS_IGNORE);
  *request = H(tested);
  return code;
}

/* Requests and statuses as MPI wants them. One set suffices, since calls are serialised. */
static MPI_Request* narrow_requests;
static MPI_Status* native_statuses;
static int capacity;

static int make_room(int count) {
  if (count <= capacity) return 1;
  const size_t room = (size_t)count + (size_t)count / 2 + 16;
  MPI_Request* const requests = realloc(narrow_requests, room * sizeof *requests);
  if (requests != NULL) narrow_requests = requests;
  MPI_Status* const statuses = realloc(native_statuses, room * sizeof *statuses);
  if (statuses != NULL) native_statuses = statuses;
  if (requests == NULL || statuses == NULL) return 0;
  capacity = (int)room;
  return 1;
}

/* The requests as an array of MPI's: the caller's own where handles have the size of tdsl_h, else a copy. */
static MPI_Request* native_requests(int count, tdsl_h* requests) {
  if (sizeof(MPI_Request) == sizeof(tdsl_h)) return (MPI_Request*)(void*)requests;
  for (int i = 0; i < count; ++i) narrow_requests[i] = REQUEST(requests[i]);
  return narrow_requests;
}

/* MPI_ERR_IN_STATUS names no error: the first one of the statuses does. */
static int error_in(const MPI_Status* statuses, int count, int code) {
  if (code != MPI_ERR_IN_STATUS) return code;
  for (int i = 0; i < count; ++i) {
    const int error = statuses[i].MPI_ERROR;
    if (error != MPI_SUCCESS && error != MPI_ERR_PENDING) return error;
  }
  return code;
}

static int shim_testsome(int count, tdsl_h* requests, int* completed, int* indices, tdsl_mpi_status* statuses) {
  *completed = 0;
  if (!make_room(count)) return MPI_ERR_OTHER;
  MPI_Request* const tested = native_requests(count, requests);
  int done = 0;
  const int code = MPI_Testsome(count, tested, &done, indices, native_statuses);
  if (done == MPI_UNDEFINED) return code;
  for (int i = 0; i < done; ++i) {
    requests[indices[i]] = H(tested[indices[i]]);
    translate_status(&native_statuses[i], &statuses[i]);
  }
  *completed = done;
  return error_in(native_statuses, done, code);
}

static int shim_testall(int count, tdsl_h* requests, int* flag) {
  *flag = 0;
  if (!make_room(count)) return MPI_ERR_OTHER;
  MPI_Request* const tested = native_requests(count, requests);
  const int code = MPI_Testall(count, tested, flag, native_statuses);
  for (int i = 0; i < count; ++i) requests[i] = H(tested[i]);
  return code;
}

static int shim_wait(tdsl_h* request) {
  MPI_Request waited = REQUEST(*request);
  const int code = MPI_Wait(&waited, MPI_STATUS_IGNORE);
  *request = H(waited);
  return code;
}

static int shim_cancel(tdsl_h* request) {
  MPI_Request cancelled = REQUEST(*request);
  const int code = MPI_Cancel(&cancelled);
  *request = H(cancelled);
  return code;
}

static int shim_request_free(tdsl_h* request) {
  MPI_Request freed = REQUEST(*request);
  const int code = MPI_Request_free(&freed);
  *request = H(freed);
  return code;
}

static int shim_finalize(void) {
  const int code = MPI_Finalize();
  free(narrow_requests);
  free(native_statuses);
  narrow_requests = NULL;
  native_statuses = NULL;
  capacity = 0;
  return code;
}

/* ---- collectives ---- */

static int shim_ibarrier(tdsl_h comm, tdsl_h* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Ibarrier(COMM(comm), &made);
  *request = H(made);
  return code;
}

static int shim_ibcast(void* data, int64_t bytes, int root, tdsl_h comm, tdsl_h* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Ibcast(data, (int)bytes, MPI_BYTE, root, COMM(comm), &made);
  *request = H(made);
  return code;
}

static int shim_iallgather(const void* own, int64_t bytes, void* all, tdsl_h comm, tdsl_h* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Iallgather(own, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, COMM(comm), &made);
  *request = H(made);
  return code;
}

static int shim_iallgatherv(const void* own, int64_t bytes, void* all, const int* counts, const int* offsets,
                            tdsl_h comm, tdsl_h* request) {
  MPI_Request made = MPI_REQUEST_NULL;
  const int code = MPI_Iallgatherv(own, (int)bytes, MPI_BYTE, all, counts, offsets, MPI_BYTE, COMM(comm), &made);
  *request = H(made);
  return code;
}

/* ---- types ---- */

static int shim_type_contiguous(int64_t count, tdsl_h type, tdsl_h* made) {
  MPI_Datatype longer = MPI_DATATYPE_NULL;
  const int code = MPI_Type_contiguous((int)count, TYPE(type), &longer);
  *made = H(longer);
  return code;
}

static int shim_type_hvector(int64_t count, int64_t stride, tdsl_h type, tdsl_h* made) {
  MPI_Datatype longer = MPI_DATATYPE_NULL;
  const int code = MPI_Type_create_hvector((int)count, 1, (MPI_Aint)stride, TYPE(type), &longer);
  *made = H(longer);
  return code;
}

static int shim_type_commit(tdsl_h* type) {
  MPI_Datatype committed = TYPE(*type);
  const int code = MPI_Type_commit(&committed);
  *type = H(committed);
  return code;
}

static int shim_type_free(tdsl_h* type) {
  MPI_Datatype freed = TYPE(*type);
  const int code = MPI_Type_free(&freed);
  *type = H(freed);
  return code;
}

/* ---- the table ---- */

const tdsl_mpi_table* tdsl_mpi_v1(void) {
  static tdsl_mpi_table table;
  if (table.abi != 0) return &table;
  table = (tdsl_mpi_table){
      .abi = TDSL_MPI_ABI,
      .size = sizeof table,
      .family = FAMILY,
      .world = H(MPI_COMM_WORLD),
      .comm_null = H(MPI_COMM_NULL),
      .byte_type = H(MPI_BYTE),
      .request_null = H(MPI_REQUEST_NULL),
      .initialized = shim_initialized,
      .finalized = shim_finalized,
      .init_thread = shim_init_thread,
      .query_thread = shim_query_thread,
      .finalize = shim_finalize,
      .abort = shim_abort,
      .library_version = shim_library_version,
      .error_string = shim_error_string,
      .comm_of = shim_comm_of,
      .comm_f2c = shim_comm_f2c,
      .comm_rank = shim_comm_rank,
      .comm_size = shim_comm_size,
      .comm_test_inter = shim_comm_test_inter,
      .comm_tag_limit = shim_comm_tag_limit,
      .comm_dup = shim_comm_dup,
      .comm_split_node = shim_comm_split_node,
      .comm_free = shim_comm_free,
      .isend = shim_isend,
      .irecv = shim_irecv,
      .recv = shim_recv,
      .iprobe = shim_iprobe,
      .improbe = shim_improbe,
      .mrecv = shim_mrecv,
      .test = shim_test,
      .testsome = shim_testsome,
      .testall = shim_testall,
      .wait = shim_wait,
      .cancel = shim_cancel,
      .request_free = shim_request_free,
      .ibarrier = shim_ibarrier,
      .ibcast = shim_ibcast,
      .iallgather = shim_iallgather,
      .iallgatherv = shim_iallgatherv,
      .type_contiguous = shim_type_contiguous,
      .type_hvector = shim_type_hvector,
      .type_commit = shim_type_commit,
      .type_free = shim_type_free,
  };
  return &table;
}

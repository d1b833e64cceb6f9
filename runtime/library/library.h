#pragma once

#include <cstdint>

#include "runtime/app/run/program_info.h"
#include "runtime/library/abi.h"

namespace tdsl::rt {

class Session;

/// Implementation of the C interface of a library: a program called by another one. Never exits the process, handles
/// signals, or aborts MPI.
class Library;

/// All functions return TDSL_GOOD or an error code. `open` returns a handle unless memory is exhausted, so that the
/// error message can be queried. Calls into a library are serialised. With several ranks, all make the same calls in
/// the same order.
/// `communicator`: the address of an MPI_Comm, or, if `of_fortran`, of Fortran's integer handle; or null.
int open_library(const ProgramInfo& (*info)(), void (*program)(Session&), const void* communicator, bool of_fortran,
                 const char* const* options, int option_count, Library** handle);
/// Sets params for subsequent calls, as words of the command line; unmentioned params keep the values of `open`.
int set_library_params(Library* handle, const char* const* options, int option_count);
/// The preferred layout of this rank's elements of `name`, for inputs of the given types and shapes (their boxes are
/// ignored). `*layout` is valid until the next call.
int library_layout(Library* handle, const tdsl_array* inputs, int input_count, const char* name,
                   const tdsl_array** layout);
/// An output without boxes (null) is allocated by the library: this rank's share of its rows, valid until the next call
/// unless taken.
int run_library(Library* handle, const tdsl_array* inputs, int input_count, tdsl_array* outputs, int output_count);
/// `asked` is called about ten times a second by the thread of run_library, between tasks; nonzero ends the run with
/// TDSL_FAILED. Null: never.
int stop_library_when(Library* handle, int (*asked)());
/// Writes output number `output` of the last run, requested as a sparse matrix, to the lists of `to`, once.
int fill_from_library(Library* handle, int output, const tdsl_sparse* to);
/// Transfers ownership of the memory of output number `output` of the last run; the caller frees it with free(). Null
/// if there is none.
void* take_from_library(Library* handle, int output);
/// This rank, and in `*ranks` the number of ranks.
int rank_in_library(const Library* handle, int* ranks);
const char* library_message(const Library* handle);
int close_library(Library* handle);

}  // namespace tdsl::rt

#define TDSL_EXPORTED extern "C" __attribute__((visibility("default")))

/// Defines the C functions of the library NAME; replaces `main`.
#define TDSL_LIBRARY(NAME)                                                                                      \
  static const tdsl::rt::ProgramInfo& called_program() {                                                        \
    static const tdsl::rt::ProgramInfo info = program_info();                                                   \
    return info;                                                                                                \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_open(const void* communicator, const char* const* options, int option_count,         \
                                tdsl::rt::Library** handle) {                                                   \
    return tdsl::rt::open_library(called_program, program, communicator, false, options, option_count, handle); \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_open_fortran(const std::int32_t* communicator, const char* const* options,           \
                                        int option_count, tdsl::rt::Library** handle) {                         \
    return tdsl::rt::open_library(called_program, program, communicator, true, options, option_count, handle);  \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_params(tdsl::rt::Library* handle, const char* const* options, int option_count) {    \
    return tdsl::rt::set_library_params(handle, options, option_count);                                         \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_layout(tdsl::rt::Library* handle, const tdsl_array* inputs, int input_count,         \
                                  const char* name, const tdsl_array** layout) {                                \
    return tdsl::rt::library_layout(handle, inputs, input_count, name, layout);                                 \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_run(tdsl::rt::Library* handle, const tdsl_array* inputs, int input_count,            \
                               tdsl_array* outputs, int output_count) {                                         \
    return tdsl::rt::run_library(handle, inputs, input_count, outputs, output_count);                           \
  }                                                                                                             \
  TDSL_EXPORTED void* NAME##_take(tdsl::rt::Library* handle, int output) {                                      \
    return tdsl::rt::take_from_library(handle, output);                                                         \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_stop_when(tdsl::rt::Library* handle, int (*asked)()) {                               \
    return tdsl::rt::stop_library_when(handle, asked);                                                          \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_fill(tdsl::rt::Library* handle, int output, const tdsl_sparse* to) {                 \
    return tdsl::rt::fill_from_library(handle, output, to);                                                     \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_rank(const tdsl::rt::Library* handle, int* ranks) {                                  \
    return tdsl::rt::rank_in_library(handle, ranks);                                                            \
  }                                                                                                             \
  TDSL_EXPORTED const char* NAME##_message(const tdsl::rt::Library* handle) {                                   \
    return tdsl::rt::library_message(handle);                                                                   \
  }                                                                                                             \
  TDSL_EXPORTED int NAME##_close(tdsl::rt::Library* handle) { return tdsl::rt::close_library(handle); }

#pragma once

#include <string>
#include <string_view>

#include "runtime/base/environment.h"
#include "runtime/engine/mpi/mpi_shim.h"

/// The MPI library of this process. It is opened at run time (mpi_load.cpp), so that executables need none at start and
/// run under the launcher of any family; before, no function of the table may be called.
namespace tdsl::rt {

/// A communicator, request, datatype or message; 0: none.
using MpiHandle = tdsl_h;

/// Opens the MPI library that choose_mpi names, once per process, and returns its functions. Throws LaunchError. Does
/// not initialise MPI.
const tdsl_mpi_table& load_mpi(const Environment& environment);
/// The functions of the opened library.
[[nodiscard]] const tdsl_mpi_table& mpi();
[[nodiscard]] bool mpi_is_loaded();
/// Such as `MPICH 4.0.2 (libmpich.so.12)`; empty if none is opened.
[[nodiscard]] std::string mpi_name();
/// Path of the opened library; empty if none is opened, or if the shim's dependencies cannot be told.
[[nodiscard]] std::string mpi_library();
/// The name and version in a text of MPI_Get_library_version.
[[nodiscard]] std::string mpi_version_in(std::string_view text);

/// True if a launcher with PMI started this process and the MPI that would be opened takes PMI.
[[nodiscard]] bool mpi_takes_pmi(const Environment& environment);

/// Unless `code` is 0, throws RunError with MPI's error text.
void check_mpi(int code, const char* call);

}  // namespace tdsl::rt

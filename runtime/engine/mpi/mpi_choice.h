#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/environment.h"

/// Which MPI library a process opens: the facts of this machine, and a decision that depends on them only.
namespace tdsl::rt {

/// MPI libraries with the same ABI, which share a shim.
struct MpiFamily {
  std::string_view name;
  std::string_view title;
  std::vector<const char*> libraries;  ///< patterns of file names (fnmatch), preferred first
  std::vector<const char*> launchers;  ///< programs, preferred first
};
/// Those with a shim in an installation: openmpi, mpich, abi.
[[nodiscard]] std::span<const MpiFamily> mpi_families();
/// The family of a library by its file name; "other" for an MPI library of no known family, empty for other files.
[[nodiscard]] std::string mpi_family_of(std::string_view file_name);

/// A shim found in one of the folders for shims.
struct MpiShim {
  std::string family;
  std::string file;
  std::string library;  ///< the MPI library to open first; empty: none is found
  bool linked = false;  ///< opens its MPI library itself
  [[nodiscard]] bool usable() const { return linked || !library.empty(); }
};

/// A library of this process.
struct LoadedMpi {
  std::string family;
  std::string file;
};

struct MpiFacts {
  std::vector<LoadedMpi> loaded;
  std::string requested;  ///< TDSL_MPI
  std::string launcher;   ///< family of the launcher that started this process; empty: none or not known
  std::string site;       ///< `mpi_family` of site.conf
  std::string site_file;
  std::vector<MpiShim> shims;  ///< one per family
};

/// What to open.
struct MpiChoice {
  std::string family;   ///< empty: as the shim says
  std::string shim;     ///< file
  std::string library;  ///< opened before the shim if that cannot be opened alone
  std::string reason;
};

/// The families of a process without a request follow its launcher. Throws RunError (usage): contradictions, several
/// possibilities, missing files.
[[nodiscard]] MpiChoice choose_mpi(const MpiFacts& facts);

/// Looks at this process, its environment and the folders of shims and libraries. Opens nothing.
[[nodiscard]] MpiFacts mpi_facts(const Environment& environment);
/// The MPI libraries among the files of this process.
[[nodiscard]] std::vector<LoadedMpi> loaded_mpis();
/// Folders searched for shims, in order: the user's own, TDSL_HOME's, those of this program or library.
[[nodiscard]] std::vector<std::string> shim_folders(const Environment& environment);

}  // namespace tdsl::rt

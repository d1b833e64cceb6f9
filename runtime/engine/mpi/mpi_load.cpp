#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <mutex>
#include <string>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_choice.h"
#include "runtime/engine/mpi/mpi_table.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

namespace {

/// Null until load_mpi has returned.
constinit const tdsl_mpi_table* opened_table = nullptr;

/// The file of the opened library.
std::string& opened_library() {
  static std::string library;
  return library;
}

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

/// Makes a library's symbols visible to its own plug-ins and to the shim, also if another library has loaded it with
/// local symbols.
void open_library(const MpiChoice& choice) {
  void* const library = ::dlopen(choice.library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) throw LaunchError(choice.reason + ": " + loader_error() + " [launch]");
  // Open MPI 1.10 has the name of today's MPICH.
  if (choice.family == "mpich" && ::dlsym(library, "ompi_mpi_comm_world") != nullptr)
    throw LaunchError(choice.reason + ": " + choice.library + " is an old Open MPI, not MPICH [launch]");
}

/// A shim made by the MPI's own compiler can be opened alone; the others need an MPI library that is open.
void* open_shim(const MpiChoice& choice) {
  void* shim = ::dlopen(choice.shim.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (shim == nullptr && !choice.library.empty()) {
    open_library(choice);
    shim = ::dlopen(choice.shim.c_str(), RTLD_NOW | RTLD_GLOBAL);
  }
  if (shim == nullptr) throw LaunchError(choice.reason + ": " + loader_error() + " [launch]");
  return shim;
}

const tdsl_mpi_table& table_of(void* shim, const MpiChoice& choice) {
  void* const function = ::dlsym(shim, "tdsl_mpi_v1");
  if (function == nullptr) throw LaunchError(choice.reason + ": " + choice.shim + " is not a shim of TDSL [launch]");
  const tdsl_mpi_table& table = *reinterpret_cast<decltype(&tdsl_mpi_v1)>(function)();
  if (table.abi != TDSL_MPI_ABI || table.size < sizeof(tdsl_mpi_table))
    throw LaunchError(choice.reason + ": " + choice.shim +
                      " was made by an older TDSL: `tdslc mpi --build` makes it again [launch]");
  if (!choice.family.empty() && choice.family != table.family)
    throw LaunchError(choice.reason + ": " + choice.shim + " was made for the MPI family `" + table.family +
                      "` [launch]");
  return table;
}

/// The version number that `text` begins with, after blanks and a `v`.
std::string number_at(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \tv:");
  if (first == std::string_view::npos) return {};
  text.remove_prefix(first);
  return std::string(text.substr(0, text.find_first_of(" ,\t\r\n")));
}

MpiChoice chosen(const Environment& environment) {
  try {
    return choose_mpi(mpi_facts(environment));
  } catch (const RunError& error) { throw LaunchError(error.what()); }
}

}  // namespace

const tdsl_mpi_table& load_mpi(const Environment& environment) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (opened_table != nullptr) return *opened_table;
  const MpiChoice choice = chosen(environment);
  const tdsl_mpi_table& table = table_of(open_shim(choice), choice);
  for (const LoadedMpi& loaded : loaded_mpis()) {
    if (loaded.family == table.family) opened_library() = loaded.file;
  }
  opened_table = &table;
  return table;
}

const tdsl_mpi_table& mpi() {
  TDSL_CHECK(opened_table != nullptr, "MPI is called after it has been opened");
  return *opened_table;
}

bool mpi_is_loaded() { return opened_table != nullptr; }

std::string mpi_library() { return opened_library(); }

std::string mpi_version_in(std::string_view text) {
  constexpr std::size_t kMost = 60;
  if (text.starts_with("Open MPI v")) return "Open MPI " + number_at(text.substr(9));
  constexpr std::string_view kMpich = "MPICH Version";
  if (text.starts_with(kMpich)) return "MPICH " + number_at(text.substr(kMpich.size()));
  return std::string(text.substr(0, std::min(text.find_first_of("\r\n"), kMost)));
}

std::string mpi_name() {
  if (!mpi_is_loaded()) return {};
  std::array<char, 512> text{};
  mpi().library_version(text.data(), static_cast<int>(text.size()));
  const std::string library = mpi_library();
  const std::string file = library.substr(library.find_last_of('/') + 1);
  return mpi_version_in(text.data()) + (file.empty() ? "" : " (" + file + ")");
}

bool mpi_takes_pmi(const Environment& environment) {
  if (environment.launcher != Launcher::kPmi || environment.mpi == "none") return false;
  try {
    const MpiChoice choice = choose_mpi(mpi_facts(environment));
    return choice.family != "openmpi" && choice.shim.find("libtdsl_mpi_openmpi") == std::string::npos;
  } catch (const RunError&) { return false; }  // reported when MPI is opened
}

void check_mpi(int code, const char* call) {
  if (code == 0) return;
  std::array<char, 512> text{};
  mpi().error_string(code, text.data(), static_cast<int>(text.size()));
  throw RunError(std::string(call) + " failed: " + text.data() + " [launch]");
}

}  // namespace tdsl::rt

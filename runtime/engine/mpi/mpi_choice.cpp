#include "runtime/engine/mpi/mpi_choice.h"

#include <fnmatch.h>

#include <algorithm>

#include "runtime/check.h"

namespace tdsl::rt {

std::span<const MpiFamily> mpi_families() {
  static const std::vector<MpiFamily> families = {
      {"openmpi", "Open MPI", {"libmpi.so.40"}, {"mpiexec.openmpi", "mpirun.openmpi"}},
      {"mpich",
       "MPICH",
       {"libmpi.so.12", "libmpich.so.12", "libmpi_cray.so.12", "libmpi_gnu_*.so.12"},
       {"mpiexec.hydra", "mpiexec.mpich"}},
      {"abi", "an MPI with the standard ABI", {"libmpi_abi.so.*"}, {"mpiexec"}}};
  return families;
}

namespace {

[[noreturn]] void refuse(const std::string& text) { throw RunError(text + " [launch]", ExitCode::kUsage); }

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const MpiFamily* known(std::string_view name) {
  const auto families = mpi_families();
  const auto found = std::ranges::find(families, name, &MpiFamily::name);
  return found == families.end() ? nullptr : &*found;
}

const MpiShim* shim_of(const MpiFacts& facts, std::string_view family) {
  const auto found = std::ranges::find(facts.shims, family, &MpiShim::family);
  return found == facts.shims.end() ? nullptr : &*found;
}

std::string no_shim(const std::string& family) {
  return "there is no shim for the MPI family `" + family + "` (libtdsl_mpi_" + family +
         ".so): `tdslc mpi --build --cc mpicc` makes one with that MPI's compiler";
}

/// The shim of a family, with a library to open. `why` begins the message if there is none.
MpiChoice with_family(const MpiFacts& facts, const std::string& family, const std::string& why) {
  const MpiShim* const shim = shim_of(facts, family);
  if (shim == nullptr) refuse(why + ": " + no_shim(family));
  if (shim->usable()) return {family, shim->file, shim->library, why};
  std::vector<std::string> names;
  if (const MpiFamily* const f = known(family)) names.assign(f->libraries.begin(), f->libraries.end());
  refuse(why + ": its library is not found (" + joined(names) +
         "; searched in LD_LIBRARY_PATH and among the system's libraries)");
}

/// `FAMILY`, `/path/shim.so` or `/path/shim.so:/path/libmpi.so`.
MpiChoice as_named(const MpiFacts& facts, const std::string& named, const std::string& by) {
  if (named == "none") refuse(by + ": this program needs MPI");
  if (named.find('/') == std::string::npos) {
    if (known(named) == nullptr && shim_of(facts, named) == nullptr)
      refuse(by + ": `" + named + "` is not openmpi, mpich, abi, none or the path of a shim");
    return with_family(facts, named, by);
  }
  const std::size_t colon = named.find(':');
  return {"", named.substr(0, colon), colon == std::string::npos ? "" : named.substr(colon + 1), by};
}

MpiChoice as_loaded(const MpiFacts& facts) {
  const LoadedMpi& first = facts.loaded.front();
  for (const LoadedMpi& other : facts.loaded) {
    if (other.family != first.family)
      refuse("two MPI libraries are in this process, " + first.file + " and " + other.file + ": only one can be used");
  }
  const std::string& wanted = facts.requested;
  if (known(wanted) != nullptr && wanted != first.family)
    refuse("TDSL_MPI=" + wanted + ", but this process already uses " + first.file + " (" + first.family + ")");
  if (wanted.find('/') != std::string::npos) return as_named(facts, wanted, "TDSL_MPI=" + wanted);
  const MpiShim* const shim = shim_of(facts, first.family);
  if (shim == nullptr) refuse("this process uses " + first.file + ": " + no_shim(first.family));
  return {first.family, shim->file, first.file, "this process already uses " + first.file};
}

MpiChoice only_one(const MpiFacts& facts) {
  std::vector<std::string> names;
  const MpiShim* usable = nullptr;
  for (const MpiShim& shim : facts.shims) {
    if (!shim.usable()) continue;
    usable = &shim;
    names.push_back(shim.family);
  }
  if (names.size() == 1) return {usable->family, usable->file, usable->library, "the only MPI that is installed"};
  if (!names.empty())
    refuse("several MPI libraries are installed (" + joined(names) +
           "), and the launcher does not tell which one it belongs to: set TDSL_MPI, or `mpi_family` in "
           "lib/tdsl/site.conf");
  if (facts.shims.empty())
    refuse(
        "a launcher started this program, but no shim for MPI (libtdsl_mpi_*.so) is found; TDSL_HOME says where "
        "TDSL is");
  refuse(
      "a launcher started this program, but no MPI library is found (`tdslc mpi` lists the names that are searched)");
}

}  // namespace

std::string mpi_family_of(std::string_view file_name) {
  const std::string name(file_name);
  for (const MpiFamily& family : mpi_families()) {
    for (const char* const pattern : family.libraries) {
      if (::fnmatch(pattern, name.c_str(), 0) == 0) return std::string(family.name);
    }
  }
  return file_name == "libmpi.so" || file_name.starts_with("libmpi.so.") ? "other" : "";
}

MpiChoice choose_mpi(const MpiFacts& facts) {
  if (!facts.loaded.empty()) return as_loaded(facts);
  if (!facts.requested.empty()) return as_named(facts, facts.requested, "TDSL_MPI=" + facts.requested);
  if (const MpiShim* const shim = shim_of(facts, facts.launcher); shim != nullptr && shim->usable()) {
    const MpiFamily* const family = known(facts.launcher);
    return {shim->family, shim->file, shim->library,
            "the launcher is that of " + (family == nullptr ? facts.launcher : std::string(family->title))};
  }
  if (!facts.site.empty()) return as_named(facts, facts.site, facts.site_file + ": mpi_family = " + facts.site);
  return only_one(facts);
}

}  // namespace tdsl::rt

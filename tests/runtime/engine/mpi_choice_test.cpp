#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_choice.h"
#include "runtime/engine/mpi/mpi_table.h"
#include "runtime/message_id.h"

using namespace tdsl::rt;

namespace {

MpiShim shim(const std::string& family, const std::string& library) {
  return {family, "/t/libtdsl_mpi_" + family + ".so", library, false};
}

/// Both common families, and the standard ABI without a library.
MpiFacts both() {
  MpiFacts facts;
  facts.shims = {shim("openmpi", "/l/libmpi.so.40"), shim("mpich", "/l/libmpich.so.12"), shim("abi", "")};
  return facts;
}

std::string refusal(const MpiFacts& facts) {
  try {
    return "chose " + choose_mpi(facts).family;
  } catch (const RunError& error) {
    CHECK(error.exit_code() == static_cast<int>(ExitCode::kUsage));
    return without_id(error.what());
  }
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("mpi: libraries belong to families by name") {
  CHECK(mpi_family_of("libmpi.so.40") == "openmpi");
  CHECK(mpi_family_of("libmpi.so.12") == "mpich");
  CHECK(mpi_family_of("libmpi_cray.so.12") == "mpich");
  CHECK(mpi_family_of("libmpi_gnu_123.so.12") == "mpich");
  CHECK(mpi_family_of("libmpi_abi.so.0") == "abi");
  CHECK(mpi_family_of("libmpi.so.20") == "other");
  CHECK(mpi_family_of("libmpi_cxx.so.40").empty());
  CHECK(mpi_family_of("libmpifort.so.12").empty());
  CHECK(mpi_family_of("libm.so.6").empty());
}

TEST_CASE("mpi: the launcher's family is opened") {
  MpiFacts facts = both();
  for (const std::string family : {"openmpi", "mpich"}) {
    facts.launcher = family;
    const MpiChoice choice = choose_mpi(facts);
    CHECK(choice.family == family);
    CHECK(choice.shim == "/t/libtdsl_mpi_" + family + ".so");
    CHECK_FALSE(choice.library.empty());
  }
  // Its launcher may start another family: the number of ranks is compared after MPI has started.
  facts.launcher = "abi";
  facts.shims.pop_back();
  facts.shims.pop_back();
  CHECK(choose_mpi(facts).family == "openmpi");
}

TEST_CASE("mpi: a request goes before the launcher") {
  MpiFacts facts = both();
  facts.launcher = "openmpi";
  facts.requested = "mpich";
  CHECK(choose_mpi(facts).family == "mpich");
  facts.requested = "/s/shim.so:/s/libmpi.so";
  CHECK(choose_mpi(facts).shim == "/s/shim.so");
  CHECK(choose_mpi(facts).library == "/s/libmpi.so");
  facts.requested = "/s/shim.so";
  CHECK(choose_mpi(facts).library.empty());
  facts.requested = "lam";
  CHECK(has(refusal(facts), "TDSL_MPI=lam: `lam` is not openmpi"));
  facts.requested = "abi";
  CHECK(has(refusal(facts), "TDSL_MPI=abi: its library is not found (libmpi_abi.so.*"));
  facts.shims.clear();
  facts.requested = "mpich";
  CHECK(has(refusal(facts), "`tdslc mpi --build --cc mpicc` makes one"));
}

TEST_CASE("mpi: a library follows its caller") {
  MpiFacts facts = both();
  facts.launcher = "openmpi";
  facts.loaded = {{"mpich", "/p/libmpich.so.12"}};
  CHECK(choose_mpi(facts).family == "mpich");
  CHECK(choose_mpi(facts).library == "/p/libmpich.so.12");
  facts.requested = "openmpi";
  CHECK(has(refusal(facts), "TDSL_MPI=openmpi, but this process already uses /p/libmpich.so.12"));
  facts.requested = "";
  facts.loaded.push_back({"openmpi", "/p/libmpi.so.40"});
  CHECK(has(refusal(facts), "two MPI libraries are in this process"));
  facts.loaded = {{"other", "/p/libmpi.so.20"}};
  CHECK(has(refusal(facts), "there is no shim for the MPI family `other`"));
}

TEST_CASE("mpi: without marks of a launcher the site decides, or there is only one") {
  MpiFacts facts = both();
  CHECK(has(refusal(facts), "several MPI libraries are installed (openmpi, mpich)"));
  facts.site = "mpich";
  facts.site_file = "/t/site.conf";
  CHECK(choose_mpi(facts).reason == "/t/site.conf: mpi_family = mpich");
  facts.site.clear();
  facts.shims.front().library.clear();
  CHECK(choose_mpi(facts).family == "mpich");
  facts.shims.front().linked = true;  // opens its library itself
  CHECK(has(refusal(facts), "several"));
  facts.shims = {shim("mpich", "")};
  CHECK(has(refusal(facts), "no MPI library is found"));
  facts.shims.clear();
  CHECK(has(refusal(facts), "no shim for MPI"));
}

TEST_CASE("mpi: names are short") {
  CHECK(mpi_version_in("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4") == "Open MPI 4.1.4");
  CHECK(mpi_version_in("MPICH Version:      4.0.2\nMPICH Release date: x") == "MPICH 4.0.2");
  CHECK(mpi_version_in("MPICH Version:\t4.0.2\nMPICH Release date: x") == "MPICH 4.0.2");
  CHECK(mpi_version_in("Intel(R) MPI Library 2021.8 for Linux* OS\n") == "Intel(R) MPI Library 2021.8 for Linux* OS");
}

TEST_CASE("mpi: the library of this process is the one opened") {
  REQUIRE(mpi_is_loaded());
  const std::vector<LoadedMpi> loaded = loaded_mpis();
  REQUIRE_FALSE(loaded.empty());
  for (const LoadedMpi& library : loaded) CHECK(library.family == mpi().family);
  CHECK(mpi().size >= sizeof(tdsl_mpi_table));
  CHECK(has(mpi_name(), "(libmpi"));
  CHECK(mpi().comm_of(&mpi().comm_null) == mpi().comm_null);
}

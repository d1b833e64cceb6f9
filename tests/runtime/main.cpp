#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/outcomes.h"

#include <algorithm>
#include <cstddef>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/base/environment.h"
#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_table.h"

REGISTER_LISTENER("outcomes", 1, tdsl::tests::OutcomeListener);

namespace {

using tdsl::rt::check_mpi;
using tdsl::rt::mpi;

/// Marks a test as failed on all ranks if it failed on any. Every rank has run the same tests in the same order.
bool combine_outcomes(int ranks) {
  std::vector<tdsl::tests::Outcome>& outcomes = tdsl::tests::outcomes();
  bool any = false;
  for (tdsl::tests::Outcome& outcome : outcomes) {
    const char failed = outcome.failed ? 1 : 0;
    std::vector<char> all(static_cast<std::size_t>(ranks));
    tdsl::rt::MpiHandle request = 0;
    check_mpi(mpi().iallgather(&failed, 1, all.data(), mpi().world, &request), "MPI_Iallgather");
    check_mpi(mpi().wait(&request), "MPI_Wait");
    outcome.failed = std::ranges::count(all, 1) > 0;
    any = any || outcome.failed;
  }
  return any;
}

int run_tests(int argc, char** argv) {
  // A launcher chooses the MPI library; alone, TDSL_MPI does, or there is only one.
  tdsl::rt::load_mpi(tdsl::rt::read_environment());
  int serialized = 0;
  check_mpi(mpi().init_thread(&serialized), "MPI_Init_thread");
  int rank = 0;
  int ranks = 1;
  check_mpi(mpi().comm_rank(mpi().world, &rank), "MPI_Comm_rank");
  check_mpi(mpi().comm_size(mpi().world, &ranks), "MPI_Comm_size");

  // Ranks above 0 print only if a test failed there.
  std::ostringstream quiet;
  doctest::Context context(argc, argv);
  context.setOption("no-intro", true);
  if (rank > 0) { context.setCout(&quiet); }
  int result = context.run();
  if (rank > 0 && result != 0) { std::cout << "--- rank " << rank << " ---\n" << quiet.str() << std::flush; }
  if (combine_outcomes(ranks)) { result = 1; }
  if (rank == 0) { tdsl::tests::write_outcomes(std::cout, "runtime at " + std::to_string(ranks) + ": "); }
  mpi().finalize();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run_tests(argc, argv);
  } catch (const tdsl::rt::RunError& error) {
    std::cerr << error.what() << '\n';
    return error.exit_code();
  }
}

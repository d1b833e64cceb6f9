#define DOCTEST_CONFIG_IMPLEMENT
#include "tests/outcomes.h"

#include <mpi.h>

#include <cstddef>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

REGISTER_LISTENER("outcomes", 1, tdsl::tests::OutcomeListener);

namespace {

/// Marks a test as failed on all ranks if it failed on any. Every rank has run the same tests in the same order.
bool combine_outcomes(MPI_Comm communicator) {
  std::vector<tdsl::tests::Outcome>& outcomes = tdsl::tests::outcomes();
  bool any = false;
  for (tdsl::tests::Outcome& outcome : outcomes) {
    int failed = outcome.failed ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, communicator);
    outcome.failed = failed != 0;
    any = any || outcome.failed;
  }
  return any;
}

}  // namespace

int main(int argc, char** argv) {
  int provided = MPI_THREAD_SINGLE;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);

  // Ranks above 0 print only if a test failed there.
  std::ostringstream quiet;
  doctest::Context context(argc, argv);
  context.setOption("no-intro", true);
  if (rank > 0) { context.setCout(&quiet); }
  int result = context.run();
  if (rank > 0 && result != 0) { std::cout << "--- rank " << rank << " ---\n" << quiet.str() << std::flush; }
  if (combine_outcomes(MPI_COMM_WORLD)) { result = 1; }
  if (rank == 0) { tdsl::tests::write_outcomes(std::cout, "runtime at " + std::to_string(ranks) + ": "); }
  MPI_Finalize();
  return result;
}

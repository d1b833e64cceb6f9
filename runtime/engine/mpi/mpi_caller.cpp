#include "runtime/engine/mpi/mpi_caller.h"

#include <dlfcn.h>
#include <mpi.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <utility>

#include "runtime/engine/mpi/mpi_box.h"
#include "runtime/engine/mpi/mpi_state.h"

namespace tdsl::rt {

namespace {

/// Makes MPI's symbols global: a library loaded with local symbols hides them from the plug-ins that MPI loads.
void show_mpi() {
  Dl_info library{};
  if (::dladdr(reinterpret_cast<void*>(&MPI_Init_thread), &library) != 0 && library.dli_fname != nullptr) {
    ::dlopen(library.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_GLOBAL);
  }
}

void end_mpi() {
  if (!mpi_is_over()) MPI_Finalize();
}

void start_mpi() {
  show_mpi();
  int provided = MPI_THREAD_SINGLE;
  check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
  std::atexit(end_mpi);
}

}  // namespace

bool mpi_is_over() {
  int over = 0;
  return MPI_Finalized(&over) == MPI_SUCCESS && over != 0;
}

struct CallerRanks::Communicator {
  MPI_Comm all = MPI_COMM_NULL;
};

CallerRanks::CallerRanks(const void* communicator, const Environment& environment)
    : pretended_(environment.ranks_per_node) {
  if (mpi_is_over()) throw RunError("MPI has been finalised", ExitCode::kUsage);
  int running = 0;
  check_mpi(MPI_Initialized(&running), "MPI_Initialized");
  if (running == 0) {
    if (communicator != nullptr)
      throw RunError("a communicator is given, but MPI has not been initialised", ExitCode::kUsage);
    const Launch launch = classify_launch(environment);
    if (launch == Launch::kRefused) throw RunError(refused_launch_message(environment, "PROGRAM"), ExitCode::kUsage);
    if (launch == Launch::kSingle) return;
    start_mpi();
  }
  const MPI_Comm all = communicator == nullptr ? MPI_COMM_WORLD : *static_cast<const MPI_Comm*>(communicator);
  if (all == MPI_COMM_NULL) throw RunError("the communicator is MPI_COMM_NULL", ExitCode::kUsage);
  int between = 0;
  check_mpi(MPI_Comm_test_inter(all, &between), "MPI_Comm_test_inter");
  if (between != 0) throw RunError("an inter-communicator cannot be used", ExitCode::kUsage);
  ranks_ = std::make_unique<Communicator>();
  check_mpi(MPI_Comm_dup(all, &ranks_->all), "MPI_Comm_dup");
}

CallerRanks::~CallerRanks() {
  if (ranks_ && ranks_->all != MPI_COMM_NULL && !mpi_is_over()) MPI_Comm_free(&ranks_->all);
}

void CallerRanks::abandon() { ranks_.reset(); }

std::unique_ptr<World> CallerRanks::make_world() const {
  auto link = std::make_unique<MpiLink>();
  if (ranks_) {
    link->start(ranks_->all);
    if (pretended_) link->pretend_nodes(*pretended_);
  }
  return std::make_unique<World>(std::move(link));
}

bool MpiLink::give_up() {
  given_up = true;
  if (!has_mpi) return true;
  constexpr std::chrono::seconds kPatience{2};
  for (std::size_t k = 0; k < requests.size(); ++k) {
    if (pieces[k].bytes >= 0 && requests[k] != MPI_REQUEST_NULL) MPI_Cancel(&requests[k]);  // a receive
  }
  for (OutgoingControl& message : outgoing) requests.push_back(message.request);
  int done = 0;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (MPI_Testall(static_cast<int>(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE) == MPI_SUCCESS &&
         done == 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return done != 0;
}

}  // namespace tdsl::rt

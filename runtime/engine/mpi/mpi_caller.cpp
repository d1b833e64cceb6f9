#include "runtime/engine/mpi/mpi_caller.h"

#include <dlfcn.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/engine/mpi/mpi_choice.h"
#include "runtime/engine/mpi/mpi_state.h"
#include "runtime/engine/mpi/mpi_table.h"

namespace tdsl::rt {

namespace {

void end_mpi() {
  if (!mpi_is_over()) mpi().finalize();
}

void start_mpi(const Environment& environment) {
  load_mpi(environment);
  int serialized = 0, size = 0;  // `serialized` is checked by MpiLink::start
  check_mpi(mpi().init_thread(&serialized), "MPI_Init_thread");
  std::atexit(end_mpi);
  check_mpi(mpi().comm_size(mpi().world, &size), "MPI_Comm_size");
  require_announced_size(environment, size);
}

/// True if an MPI library of this process has been initialised. The function has one type in all families, so that no
/// shim is needed for a library that merely is there.
bool any_is_initialised() {
  for (const LoadedMpi& library : loaded_mpis()) {
    void* const handle = ::dlopen(library.file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
    void* const function = handle == nullptr ? nullptr : ::dlsym(handle, "MPI_Initialized");
    int running = 0;
    const bool answered = function != nullptr && reinterpret_cast<int (*)(int*)>(function)(&running) == 0;
    if (handle != nullptr) ::dlclose(handle);
    if (answered && running != 0) return true;
  }
  return false;
}

/// True if the caller has initialised MPI, whose functions are opened then.
bool caller_has_mpi(const Environment& environment) {
  if (environment.mpi == "none" || !any_is_initialised()) return false;
  load_mpi(environment);
  if (mpi_is_over()) throw RunError("MPI has been finalised [launch]", ExitCode::kUsage);
  return true;
}

MpiHandle communicator_of(const void* communicator, bool of_fortran) {
  if (communicator == nullptr) return mpi().world;
  if (!of_fortran) return mpi().comm_of(communicator);
  std::int32_t number = 0;
  std::memcpy(&number, communicator, sizeof number);
  return mpi().comm_f2c(number);
}

}  // namespace

bool mpi_is_over() {
  int over = 0;
  return mpi_is_loaded() && mpi().finalized(&over) == 0 && over != 0;
}

struct CallerRanks::Communicator {
  MpiHandle all = 0;
};

CallerRanks::CallerRanks(const void* communicator, bool of_fortran, const Environment& environment)
    : pretended_(environment.ranks_per_node) {
  if (!caller_has_mpi(environment)) {
    if (communicator != nullptr)
      throw RunError(environment.mpi == "none" ? "a communicator is given, but TDSL_MPI=none [launch]"
                                               : "a communicator is given, but MPI has not been initialised [launch]",
                     ExitCode::kUsage);
    const Launch launch = classify_launch(environment);
    if (launch == Launch::kRefused)
      throw RunError(refused_launch_message(environment, "PROGRAM") + " [launch]", ExitCode::kUsage);
    if (launch == Launch::kSingle) return;
    start_mpi(environment);
  }
  const MpiHandle all = communicator_of(communicator, of_fortran);
  if (all == mpi().comm_null) throw RunError("the communicator is MPI_COMM_NULL [launch]", ExitCode::kUsage);
  int between = 0;
  check_mpi(mpi().comm_test_inter(all, &between), "MPI_Comm_test_inter");
  if (between != 0) throw RunError("an inter-communicator cannot be used [launch]", ExitCode::kUsage);
  ranks_ = std::make_unique<Communicator>();
  check_mpi(mpi().comm_dup(all, &ranks_->all), "MPI_Comm_dup");
}

CallerRanks::~CallerRanks() {
  if (ranks_ && ranks_->all != 0 && !mpi_is_over()) mpi().comm_free(&ranks_->all);
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
    if (pieces[k].bytes >= 0 && requests[k] != mpi().request_null) mpi().cancel(&requests[k]);  // a receive
  }
  for (OutgoingControl& message : outgoing) requests.push_back(message.request);
  int done = 0;
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (mpi().testall(static_cast<int>(requests.size()), requests.data(), &done) == 0 && done == 0) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::yield();
  }
  return done != 0;
}

}  // namespace tdsl::rt

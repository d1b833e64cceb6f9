#include <mpi.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/engine/mpi/mpi_box.h"
#include "runtime/engine/mpi/mpi_state.h"
#include "runtime/engine/watch/heartbeat.h"
#include "runtime/engine/watch/vigil.h"

namespace tdsl::rt {

namespace {

constexpr double kBetweenSigns = 1;
/// Between attempts of the thread to get the MPI token.
constexpr std::chrono::milliseconds kBetweenTries{250};
/// If a rank's parent and its children both miss it, the parent reports.
constexpr std::chrono::seconds kDeference{3};
constexpr int kSign = 0, kFarewell = 1;

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/// Used by the holder of the MPI token.
struct Vigil::State {
  World& world;
  double patience;
  Lost lost;
  MPI_Comm signs = MPI_COMM_NULL;
  std::optional<Heartbeat> heart;
  std::vector<int> neighbours;
  std::vector<MPI_Request> sending;  // by neighbour
  std::set<int> gone;                // neighbours that have sent a farewell
  bool judges = true;
  double last = 0;
  std::mutex mutex;
  std::condition_variable wake;
  bool over = false;
  std::thread thread;

  State(World& w, double p, Lost l) : world(w), patience(p), lost(std::move(l)) {}

  void forgive() { heart.emplace(world.rank(), world.size(), patience, seconds_now()); }

  void hear() {
    while (true) {
      int arrived = 0;
      MPI_Status status{};
      check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, signs, &arrived, &status), "MPI_Iprobe");
      if (arrived == 0) break;
      check_mpi(MPI_Recv(nullptr, 0, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, signs, MPI_STATUS_IGNORE),
                "MPI_Recv");
      if (status.MPI_TAG == kFarewell) gone.insert(status.MPI_SOURCE);
      heart->hear(status.MPI_SOURCE, {}, seconds_now());
    }
    for (const int rank : gone) heart->hear(rank, {}, seconds_now());
  }

  void give(int tag) {
    for (std::size_t n = 0; n < neighbours.size(); ++n) {
      int sent = 1;
      if (sending[n] != MPI_REQUEST_NULL) check_mpi(MPI_Test(&sending[n], &sent, MPI_STATUS_IGNORE), "MPI_Test");
      if (sent == 0 && tag == kFarewell) {  // queued behind a sign that has not been sent
        MPI_Request_free(&sending[n]);
        sent = 1;
      }
      if (sent != 0) check_mpi(MPI_Isend(nullptr, 0, MPI_BYTE, neighbours[n], tag, signs, &sending[n]), "MPI_Isend");
    }
  }

  void beat() {
    const double now = seconds_now();
    if (now - last < kBetweenSigns) return;
    last = now;
    hear();
    give(kSign);
    const std::optional<int> missed = heart->tick(now);
    if (!judges || !missed) return;
    if (*missed != 0 && *missed < world.rank()) std::this_thread::sleep_for(kDeference);
    lost(*missed, static_cast<int>(heart->silence(*missed, now)));
  }

  void live() {
    std::unique_lock lock(mutex);
    while (!wake.wait_for(lock, kBetweenTries, [this] { return over; })) {
      lock.unlock();
      if (const auto access = world.try_access()) beat();
      lock.lock();
    }
  }
};

Vigil::Vigil(World& world, double patience, Lost lost)
    : state_(std::make_unique<State>(world, patience, std::move(lost))) {
  State& s = *state_;
  {
    const World::Access access = world.access();
    check_mpi(MPI_Comm_dup(MPI_COMM_WORLD, &s.signs), "MPI_Comm_dup");
    check_mpi(MPI_Comm_set_errhandler(s.signs, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    s.forgive();
    s.neighbours = s.heart->neighbours();
    s.sending.resize(s.neighbours.size(), MPI_REQUEST_NULL);
  }
  s.thread = std::thread([&s] { s.live(); });  // throws if no thread can be created
  const World::Access access = world.access();
  while_waiting = {[](void* state) { static_cast<State*>(state)->beat(); }, &s};
}

Vigil::~Vigil() {
  State& s = *state_;
  {
    const std::lock_guard lock(s.mutex);
    s.over = true;
  }
  s.wake.notify_all();
  s.thread.join();
  const World::Access access = s.world.access();
  while_waiting = {};
  // Empty messages are sent eagerly. The last ones may never be received, so the communicator exists until MPI ends.
  s.give(kFarewell);
  for (MPI_Request& request : s.sending) {
    if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
  }
}

void Vigil::judge(bool judges) {
  State& s = *state_;
  const World::Access access = s.world.access();
  if (judges && !s.judges) s.forgive();
  s.judges = judges;
}

}  // namespace tdsl::rt

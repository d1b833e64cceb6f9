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
/// Between looks for farewells.
constexpr std::chrono::microseconds kNap{50};

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

/// Used by the holder of the MPI token.
struct Vigil::State {
  World& world;
  double patience;
  Lost lost;
  MpiHandle signs = 0;
  std::optional<Heartbeat> heart;
  std::vector<int> neighbours;
  std::vector<MpiHandle> sending;  // by neighbour
  std::set<int> gone;              // neighbours that have sent a farewell
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
      tdsl_mpi_status status{};
      check_mpi(mpi().iprobe(signs, &arrived, &status), "MPI_Iprobe");
      if (arrived == 0) break;
      check_mpi(mpi().recv(nullptr, 0, mpi().byte_type, status.source, status.tag, signs), "MPI_Recv");
      if (status.tag == kFarewell) gone.insert(status.source);
      heart->hear(status.source, {}, seconds_now());
    }
    for (const int rank : gone) heart->hear(rank, {}, seconds_now());
  }

  void give(int tag) {
    for (std::size_t n = 0; n < neighbours.size(); ++n) {
      int sent = 1;
      if (sending[n] != mpi().request_null) check_mpi(mpi().test(&sending[n], &sent), "MPI_Test");
      if (sent == 0 && tag == kFarewell) {  // queued behind a sign that has not been sent
        mpi().request_free(&sending[n]);
        sent = 1;
      }
      if (sent != 0)
        check_mpi(mpi().isend(nullptr, 0, mpi().byte_type, neighbours[n], tag, signs, &sending[n]), "MPI_Isend");
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
    check_mpi(mpi().comm_dup(mpi().world, &s.signs), "MPI_Comm_dup");
    s.forgive();
    s.neighbours = s.heart->neighbours();
    s.sending.resize(s.neighbours.size(), mpi().request_null);
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
  s.give(kFarewell);
  for (MpiHandle& request : s.sending) {
    if (request != mpi().request_null) mpi().request_free(&request);
  }
  std::erase_if(s.neighbours, [&s](int rank) { return s.gone.contains(rank); });
  farewells.push_back({s.signs, std::move(s.neighbours)});
}

void await_farewells() {
  for (Farewells& last : farewells) {
    while (!last.awaited.empty()) {
      int arrived = 0;
      tdsl_mpi_status status{};
      if (mpi().iprobe(last.signs, &arrived, &status) != 0) return;
      if (arrived == 0) {
        std::this_thread::sleep_for(kNap);
        continue;
      }
      if (mpi().recv(nullptr, 0, mpi().byte_type, status.source, status.tag, last.signs) != 0) return;
      if (status.tag == kFarewell) std::erase(last.awaited, status.source);
    }
    mpi().comm_free(&last.signs);
  }
  farewells.clear();
}

void Vigil::judge(bool judges) {
  State& s = *state_;
  const World::Access access = s.world.access();
  if (judges && !s.judges) s.forgive();
  s.judges = judges;
}

}  // namespace tdsl::rt

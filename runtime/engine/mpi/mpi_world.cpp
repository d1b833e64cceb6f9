#include "runtime/engine/mpi/mpi_world.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/engine/mpi/mpi_box.h"
#include "runtime/engine/mpi/mpi_state.h"

#ifdef __SANITIZE_ADDRESS__
// Keeps MPI's plug-ins loaded, so that the leak checker can attribute their leaks to the library that allocated them.
extern "C" int dlclose(void* /*handle*/) noexcept { return 0; }
#endif

namespace tdsl::rt {

void MpiLink::start(MpiHandle all) {
  int initialized = 0;
  check_mpi(mpi().initialized(&initialized), "MPI_Initialized");
  int serialized = 0;
  if (initialized == 0) {
    check_mpi(mpi().init_thread(&serialized), "MPI_Init_thread");
    owns_mpi = true;
  } else {
    check_mpi(mpi().query_thread(&serialized), "MPI_Query_thread");
  }
  has_mpi = true;
  if (serialized == 0) {
    throw RunError("this MPI library does not offer MPI_THREAD_SERIALIZED, which the runtime needs [launch]");
  }
  check_mpi(mpi().comm_rank(all, &rank), "MPI_Comm_rank");
  check_mpi(mpi().comm_size(all, &size), "MPI_Comm_size");
  check_mpi(mpi().comm_dup(all, &data), "MPI_Comm_dup");
  check_mpi(mpi().comm_dup(all, &control), "MPI_Comm_dup");
  check_mpi(mpi().comm_tag_limit(data, &max_tag), "MPI_Comm_get_attr");
  find_nodes();
}

void MpiLink::find_nodes() {
  MpiHandle node = 0, request = 0;
  check_mpi(mpi().comm_split_node(control, rank, &node), "MPI_Comm_split_type");
  check_mpi(mpi().comm_rank(node, &topology.local_rank), "MPI_Comm_rank");
  check_mpi(mpi().comm_size(node, &topology.local_size), "MPI_Comm_size");
  int lowest = rank;
  check_mpi(mpi().ibcast(&lowest, sizeof lowest, 0, node, &request), "MPI_Ibcast");
  wait(request, "MPI_Ibcast");
  check_mpi(mpi().comm_free(&node), "MPI_Comm_free");
  std::vector<int> lowest_of(static_cast<std::size_t>(size));
  check_mpi(mpi().iallgather(&lowest, sizeof lowest, lowest_of.data(), control, &request), "MPI_Iallgather");
  wait(request, "MPI_Iallgather");
  std::map<int, int> number;
  for (const int first : lowest_of) { number.emplace(first, 0); }
  int next = 0;
  for (auto& entry : number) { entry.second = next++; }
  topology.node_count = next;
  topology.node_of_rank.clear();
  for (const int first : lowest_of) { topology.node_of_rank.push_back(number.at(first)); }
  topology.node = topology.node_of_rank[static_cast<std::size_t>(rank)];
}

namespace {

/// Calls a function after a time limit unless destroyed before.
class Deadline {
 public:
  Deadline(std::chrono::seconds limit, std::function<void()> missed) {
    if (limit.count() == 0) return;
    try {
      thread_ = std::thread([this, limit, missed = std::move(missed)] {
        std::unique_lock lock(mutex_);
        if (!wake_.wait_for(lock, limit, [this] { return over_; })) missed();
      });
    } catch (const std::system_error&) {  // no thread available: MPI_Finalize is not watched
    }
  }
  ~Deadline() {
    if (!thread_.joinable()) return;
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace

MpiLink::~MpiLink() {
  if (!has_mpi || given_up) { return; }
  const Deadline deadline(owns_mpi ? end_limit : std::chrono::seconds(0), [this] { MpiLink::abort_all(end_missed()); });
  if (!requests.empty()) {
    std::fprintf(stderr, "internal error: rank %d ends with %zu requests pending\n", rank, requests.size());
  }
  for (OutgoingControl& message : outgoing) { mpi().wait(&message.request); }
  if (owns_mpi) await_farewells();
  if (data != 0) mpi().comm_free(&data);
  if (control != 0) mpi().comm_free(&control);
  if (owns_mpi) { mpi().finalize(); }
}

namespace {

int show_no_help(const char*, ...) { return 0; }

/// Ensures that our message is the last one. Open MPI sends its help texts to mpirun, which prints them; version 4 does
/// so through a function pointer.
void silence_mpi() {
  if (void* pointer = ::dlsym(RTLD_DEFAULT, "opal_show_help")) {
    Dl_info library{};
    ElfW(Sym)* symbol = nullptr;
    const bool found =
        ::dladdr1(pointer, &library, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) != 0 && symbol != nullptr;
    if (found && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size == sizeof(void*)) {
      *static_cast<int (**)(const char*, ...)>(pointer) = show_no_help;
    }
  }
  if (const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC); nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
}

}  // namespace

void MpiLink::fall_silent() {
  std::fflush(nullptr);
  if (has_mpi && size > 1) silence_mpi();
}

void MpiLink::abort_all(int exit_code) {
  constexpr std::chrono::seconds kPatience{5};  // for MPI_Abort to end the process
  std::fflush(nullptr);
  if (has_mpi && size > 1) {
    silence_mpi();
    try {
      std::thread([exit_code] { mpi().abort(mpi().world, exit_code); }).detach();
    } catch (const std::system_error&) {  // no thread available
      mpi().abort(mpi().world, exit_code);
    }
    std::this_thread::sleep_for(kPatience);
  }
  std::_Exit(exit_code);
}

void MpiLink::rest(std::chrono::microseconds least) {
  if (least.count() == 0) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(least);
  }
}

void require_announced_size(const Environment& environment, int size) {
  const int announced = environment.launcher_size.value_or(size), tasks = environment.slurm_step_tasks.value_or(1);
  // A step may be part of a larger run, never larger than the run.
  if (announced == size && tasks <= size) return;
  throw LaunchError("the launcher announced " + std::to_string(std::max(announced, tasks)) + " ranks, but MPI sees " +
                    std::to_string(size) + ": this launcher and " + mpi_name() +
                    " do not belong together; start with the library's own launcher, or choose another library with "
                    "TDSL_MPI [launch]");
}

World::World(const Environment& environment) {
  auto link = std::make_unique<MpiLink>();
  const Launch launch = classify_launch(environment);
  if (launch == Launch::kRefused) { throw LaunchError(refused_launch_message(environment, "PROGRAM") + " [launch]"); }
  if (launch != Launch::kSingle) {
    load_mpi(environment);
    link->start(mpi().world);
    require_announced_size(environment, link->size);
  }
  if (environment.ranks_per_node) link->pretend_nodes(*environment.ranks_per_node);
  link_ = std::move(link);
}

}  // namespace tdsl::rt

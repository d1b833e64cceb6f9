#include "runtime/engine/mpi/mpi_world.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <mpi.h>
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

void MpiLink::start(MPI_Comm all) {
  int initialized = 0;
  check_mpi(MPI_Initialized(&initialized), "MPI_Initialized");
  int provided = MPI_THREAD_SINGLE;
  if (initialized == 0) {
    check_mpi(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided), "MPI_Init_thread");
    owns_mpi = true;
  } else {
    check_mpi(MPI_Query_thread(&provided), "MPI_Query_thread");
  }
  has_mpi = true;
  if (provided < MPI_THREAD_SERIALIZED) {
    throw RunError("this MPI library does not offer MPI_THREAD_SERIALIZED, which the runtime needs");
  }
  check_mpi(MPI_Comm_rank(all, &rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(all, &size), "MPI_Comm_size");
  check_mpi(MPI_Comm_dup(all, &data), "MPI_Comm_dup");
  check_mpi(MPI_Comm_dup(all, &control), "MPI_Comm_dup");
  check_mpi(MPI_Comm_set_errhandler(data, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  check_mpi(MPI_Comm_set_errhandler(control, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int* limit = nullptr;
  int found = 0;
  check_mpi(MPI_Comm_get_attr(data, MPI_TAG_UB, static_cast<void*>(&limit), &found), "MPI_Comm_get_attr");
  max_tag = found != 0 ? *limit : 32767;
  find_nodes();
}

void MpiLink::find_nodes() {
  MPI_Comm node = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(control, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &node), "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(node, &topology.local_rank), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(node, &topology.local_size), "MPI_Comm_size");
  int lowest = rank;
  check_mpi(MPI_Bcast(&lowest, 1, MPI_INT, 0, node), "MPI_Bcast");
  check_mpi(MPI_Comm_free(&node), "MPI_Comm_free");
  std::vector<int> lowest_of(static_cast<std::size_t>(size));
  check_mpi(MPI_Allgather(&lowest, 1, MPI_INT, lowest_of.data(), 1, MPI_INT, control), "MPI_Allgather");
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
  for (OutgoingControl& message : outgoing) { MPI_Wait(&message.request, MPI_STATUS_IGNORE); }
  if (data != MPI_COMM_NULL) MPI_Comm_free(&data);
  if (control != MPI_COMM_NULL) MPI_Comm_free(&control);
  if (owns_mpi) { MPI_Finalize(); }
}

namespace {

#ifdef OPEN_MPI
int show_no_help(const char*, ...) { return 0; }
#endif

/// Ensures that our message is the last one. Open MPI sends its help texts to mpirun, which prints them; version 4 does
/// so through a function pointer.
void silence_mpi() {
#ifdef OPEN_MPI
  if (void* pointer = ::dlsym(RTLD_DEFAULT, "opal_show_help")) {
    Dl_info library{};
    ElfW(Sym)* symbol = nullptr;
    const bool found =
        ::dladdr1(pointer, &library, reinterpret_cast<void**>(&symbol), RTLD_DL_SYMENT) != 0 && symbol != nullptr;
    if (found && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size == sizeof(void*)) {
      *static_cast<int (**)(const char*, ...)>(pointer) = show_no_help;
    }
  }
#endif
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
      std::thread([exit_code] { MPI_Abort(MPI_COMM_WORLD, exit_code); }).detach();
    } catch (const std::system_error&) {  // no thread available
      MPI_Abort(MPI_COMM_WORLD, exit_code);
    }
    std::this_thread::sleep_for(kPatience);
  }
  std::_Exit(exit_code);
}

bool mpi_takes_pmi() {
#ifdef OPEN_MPI
  return false;
#else
  return true;
#endif
}

void MpiLink::rest(std::chrono::microseconds least) {
  if (least.count() == 0) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(least);
  }
}

World::World(const Environment& environment) {
  auto link = std::make_unique<MpiLink>();
  const Launch launch = classify_launch(environment);
  if (launch == Launch::kRefused) { throw LaunchError(refused_launch_message(environment, "PROGRAM")); }
  if (launch != Launch::kSingle) {
    link->start();
    const int announced = environment.launcher_size.value_or(link->size);
    // A step may be part of a larger run, never larger than the run.
    if (announced != link->size || environment.slurm_step_tasks.value_or(1) > link->size) {
      throw LaunchError(
          "the launcher announced " + std::to_string(std::max(announced, environment.slurm_step_tasks.value_or(1))) +
          " ranks, but MPI sees " + std::to_string(link->size) +
          ": this launcher and this MPI library do not belong together; start with the library's own mpirun");
    }
  }
  if (environment.ranks_per_node) link->pretend_nodes(*environment.ranks_per_node);
  link_ = std::move(link);
}

}  // namespace tdsl::rt

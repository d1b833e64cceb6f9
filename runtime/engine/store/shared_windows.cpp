#include "runtime/engine/store/shared_windows.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <span>
#include <utility>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

namespace {

constexpr plan::Index kWindowPage = 4096;  ///< a multiple of every block's alignment
constexpr plan::Index kLargePage = plan::Index{2} << 20;
/// Addresses for the windows of a node.
constexpr plan::Index kMostAddresses = plan::Index{8} << 40;

plan::Index round_up(plan::Index bytes, plan::Index unit) { return (bytes + unit - 1) / unit * unit; }
plan::Index in_pages(plan::Index bytes) { return round_up(std::max<plan::Index>(bytes, 1), kWindowPage); }

/// Maps the file where large pages of memory and file coincide; null if the system refuses.
std::byte* map_window(int file, plan::Index bytes, int access) {
  const auto length = static_cast<std::size_t>(bytes);
  const auto large = static_cast<std::size_t>(kLargePage);
  void* const room = ::mmap(nullptr, length + large, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return nullptr;
  const std::size_t before = (large - reinterpret_cast<std::uintptr_t>(room) % large) % large;
  std::byte* const data = static_cast<std::byte*>(room) + before;
  if (::mmap(data, length, access, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file, 0) == MAP_FAILED) {
    ::munmap(room, length + large);
    return nullptr;
  }
  if (before > 0) ::munmap(room, before);
  ::munmap(data + length, large - before);
  return data;
}

/// Addresses of a window: twice the machine's memory, so that free addresses are found in spite of gaps.
plan::Index window_bytes(plan::Index ranks) {
  const plan::Index pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  const plan::Index memory = pages > 0 && page > 0 ? pages * page : plan::Index{64} << 30;
  return std::min(2 * memory, kMostAddresses / ranks) / kWindowPage * kWindowPage;
}

/// True if the system may promise more memory than it has. Otherwise a page of a file that it cannot provide ends the
/// process, where private memory is refused with an error.
bool may_promise() {
  std::ifstream file("/proc/sys/vm/overcommit_memory");
  int strictness = 0;
  return !(file >> strictness) || strictness != 2;
}

bool may_have_files_of(plan::Index bytes) {
  rlimit limit{};
  return ::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         limit.rlim_cur >= static_cast<rlim_t>(bytes);
}

}  // namespace

std::unique_ptr<SharedWindow> SharedWindow::create(plan::Index bytes) {
  if (bytes < 2 * kWindowPage || bytes % kWindowPage != 0 || !may_promise() || !may_have_files_of(bytes))
    return nullptr;
  const int file = ::memfd_create("tdsl", MFD_CLOEXEC);
  if (file < 0) return nullptr;
  std::byte* const data = ::ftruncate(file, bytes) == 0 ? map_window(file, bytes, PROT_READ | PROT_WRITE) : nullptr;
  if (data == nullptr) {
    ::close(file);
    return nullptr;
  }
  return std::unique_ptr<SharedWindow>(new SharedWindow(file, data, bytes));
}

/// The first page has the mark.
SharedWindow::SharedWindow(int file, std::byte* data, plan::Index bytes) : file_(file), data_(data), bytes_(bytes) {
  const auto time = static_cast<plan::Index>(std::chrono::steady_clock::now().time_since_epoch().count());
  const plan::Index mark = time ^ static_cast<plan::Index>(reinterpret_cast<std::uintptr_t>(data) << 8) ^
                           static_cast<plan::Index>(::getpid());
  std::memcpy(data_, &mark, sizeof mark);
  free_.emplace(kWindowPage, bytes_);
}

SharedWindow::~SharedWindow() {
  close_file();
  ::munmap(data_, static_cast<std::size_t>(bytes_));
}

void SharedWindow::close_file() {
  if (file_ >= 0) ::close(std::exchange(file_, -1));
}

plan::Index SharedWindow::mark() const {
  plan::Index mark = 0;
  std::memcpy(&mark, data_, sizeof mark);
  return mark;
}

// Large pages as in Note [Huge pages], if the system's `shmem_enabled` is `advise`.
std::byte* SharedWindow::take(plan::Index bytes, plan::Index wanted) {
  const plan::Index length = in_pages(bytes);
  const plan::Index unit = wanted >= kLargePage ? kLargePage : kWindowPage;
  const auto found = std::ranges::find_if(
      free_, [=](const auto& range) { return round_up(range.first, unit) + length <= range.second; });
  if (found == free_.end()) return nullptr;
  const auto [first, last] = *found;
  const plan::Index begin = round_up(first, unit);
  free_.erase(found);
  if (first < begin) free_.emplace(first, begin);
  if (begin + length < last) free_.emplace(begin + length, last);
  if (wanted >= kLargePage)
    (void)::madvise(data_ + begin, static_cast<std::size_t>(wanted / kLargePage * kLargePage), MADV_HUGEPAGE);
  return data_ + begin;
}

void SharedWindow::give_back(std::byte* data, plan::Index bytes) {
  plan::Index begin = offset_of(data);
  plan::Index end = begin + in_pages(bytes);
  // Without effect the pages are used again later.
  const auto length = static_cast<std::size_t>(end - begin);
  (void)::madvise(data, length, MADV_REMOVE);
  if (bytes >= kLargePage) (void)::madvise(data, length, MADV_NOHUGEPAGE);
  auto next = free_.lower_bound(begin);
  if (next != free_.begin() && std::prev(next)->second == begin) {
    const auto before = std::prev(next);
    begin = before->first;
    free_.erase(before);
  }
  if (next != free_.end() && next->first == end) {
    end = next->second;
    free_.erase(next);
  }
  free_.emplace(begin, end);
}

plan::Index SharedWindow::offset_of(const std::byte* data) const {
  const plan::Index offset = data - data_;
  TDSL_CHECK(kWindowPage <= offset && offset < bytes_, "a block that a neighbour reads lies in the window");
  return offset;
}

/// What neighbours must know of a window; without a process: the rank has none.
struct SharedWindows::Card {
  plan::Index process = -1, file = -1, bytes = 0, mark = 0;
};

std::string SharedWindows::map(int rank, const Card& card) {
  const std::string path = "/proc/" + std::to_string(card.process) + "/fd/" + std::to_string(card.file);
  const std::string failed = "a rank cannot map memory of rank " + std::to_string(rank);
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return failed;
  struct stat about {};
  const bool fits = ::fstat(file, &about) == 0 && about.st_size == card.bytes;
  const std::byte* const data = fits ? map_window(file, card.bytes, PROT_READ) : nullptr;
  ::close(file);
  if (data == nullptr) return failed;
  neighbours_[rank] = {data, card.bytes};
  // A process of that number may be another one, in another container.
  return std::memcmp(data, &card.mark, sizeof card.mark) == 0 ? "" : failed;
}

std::unique_ptr<SharedWindows> SharedWindows::open(World& world, std::string& refused, plan::Index least,
                                                   plan::Index bytes) {
  if (world.size() == 1) return nullptr;
  std::unique_ptr<SharedWindows> windows(new SharedWindows());
  const std::vector<int>& nodes = world.topology().node_of_rank;
  windows->rule_ = {std::max<plan::Index>(least, 1), nodes};
  const int node = nodes[static_cast<std::size_t>(world.rank())];
  const auto ranks = static_cast<plan::Index>(std::ranges::count(nodes, node));
  windows->own_ = SharedWindow::create(bytes > 0 ? bytes : window_bytes(ranks));
  Card mine;
  if (windows->own_ != nullptr)
    mine = {::getpid(), windows->own_->file(), windows->own_->bytes(), windows->own_->mark()};
  const std::vector<std::vector<Card>> cards = world.access()->all_gather_values<Card>(std::span(&mine, 1));
  std::string reason = windows->own_ == nullptr ? "the system refuses shared memory" : "";
  for (int rank = 0; rank < world.size() && reason.empty(); ++rank) {
    const auto at = static_cast<std::size_t>(rank);
    if (rank != world.rank() && nodes[at] == node && cards[at].front().process >= 0)
      reason = windows->map(rank, cards[at].front());
  }
  // After this, all neighbours have mapped this rank's window.
  for (const std::string& theirs : world.access()->all_gather(reason)) {
    if (refused.empty()) refused = theirs;
  }
  if (!refused.empty()) return nullptr;
  windows->own_->close_file();
  return windows;
}

SharedWindows::~SharedWindows() {
  for (const auto& [rank, neighbour] : neighbours_)
    ::munmap(const_cast<std::byte*>(neighbour.data), static_cast<std::size_t>(neighbour.bytes));
}

const std::byte* SharedWindows::address(int rank, plan::Index offset) const {
  const Neighbour& neighbour = neighbours_.at(rank);
  TDSL_CHECK(0 <= offset && offset < neighbour.bytes, "memory of a neighbour lies in its window");
  return neighbour.data + offset;
}

}  // namespace tdsl::rt

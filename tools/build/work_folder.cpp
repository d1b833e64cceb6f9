#include "tools/build/work_folder.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <thread>

#include "tools/build/toolchain.h"

namespace tdsl::codegen {

namespace {

/// The system's entry of a process.
struct ProcessEntry {
  pid_t process = 0;
  pid_t parent = 0;
  char state = ' ';
  std::string started;
};

/// `PID (NAME) STATE PARENT ...`; the start time is the 20th field after the name.
std::optional<ProcessEntry> entry_of(pid_t process) {
  constexpr int kFieldsToStart = 20;
  std::ifstream file("/proc/" + std::to_string(process) + "/stat");
  std::string text;
  std::getline(file, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return std::nullopt;
  std::istringstream fields(text.substr(name_end + 1));
  ProcessEntry entry;
  entry.process = process;
  fields >> entry.state >> entry.parent;
  for (int field = 2; field < kFieldsToStart; ++field) fields >> entry.started;
  return fields ? std::optional(entry) : std::nullopt;
}

bool has_ended(const ProcessEntry& entry) { return entry.state == 'Z' || entry.state == 'X'; }

std::vector<ProcessEntry> running_processes() {
  std::vector<ProcessEntry> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator it("/proc", error), end; !error && it != end; it.increment(error)) {
    const pid_t process = std::atoi(it->path().filename().c_str());
    if (process <= 0) continue;
    if (const auto entry = entry_of(process); entry && !has_ended(*entry)) entries.push_back(*entry);
  }
  return entries;
}

}  // namespace

bool is_running(pid_t process) {
  const auto entry = entry_of(process);
  return entry && !has_ended(*entry);
}

ProcessTree::ProcessTree(pid_t root) {
  if (const auto entry = entry_of(root)) members_[root] = entry->started;
}

bool ProcessTree::look() {
  const std::vector<ProcessEntry> entries = running_processes();
  const std::size_t before = members_.size();
  for (std::size_t known = members_.size() + 1; known != members_.size();) {
    known = members_.size();
    for (const ProcessEntry& entry : entries) {
      if (members_.contains(entry.parent)) members_.emplace(entry.process, entry.started);
    }
  }
  return members_.size() != before;
}

bool ProcessTree::runs() const {
  return std::ranges::any_of(members_, [](const auto& member) {
    const auto entry = entry_of(member.first);
    return entry && !has_ended(*entry) && entry->started == member.second;
  });
}

void ProcessTree::kill() {
  const auto signal_all = [this](int signal) {
    for (const auto& [process, started] : members_) {
      if (const auto entry = entry_of(process); entry && entry->started == started) ::kill(process, signal);
    }
  };
  do signal_all(SIGSTOP);
  while (look());
  signal_all(SIGKILL);
}

namespace {

/// Time for a child to end its own children (mpirun's ranks) before all are killed.
constexpr std::chrono::seconds kPatience{5};
/// Interval between two checks of the processes.
constexpr std::chrono::milliseconds kBetweenLooks{100};

void remove_folders(const std::vector<std::string>& paths) {
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
}

/// The keeper's view of a work folder's child.
class Kept {
 public:
  void follow(const KeeperOrder& order) {
    child_ = order.child;
    if (!order.ends || child_ == 0 || tree_) return;
    tree_.emplace(std::abs(child_));
    tree_->look();
    deadline_ = std::chrono::steady_clock::now() + kPatience;
  }
  /// True if the child has been asked to end and processes of it may remain.
  [[nodiscard]] bool ends() const { return tree_.has_value(); }
  [[nodiscard]] pid_t child() const { return child_; }
  /// Kills the processes if the time limit has expired.
  void look() {
    tree_->look();
    const bool runs = tree_->runs();
    if (runs && std::chrono::steady_clock::now() < deadline_) return;
    if (child_ < 0) ::kill(child_, SIGKILL);  // its process group
    if (runs) tree_->kill();
    tree_.reset();
    child_ = 0;
  }

 private:
  pid_t child_ = 0;
  std::optional<ProcessTree> tree_;
  std::chrono::steady_clock::time_point deadline_;
};

/// The keeper's main function. It holds none of its parent's files and ignores signals, including a terminal's.
[[noreturn]] void keep(int line, const std::vector<std::string>& folders) {
  ::setpgid(0, 0);
  ::dup2(line, 3);
  ::close_range(4, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  ::close(nothing);
  Kept kept;
  pollfd hears{3, POLLIN, 0};
  while (true) {
    if (::poll(&hears, 1, kept.ends() ? static_cast<int>(kBetweenLooks.count()) : -1) > 0) {
      KeeperOrder order;
      if (::read(3, &order, sizeof order) != static_cast<ssize_t>(sizeof order)) break;
      kept.follow(order);
    }
    if (kept.ends()) kept.look();
  }
  if (!kept.ends() && kept.child() != 0) {
    kept.follow({kept.child(), true});
    ::kill(kept.child(), SIGTERM);
  }
  while (kept.ends()) {
    kept.look();
    if (kept.ends()) std::this_thread::sleep_for(kBetweenLooks / 10);
  }
  remove_folders(folders);
  ::_exit(0);
}

}  // namespace

WorkFolder::WorkFolder(const std::vector<std::string>& prefixes) {
  for (const std::string& prefix : prefixes) {
    std::string& path = paths_.emplace_back(prefix + "XXXXXX");
    if (prefix.empty() || ::mkdtemp(path.data()) == nullptr) path.clear();
  }
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::sigprocmask(SIG_BLOCK, &all, &before);
    keeper_ = ::fork();
    if (keeper_ == 0) keep(ends[1], paths_);
    ::sigprocmask(SIG_SETMASK, &before, nullptr);
    ::close(ends[1]);
    line_ = ends[0];
  }
  if (keeper_ > 0) return;
  const std::string reason = std::strerror(errno);
  if (line_ >= 0) ::close(line_);
  remove_folders(paths_);
  throw ToolchainError("cannot start a process: " + reason);
}

WorkFolder::~WorkFolder() {
  ::close(line_);
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {}
}

void WorkFolder::guard(pid_t child) { tell_keeper(line_, {child, false}); }

void WorkFolder::hasten(pid_t child) { tell_keeper(line_, {child, true}); }

}  // namespace tdsl::codegen

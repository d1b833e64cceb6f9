#include "codegen/work_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "codegen/toolchain.h"

namespace tdsl::codegen {

namespace {

/// How long a child may take to end its own children (mpirun's ranks) before it is killed.
constexpr std::chrono::seconds kPatience{10};

void remove_folders(const std::vector<std::string>& paths) {
  std::error_code ignored;
  for (const std::string& path : paths) {
    if (!path.empty()) std::filesystem::remove_all(path, ignored);
  }
}

/// A process that has ended may stay in the table until somebody asks for its exit code.
bool is_running(pid_t process) {
  std::ifstream status(fmt::format("/proc/{}/stat", process));
  std::string text;
  std::getline(status, text);
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= text.size()) return false;
  return text[name_end + 2] != 'Z' && text[name_end + 2] != 'X';
}

void end_child(pid_t child) {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  ::kill(child, SIGTERM);
  const pid_t leader = std::abs(child);
  while (is_running(leader) && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  if (child < 0 || is_running(leader)) ::kill(child, SIGKILL);
}

/// The keeper's life. It holds none of its parent's files and hears no signals, not even a terminal's.
[[noreturn]] void keep(int line, const std::vector<std::string>& folders) {
  ::setpgid(0, 0);
  ::dup2(line, 3);
  ::close_range(4, ~0U, 0);
  const int nothing = ::open("/dev/null", O_RDWR);
  for (int fd = 0; fd < 3; ++fd) ::dup2(nothing, fd);
  ::close(nothing);
  pid_t child = 0;
  pid_t next = 0;
  while (::read(3, &next, sizeof next) == static_cast<ssize_t>(sizeof next)) child = next;
  if (child != 0) end_child(child);
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
  while (::waitpid(keeper_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void WorkFolder::guard(pid_t child) {
  [[maybe_unused]] const auto sent = ::send(line_, &child, sizeof child, MSG_NOSIGNAL);
}

}  // namespace tdsl::codegen

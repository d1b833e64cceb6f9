#include "tools/build/process.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace tdsl::codegen {

namespace {

std::vector<std::string> environment_of(const ProcessRequest& request) {
  std::vector<std::string> result;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string entry = *e;
    const std::string name = entry.substr(0, entry.find('='));
    bool replaced = false;
    for (const auto& [key, value] : request.environment) replaced = replaced || key == name;
    if (!replaced) result.push_back(entry);
  }
  for (const auto& [key, value] : request.environment) result.push_back(key + "=" + value);
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  for (std::string& s : strings) result.push_back(s.data());
  result.push_back(nullptr);
  return result;
}

/// Starts a command in a process group, 0: its own; redirects its standard output to `output` if requested. Returns an
/// errno value.
int spawn(const ProcessRequest& request, std::vector<std::string> arguments, pid_t group, int output,
          const sigset_t& signals, pid_t& child) {
  std::vector<std::string> variables = environment_of(request);
  const std::vector<char*> argv = pointers(arguments);
  const std::vector<char*> envp = pointers(variables);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  if (output >= 0) posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (request.capture) posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setsigmask(&attributes, &signals);
  // Ctrl-C reaches it only once, forwarded by this process: a second one would make mpirun kill its ranks immediately.
  posix_spawnattr_setpgroup(&attributes, group);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int error = posix_spawnp(&child, argv[0], &actions, &attributes, argv.data(), envp.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

/// Reads the process's output until all writers have closed it.
void receive_all(int fd, const ProcessRequest& request, pid_t child, ProcessResult& result) {
  std::array<char, 65536> buffer;
  bool wanted = true;
  while (true) {
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    const std::string_view piece(buffer.data(), static_cast<std::size_t>(n));
    if (request.capture) {
      result.output += piece;
    } else if (wanted && !request.receive(piece)) {
      wanted = false;
      ::kill(child, SIGTERM);
      if (request.folder != nullptr) request.folder->hasten(child);
    }
  }
}

/// Starts all commands. The group is that of the first, which is not reaped before the others. Returns an errno value.
int spawn_all(const ProcessRequest& request, int output, const sigset_t& signals, std::vector<pid_t>& children) {
  pid_t child = 0;
  int error = spawn(request, request.command, 0, output, signals, child);
  if (error == 0) children.push_back(child);
  for (std::size_t k = 0; k < request.others.size() && error == 0; ++k) {
    error = spawn(request, request.others[k], children.front(), output, signals, child);
    if (error == 0) children.push_back(child);
  }
  if (error != 0 && !children.empty()) ::kill(-children.front(), SIGKILL);
  return error;
}

/// The process is not reaped before signals are redirected, so that its number cannot be reused.
void wait_until_ended(pid_t child) {
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {}
}

void reap(pid_t child, ProcessResult& result) {
  int status = 0;
  struct rusage usage {};
  while (::wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {}
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  result.cpu_seconds += seconds(usage.ru_utime) + seconds(usage.ru_stime);
  if (result.exit_code != 0) return;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  result.exit_code = result.signal != 0 ? 128 + result.signal : WEXITSTATUS(status);
}

}  // namespace

ProcessResult run_process(const ProcessRequest& request) {
  const InterruptHold hold;
  ProcessResult result;
  int ends[2] = {-1, -1};
  if ((request.capture || request.receive) && ::pipe2(ends, O_CLOEXEC) != 0) {
    return {127, 0, std::string("cannot make a pipe: ") + std::strerror(errno)};
  }
  std::vector<pid_t> children;
  pid_t target = 0;
  int error = 0;
  {
    // Signals stay pending until there is a process to forward them to.
    const InterruptBlock block;
    error = interrupt_signal() != 0 ? EINTR : spawn_all(request, ends[1], block.before(), children);
    if (error == 0) {
      target = request.launcher ? children.front() : -children.front();
      if (request.folder != nullptr) request.folder->guard(target);
      pass_interrupts_to(target, request.folder != nullptr ? request.folder->line() : -1);
    }
  }
  if (ends[1] >= 0) ::close(ends[1]);
  if (error == 0 && ends[0] >= 0) receive_all(ends[0], request, target, result);
  if (ends[0] >= 0) ::close(ends[0]);
  for (const pid_t child : children) wait_until_ended(child);
  if (error == 0) pass_interrupts_to(0);
  for (const pid_t child : children) reap(child, result);
  if (error != 0) return {127, 0, "cannot start " + request.command.front() + ": " + std::strerror(error)};
  if (request.folder != nullptr) request.folder->guard(0);
  return result;
}

}  // namespace tdsl::codegen

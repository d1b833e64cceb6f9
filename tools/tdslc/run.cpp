#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>

#include "codegen/compile.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

/// Sets a variable of this process (and so of the launcher) unless the user did.
void default_variable(const char* name, const char* value) { ::setenv(name, value, 0); }

/// Whether the ranks may land on other machines: a batch system's allocation, or hosts given to Open MPI.
bool other_hosts() {
  constexpr const char* kSigns[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "PE_HOSTFILE", "OMPI_MCA_orte_default_hostfile"};
  return std::ranges::any_of(kSigns, [](const char* name) { return std::getenv(name) != nullptr; });
}

/// A folder for the launcher's session files. Launchers that begin and end at the same time make and remove the one they
/// share by default, and now and then one of them fails over it.
class SessionFolder {
 public:
  SessionFolder() {
    const char* base = std::getenv("TMPDIR");
    path_ = (base != nullptr && *base != '\0' ? std::string(base) : "/tmp") + "/tdsl-run-XXXXXX";
    if (::mkdtemp(path_.data()) == nullptr) {
      path_.clear();
      return;
    }
    default_variable("OMPI_MCA_orte_tmpdir_base", path_.c_str());
    ::setenv("TDSL_STARTED", sign().c_str(), 1);
  }
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;
  ~SessionFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }

  /// Whether the ranks never came to speak for themselves. The launcher is told to be quiet, and says nothing either.
  [[nodiscard]] bool never_started() const { return !path_.empty() && !std::filesystem::exists(sign()); }

 private:
  [[nodiscard]] std::string sign() const { return path_ + "/started"; }
  std::string path_;
};

volatile std::sig_atomic_t launcher_process = 0;
volatile std::sig_atomic_t interrupted = 0;

void pass_on(int signal) {
  interrupted = 1;
  ::kill(launcher_process, signal);
}

/// Runs the launcher and waits. Its own answer to Ctrl-C depends on the MPI in use, so that exit code and message are
/// ours; the ranks remove their temporary files.
int launch(std::vector<std::string> command) {
  default_variable("TDSL_SILENT_INTERRUPT", "1");
  std::vector<char*> argv;
  for (std::string& s : command) argv.push_back(s.data());
  argv.push_back(nullptr);
  // Signals wait until there is a process to pass them to.
  sigset_t held;
  sigset_t before;
  ::sigemptyset(&held);
  ::sigaddset(&held, SIGINT);
  ::sigaddset(&held, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &held, &before);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &before);
  // A group of its own: a terminal's Ctrl-C reaches it once, through us (twice makes mpirun kill its ranks at once). Nothing
  // in such a group may read the terminal.
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  posix_spawn_file_actions_t files;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, argv[0], &files, &attributes, argv.data(), environ);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
  if (error != 0) throw codegen::ToolchainError(fmt::format("cannot start {}: {}", command.front(), std::strerror(error)));
  launcher_process = child;
  struct sigaction action {};
  action.sa_handler = pass_on;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGINT, &action, nullptr);
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (interrupted != 0) {
    std::fputs("interrupted; no output file was written\n", stderr);
    return 130;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& s : command) argv.push_back(s.data());
  argv.push_back(nullptr);
  // Not execvp, which gives to a shell what is no executable: an empty file would then count as success.
  ::execv(argv[0], argv.data());
  throw codegen::ToolchainError(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
}

}  // namespace

int run(const CommandLine& line) {
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  const codegen::CompiledProgram program = build_program(line, toolchain);
  std::vector<std::string> command;
  if (line.ranks.value_or(1) > 1) {
    // Ranks use several threads and may be more than the cores: binding and slots are not the launcher's to decide.
    default_variable("OMPI_MCA_rmaps_base_oversubscribe", "1");
    default_variable("OMPI_MCA_hwloc_base_binding_policy", "none");
    // Within a machine nothing else is of use; looking for a fabric takes 0.2 s of every start.
    if (!other_hosts()) default_variable("OMPI_MCA_pml", "ob1");
    if (::geteuid() == 0) {
      default_variable("OMPI_ALLOW_RUN_AS_ROOT", "1");
      default_variable("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    }
    command = {toolchain.mpiexec.empty() ? "mpirun" : toolchain.mpiexec, "-q", toolchain.launcher_ranks, fmt::format("{}", *line.ranks)};
  }
  const bool launched = !command.empty();
  command.push_back(program.path);
  command.insert(command.end(), line.program_arguments.begin(), line.program_arguments.end());
  std::fflush(nullptr);
  if (!launched) become(std::move(command));
  std::optional<SessionFolder> session;
  if (!other_hosts()) session.emplace();
  const std::string launcher = command.front();
  const int code = launch(std::move(command));
  if (code != 0 && interrupted == 0 && session && session->never_started()) {
    fmt::print(stderr, "{} could not start {} ranks (exit code {}); '{} {} {} true' says why\n", launcher, *line.ranks, code,
               launcher, toolchain.launcher_ranks, *line.ranks);
  }
  return code;
}

}  // namespace tdsl::tools

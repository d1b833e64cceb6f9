#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/app/options/limits.h"
#include "runtime/base/number_format.h"
#include "tools/build/compile.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/explain/relations_plan.h"
#include "tools/tdslc/setup/launcher.h"
#include "tools/tdslc/setup/rank_signs.h"
#include "tools/tdslc/streams.h"

namespace tdsl::tools {

namespace {

/// Forwards the ranks' output, and detects write errors, which launchers ignore.
class Relay {
 public:
  bool operator()(std::string_view text) {
    while (!text.empty()) {
      const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        error_ = errno;
        return false;
      }
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  /// An errno value; 0: all output was written.
  [[nodiscard]] int error() const { return error_; }

 private:
  int error_ = 0;
};

/// Detects processes of this control group killed for memory since construction.
class MemoryKills {
 public:
  [[nodiscard]] bool any() const { return rt::count_kills(group_, rt::read_system_file) > before_; }
  [[nodiscard]] std::string reason() const {
    const std::string limit =
        group_.limit.bytes == 0
            ? ""
            : fmt::format(": {} is {}, for all ranks here", group_.limit.source, rt::format_bytes(group_.limit.bytes));
    return fmt::format(", because memory ran out{}; --memory gives ranks less", limit);
  }

 private:
  rt::MemoryGroup group_ = rt::memory_group(rt::read_system_file);
  std::int64_t before_ = rt::count_kills(group_, rt::read_system_file);
};

/// Why there is no result, if neither ranks nor launcher have reported it; otherwise empty.
std::string explanation(const codegen::ProcessResult& result, const std::string& launcher, const std::string& session,
                        const MemoryKills& kills) {
  if (result.signal != 0) return fmt::format("{} was ended by {}", launcher, signal_text(result.signal));
  if (result.exit_code <= 128) return {};
  if (session.empty()) return fmt::format("a rank was ended by {}", signal_text(result.exit_code - 128));
  return kills.any() ? lost_ranks(session, result.exit_code, kills.reason()) : lost_ranks(session, result.exit_code);
}

/// Runs the launcher and waits. This process reports interrupts, because launchers handle them differently.
/// `plan`: the text of a plan file that replaces the program's.
int launch(std::vector<std::string> command, const std::optional<std::string>& plan, const std::string& trial,
           std::int64_t ranks) {
  default_variable("TDSL_SILENT_INTERRUPT", "1");
  codegen::WorkFolder session(session_folders(other_hosts()));
  if (plan) {
    if (session.path().empty())
      throw UsageError("--use-plan: ranks on other hosts take no relations; `explain --save-plan` translates them");
    const std::string file = session.path() + "/relations.plan";
    codegen::write_text(file, *plan);
    replace_plan(command, file);
  }
  const MemoryKills kills;
  Relay relay;
  codegen::ProcessRequest request{
      .command = command, .environment = session_variables(session), .folder = &session, .launcher = true};
  request.receive = std::ref(relay);
  const codegen::ProcessResult result = codegen::run_process(request);
  if (codegen::interrupt_signal() != 0) return result.exit_code;  // removing the folder ends this process
  if (result.exit_code == 127 && !result.output.empty()) throw codegen::ToolchainError(result.output);
  if (relay.error() != 0) {
    print_error(fmt::format("cannot write to standard output: {} [cannot-write]\n", std::strerror(relay.error())));
    return 1;
  }
  if (result.exit_code == 0) return 0;
  const std::string& signs = signs_folder(session);
  if (!signs.empty() && !std::filesystem::exists(signs + "/started")) {
    print_error(fmt::format("{} could not start {} ranks (exit code {}); `{}` says why\n", command.front(), ranks,
                            result.exit_code, trial));
    return result.exit_code;
  }
  if (result.exit_code <= 128 && !signs.empty()) {
    // Launchers that are signalled forward the signal to their ranks, and return their own exit code.
    if (const int signal = signal_of_all(signs, ranks); signal != 0) {
      print_error(fmt::format("{} was told to end, and ended the ranks by {}\n", command.front(), signal_text(signal)));
      return 128 + signal;
    }
  }
  if (const std::string text = explanation(result, command.front(), signs, kills); !text.empty())
    print_error(text + "\n");
  return result.exit_code;
}

/// True if the program is to check for nan or inf (its --check).
bool looks_at_numbers(const std::vector<std::string>& arguments) {
  constexpr std::string_view kOption = "--check";
  for (std::size_t k = 0; k < arguments.size(); ++k) {
    std::string_view text = arguments[k];
    if (!text.starts_with(kOption)) continue;
    text.remove_prefix(kOption.size());
    if (text.empty() && k + 1 < arguments.size()) text = arguments[++k];
    if (text.find("nan") != std::string_view::npos || text.find("inf") != std::string_view::npos) return true;
  }
  return false;
}

[[noreturn]] void become(std::vector<std::string> command) {
  std::vector<char*> argv;
  for (std::string& s : command) argv.push_back(s.data());
  argv.push_back(nullptr);
  // Not execvp, which passes non-executables to a shell: an empty file would count as success.
  ::execv(argv[0], argv.data());
  throw codegen::ToolchainError(fmt::format("cannot start {}: {}", command.front(), std::strerror(errno)));
}

}  // namespace

int run(const CommandLine& line) {
  if (!line.oversubscribe) refuse_absurd_start(line.ranks.value_or(1));
  const codegen::Toolchain toolchain = codegen::read_toolchain(codegen::find_prefix());
  CommandLine asked = line;
  // Stores every named value in blocks, which are what --check inspects.
  if (asked.fusion.empty() && looks_at_numbers(asked.program_arguments)) asked.fusion = "none";
  const codegen::CompiledProgram program = build_program(asked, toolchain);
  const std::optional<std::string> plan = translated_plan(asked);
  if (plan && line.ranks.value_or(1) == 1)
    throw UsageError("--use-plan: relations on sites are a plan for several ranks; give -n");
  std::vector<std::string> command;
  const bool launched = line.ranks.value_or(1) > 1;
  if (launched) { command = launcher_command(toolchain, *line.ranks, other_hosts()); }
  command.push_back(program.path);
  command.insert(command.end(), line.program_arguments.begin(), line.program_arguments.end());
  std::fflush(nullptr);
  if (!launched) become(std::move(command));
  return launch(command, plan, fmt::format("{} -n {} true", command.front(), *line.ranks), *line.ranks);
}

}  // namespace tdsl::tools

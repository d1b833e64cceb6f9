#include "tools/tdslc/setup/measured_program.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <utility>

#include "tools/build/compile.h"
#include "tools/build/output_file.h"
#include "tools/build/process.h"
#include "tools/tdslc/build_program.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/setup/launcher.h"

namespace tdsl::tools {

MeasuredProgram::MeasuredProgram(const std::string& name, const std::string& text, const std::string& output,
                                 std::vector<std::string> disabled_passes)
    : name_(name),
      output_(output),
      toolchain_(codegen::read_toolchain(codegen::find_prefix())),
      folder_({(std::filesystem::temp_directory_path() / "tdsl-doctor-").string()}) {
  if (folder_.path().empty()) throw std::runtime_error("cannot make a temporary folder");
  CommandLine line;
  line.command = Command::kBuild;
  line.program = file(name + ".tdsl");
  line.disabled_passes = std::move(disabled_passes);
  codegen::write_text(line.program, text);
  executable_ = build_program(line, toolchain_).path;
}

nlohmann::json MeasuredProgram::run(int ranks, const std::vector<std::string>& options, const std::string& constants) {
  codegen::write_text(file("machine.conf"), constants);
  std::vector<std::string> command;
  if (ranks > 1) command = launcher_command(toolchain_, ranks, false);
  command.insert(command.end(), {executable_, "--threads", "1", "--quiet", "--stats", file("stats.json"),
                                 "--" + output_, file(output_ + ".npy")});
  command.insert(command.end(), options.begin(), options.end());
  codegen::WorkFolder session(session_folders(false));
  std::vector<std::pair<std::string, std::string>> environment = session_variables(session);
  environment.emplace_back("TDSL_MACHINE", file("machine.conf"));
  const codegen::ProcessResult result = codegen::run_process(
      {.command = command, .environment = environment, .capture = true, .folder = &session, .launcher = ranks > 1});
  if (result.exit_code != 0)
    throw std::runtime_error(
        fmt::format("the program of {} ended with {} on {} ranks", name_, result.exit_code, ranks));
  std::ifstream in(file("stats.json"));
  return nlohmann::json::parse(in);
}

std::string MeasuredProgram::file(const std::string& name) const {
  return (std::filesystem::path(folder_.path()) / name).string();
}

}  // namespace tdsl::tools

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "ir/graph/check.h"
#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/temporaries.h"
#include "tools/build/compile.h"
#include "tools/build/interrupts.h"
#include "tools/build/output_file.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/streams.h"

namespace {

using tdsl::tools::Command;
using tdsl::tools::print_error;

int dispatch(const tdsl::tools::CommandLine& line) {
  switch (line.command) {
    case Command::kRun: return tdsl::tools::run(line);
    case Command::kBuild: return tdsl::tools::build(line);
    case Command::kSubmit: return tdsl::tools::submit(line);
    case Command::kCheck: return tdsl::tools::check(line);
    case Command::kEval: return tdsl::tools::eval(line);
    case Command::kEmit: return tdsl::tools::emit(line);
    case Command::kExplain: return tdsl::tools::explain(line);
    case Command::kPasses: return tdsl::tools::passes(line);
    case Command::kFormat: return tdsl::tools::format(line);
    case Command::kCompare: return tdsl::tools::compare(line);
    case Command::kVerify: return tdsl::tools::verify(line);
    case Command::kReport: return tdsl::tools::report(line);
    case Command::kPlot: return tdsl::tools::plot(line);
    case Command::kDoctor: return tdsl::tools::doctor(line);
    case Command::kLanguageServer: return tdsl::tools::language_server();
    case Command::kImport: return tdsl::tools::import_function(line);
    case Command::kNew: return tdsl::tools::new_program(line);
    case Command::kMpi: return tdsl::tools::mpi(line);
    case Command::kConfigure: return tdsl::tools::configure(line);
  }
  return 3;
}

int compiler_bug(const std::exception& error) {
  print_error(fmt::format("tdslc: this is a bug of the compiler, please report it: {}\n", error.what()));
  return 3;
}

/// Returns the exit code; messages have been printed.
int run_command(const std::vector<std::string>& arguments) {
  try {
    return dispatch(tdsl::tools::parse_command_line(arguments));
  } catch (const tdsl::tools::Stop& stop) { return stop.exit_code; } catch (const tdsl::tools::ProgramErrors&) {
    return 1;
  } catch (const tdsl::tools::UsageError& error) {
    print_error(fmt::format("tdslc: {}\n", error.what()));
    return 2;
  } catch (const tdsl::codegen::OutputError& error) {
    print_error(fmt::format("tdslc: {}\n", error.what()));
    return 2;
  } catch (const tdsl::rt::RunError& error) {
    print_error(fmt::format("{}\n", error.what()));
    return error.exit_code();
  } catch (const tdsl::codegen::CompilerFailure& error) {
    print_error(fmt::format("tdslc: {}\n", error.what()));
    return 4;
  } catch (const tdsl::codegen::ToolchainError& error) {
    print_error(fmt::format("tdslc: {}\n", error.what()));
    return 4;
  } catch (const std::bad_alloc&) {
    print_error("tdslc: out of memory\n");
    return 1;
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) == 0) return compiler_bug(error);
    errno = error.code().value();  // from fmt::print; reported by main
    return 1;
  } catch (const std::exception& error) { return compiler_bug(error); }
}

/// Launchers change the working directory before they look for it.
void make_temporary_folder_absolute() {
  const char* folder = std::getenv("TMPDIR");
  if (folder == nullptr || *folder == '\0' || *folder == '/') return;
  std::error_code unknown;
  const std::filesystem::path whole = std::filesystem::absolute(folder, unknown);
  if (!unknown) ::setenv("TMPDIR", whole.c_str(), 1);
}

}  // namespace

int main(int argc, char** argv) {
  tdsl::rt::open_standard_streams();
  tdsl::rt::keep_owner_access();
  make_temporary_folder_absolute();
  tdsl::codegen::handle_interrupts(tdsl::rt::unlink_temporaries);
  const int code = run_command({argv + 1, argv + argc});
  if (tdsl::tools::flush_output()) return code;
  print_error(fmt::format("tdslc: cannot write to standard output: {}\n", std::strerror(errno)));
  return code == 0 ? 1 : code;
}

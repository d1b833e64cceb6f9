#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "codegen/compile.h"
#include "codegen/output_file.h"
#include "codegen/toolchain.h"
#include "ir/check.h"
#include "runtime/check.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace {

using tdsl::tools::Command;

int dispatch(const tdsl::tools::CommandLine& line) {
  switch (line.command) {
    case Command::kRun: return tdsl::tools::run(line);
    case Command::kBuild: return tdsl::tools::build(line);
    case Command::kCheck: return tdsl::tools::check(line);
    case Command::kEval: return tdsl::tools::eval(line);
    case Command::kEmit: return tdsl::tools::emit(line);
    case Command::kExplain: return tdsl::tools::explain(line);
    case Command::kPasses: return tdsl::tools::passes(line);
    case Command::kFormat: return tdsl::tools::format(line);
    case Command::kDoctor: return tdsl::tools::doctor(line);
  }
  return 3;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = dispatch(tdsl::tools::parse_command_line({argv + 1, argv + argc}));
    if (std::fflush(stdout) != 0) {
      fmt::print(stderr, "tdslc: cannot write the answer\n");
      return 1;
    }
    return code;
  } catch (const tdsl::tools::Stop& stop) {
    return stop.exit_code;
  } catch (const tdsl::tools::ProgramErrors&) {
    return 1;
  } catch (const tdsl::tools::UsageError& error) {
    fmt::print(stderr, "tdslc: {}\n", error.what());
    return 2;
  } catch (const tdsl::codegen::OutputError& error) {
    fmt::print(stderr, "tdslc: {}\n", error.what());
    return 2;
  } catch (const tdsl::rt::RunError& error) {
    fmt::print(stderr, "{}\n", error.what());
    return error.exit_code();
  } catch (const tdsl::codegen::CompilerFailure& error) {
    fmt::print(stderr, "tdslc: {}\n", error.what());
    return 4;
  } catch (const tdsl::codegen::ToolchainError& error) {
    fmt::print(stderr, "tdslc: {}\n", error.what());
    return 4;
  } catch (const std::bad_alloc&) {
    fmt::print(stderr, "tdslc: out of memory\n");
    return 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "tdslc: this is a bug of the compiler, please report it: {}\n", error.what());
    return 3;
  }
}

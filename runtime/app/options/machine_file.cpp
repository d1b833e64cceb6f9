#include "runtime/app/options/machine_file.h"

#include <sys/stat.h>

#include <fstream>
#include <iterator>
#include <stdexcept>

#include "runtime/check.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/file_system.h"

namespace tdsl::rt {

plan::Machine load_machine(const Environment& environment) {
  const std::string& path = environment.machine_file ? *environment.machine_file : environment.measured_machine_file;
  if (path.empty()) return {};
  struct stat status {};
  // A pipe blocks on open, so it is accepted only where the user has named it.
  if (::stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode) &&
      !(environment.machine_file && S_ISFIFO(status.st_mode))) {
    throw RunError("cannot read `" + path + "`, the machine's constants: it is not a regular file, but " +
                   file_kind_name(status.st_mode) +
                   (environment.machine_file ? " (TDSL_MACHINE)" : "; remove it, and run `tdslc doctor` again") +
                   " [cannot-read]");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (environment.machine_file)
      throw RunError("cannot read `" + path + "`, the machine's constants (TDSL_MACHINE) [cannot-read]");
    return {};
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return plan::parse_machine(text);
  } catch (const std::runtime_error& error) {
    throw RunError("the machine's constants in `" + path + "`: " + error.what() +
                   "; run `tdslc doctor` again [bad-file]");
  }
}

void price_writes(plan::Machine& machine, const std::map<std::string, std::string>& outputs) {
  constexpr double kSharedWriteCall = 2e-4;  // one request, and a lock transferred between nodes
  if (machine.write_call > 0) return;
  for (const auto& [name, path] : outputs) {
    if (is_shared_file_system(directory_of(file_behind(path)))) machine.write_call = kSharedWriteCall;
  }
}

}  // namespace tdsl::rt

#include "runtime/app/machine_file.h"

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "runtime/check.h"

namespace tdsl::rt {

plan::Machine load_machine(const Environment& environment) {
  const std::string& path = environment.machine_file ? *environment.machine_file : environment.measured_machine_file;
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (environment.machine_file) throw RunError("cannot read '" + path + "', the machine's constants (TDSL_MACHINE)");
    return {};
  }
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  try {
    return plan::parse_machine(text);
  } catch (const std::runtime_error& error) {
    throw RunError("the machine's constants in '" + path + "': " + error.what() + "; `tdslc doctor` writes them anew");
  }
}

}  // namespace tdsl::rt

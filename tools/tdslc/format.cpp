#include "frontend/format.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>

#include "codegen/interrupts.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"

namespace tdsl::tools {

namespace {

[[noreturn]] void cannot(const std::string& what, const std::string& path) {
  throw UsageError(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

std::string read_standard_input() {
  std::stringstream text;
  text << std::cin.rdbuf();
  return text.str();
}

/// Replaces the file in one step: whoever reads it sees the old text or the new one.
void replace_file(const std::string& path, const std::string& text) {
  // A link stays one: what it points to is replaced.
  char* resolved = ::realpath(path.c_str(), nullptr);
  if (resolved == nullptr) cannot("write", path);
  const std::string target = resolved;
  std::free(resolved);
  struct stat old {};
  if (::stat(target.c_str(), &old) != 0) cannot("write", path);
  const codegen::InterruptHold hold;
  std::string temporary = target + ".XXXXXX";
  const int descriptor = ::mkstemp(temporary.data());
  if (descriptor < 0) cannot("write", path);
  std::size_t written = 0;
  bool good = ::fchmod(descriptor, old.st_mode) == 0;
  while (good && written < text.size()) {
    const ssize_t count = ::write(descriptor, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    good = count > 0;
    written += good ? static_cast<std::size_t>(count) : 0;
  }
  good = good && ::fsync(descriptor) == 0;
  good = ::close(descriptor) == 0 && good;
  if (good && ::rename(temporary.c_str(), target.c_str()) == 0) return;
  const int error = errno;
  ::unlink(temporary.c_str());
  errno = error;
  cannot("write", path);
}

}  // namespace

int format(const CommandLine& line) {
  bool errors = false;
  bool changes = false;
  for (const std::string& path : line.files) {
    Front front;
    const bool is_stream = path == "-";
    const std::string text = is_stream ? read_standard_input() : read_program(path);
    const std::uint32_t file = front.sources.add(is_stream ? "<stdin>" : path, text);
    const std::optional<std::string> result = frontend::format(front.sources, file, front.sink);
    print_diagnostics(front);
    if (!result) {
      errors = true;
    } else if (line.check_only) {
      if (*result != text) fmt::print("{}\n", is_stream ? "<stdin>" : path);
      changes = changes || *result != text;
    } else if (is_stream) {
      fmt::print("{}", *result);
    } else if (*result != text) {
      replace_file(path, *result);
    }
  }
  return errors || changes ? 1 : 0;
}

}  // namespace tdsl::tools

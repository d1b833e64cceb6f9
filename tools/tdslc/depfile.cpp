#include "tools/tdslc/depfile.h"

#include <filesystem>
#include <set>

#include "tools/build/output_file.h"

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

/// A name as make reads it. File names with control characters are refused before.
std::string quoted_for_make(const std::string& name) {
  std::string result;
  for (const char c : name) {
    if (c == ' ' || c == '#' || c == '\\') result += '\\';
    if (c == '$') result += '$';
    result += c;
  }
  return result;
}

}  // namespace

void write_depfile(const CommandLine& line, const Front& front, const codegen::Toolchain& toolchain,
                   const std::string& target) {
  if (line.depfile.empty()) return;
  std::set<std::string> files(front.headers.begin(), front.headers.end());
  for (std::uint32_t file = 0; file < front.sources.file_count(); ++file) files.insert(front.sources.name(file));
  files.insert(toolchain.configuration);
  for (const std::string& library : toolchain.libraries) {
    if (!library.starts_with('-')) files.insert(library);
  }
  std::string text = quoted_for_make(target) + ":";
  for (const std::string& file : files) {
    std::error_code error;
    const fs::path path = fs::absolute(file, error).lexically_normal();
    if (!error && fs::is_regular_file(path, error)) text += " \\\n  " + quoted_for_make(path.string());
  }
  codegen::write_text(line.depfile, text + "\n");
}

}  // namespace tdsl::tools

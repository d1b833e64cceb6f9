#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>

#include "runtime/io/text_file.h"
#include "tools/build/output_file.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/job/text.h"

// `tdslc new`: the files of tools/templates, with the program's name put in.

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

using Values = std::map<std::string, std::string, std::less<>>;

/// The folder's last part, if it can name a program, a target of CMake and a file.
std::string name_of_program(const std::string& folder) {
  const fs::path path = fs::path(folder).lexically_normal();
  std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  const bool letters = std::ranges::all_of(
      name, [](unsigned char c) { return (std::isalnum(c) != 0 && c < 0x80) || c == '_' || c == '-'; });
  if (name.empty() || !letters || std::isalpha(static_cast<unsigned char>(name.front())) == 0)
    throw UsageError(
        fmt::format("new: `{}` cannot name a program: letters, digits, - and _, the first a letter", folder));
  for (const char* taken : {"make_inputs", "run", "test", "plan", "report", "clean", "all"}) {
    if (name == taken) throw UsageError(fmt::format("new: `{}` is the name of a command or file of the folder", name));
  }
  return name;
}

/// Lines `key = value` of template.conf, and NAME.
Values values_of(const fs::path& configuration, const std::string& name) {
  Values values = {{"NAME", name}};
  const std::string text = rt::read_text_file(configuration.string());
  for (const std::string_view line : parts_of(text, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    std::string key(trimmed(line.substr(0, equals)));
    std::ranges::transform(key, key.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    values[key] = std::string(trimmed(line.substr(equals + 1)));
  }
  return values;
}

/// The text with `@KEY@` replaced by its value; other @ remain.
std::string filled(std::string_view text, const Values& values) {
  std::string result;
  while (!text.empty()) {
    const std::size_t open = text.find('@');
    const std::size_t close = open == std::string_view::npos ? open : text.find('@', open + 1);
    const auto value =
        close == std::string_view::npos ? values.end() : values.find(text.substr(open + 1, close - open - 1));
    if (value == values.end()) {
      const std::size_t length = open == std::string_view::npos ? text.size() : open + 1;
      result += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    result += text.substr(0, open);
    result += value->second;
    text.remove_prefix(close + 1);
  }
  return result;
}

/// Where a template's file goes: `program.tdsl` to NAME.tdsl, `vscode/` to `.vscode/`, `FILE.in` to FILE.
fs::path target_of(const fs::path& file, const std::string& name) {
  fs::path target = file == "program.tdsl" ? fs::path(name + ".tdsl") : file;
  if (*target.begin() == "vscode") target = fs::path("." + target.string());
  if (target.extension() == ".in") target.replace_extension();
  return target;
}

void copy_filled(const fs::path& source, const fs::path& folder, const Values& values) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(source)) {
    if (!entry.is_regular_file() || entry.path().filename() == "template.conf") continue;
    const fs::path target = folder / target_of(entry.path().lexically_relative(source), values.at("NAME"));
    fs::create_directories(target.parent_path());
    codegen::write_text(target.string(), filled(rt::read_text_file(entry.path().string()), values));
  }
}

/// Makes the folder, which must not exist or be empty.
void make_folder(const fs::path& folder) {
  std::error_code error;
  const bool there = fs::exists(folder, error);
  if (there && (!fs::is_directory(folder, error) || !fs::is_empty(folder, error)))
    throw UsageError(fmt::format("new: {} exists already", folder.string()));
  if (!there && !fs::create_directories(folder, error))
    throw UsageError(fmt::format("new: cannot make {}: {}", folder.string(), error.message()));
}

}  // namespace

int new_program(const CommandLine& line) {
  const std::string name = name_of_program(line.program);
  const fs::path templates = fs::path(codegen::find_prefix()) / "share/tdsl/templates";
  const fs::path chosen = templates / (line.from.empty() ? "heat" : line.from);
  std::error_code error;
  if (!fs::is_directory(templates / "common", error) || !fs::is_directory(chosen, error))
    throw codegen::ToolchainError(fmt::format("the installation is incomplete: there is no {}", chosen.string()));
  const Values values = values_of(chosen / "template.conf", name);
  const fs::path folder = line.program;
  make_folder(folder);
  copy_filled(templates / "common", folder, values);
  copy_filled(chosen, folder, values);
  fmt::print("{}: {}. `make -C {} run` runs it, README.md has the other commands\n", line.program, values.at("TITLE"),
             shell_quoted(line.program));
  return 0;
}

}  // namespace tdsl::tools

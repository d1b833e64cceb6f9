#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "runtime/io/text_file.h"
#include "tools/build/output_file.h"
#include "tools/build/toolchain.h"
#include "tools/tdslc/commands.h"
#include "tools/tdslc/front.h"
#include "tools/tdslc/job/script.h"
#include "tools/tdslc/job/text.h"

namespace tdsl::tools {

namespace {

namespace fs = std::filesystem;

/// A source tree that gets its final name once it is complete.
class ProjectFolder {
 public:
  explicit ProjectFolder(const std::string& path) : path_(fs::path(path).lexically_normal()) {
    if (!path_.has_filename()) path_ = path_.parent_path();
    std::error_code error;
    if (fs::exists(path_, error) && (!fs::is_directory(path_, error) || !fs::is_empty(path_, error))) {
      throw UsageError(fmt::format("--project {}: exists, and is no empty folder", path));
    }
    std::string name =
        (path_.has_parent_path() ? path_.parent_path() / ".tdsl-project-XXXXXX" : fs::path(".tdsl-project-XXXXXX"))
            .string();
    if (::mkdtemp(name.data()) == nullptr)
      throw UsageError(fmt::format("--project {}: no folder can be made there: {}", path, std::strerror(errno)));
    temporary_ = name;
  }
  ProjectFolder(const ProjectFolder&) = delete;
  ProjectFolder& operator=(const ProjectFolder&) = delete;
  ~ProjectFolder() {
    std::error_code error;
    if (!temporary_.empty()) fs::remove_all(temporary_, error);
  }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((temporary_ / file).parent_path());
    codegen::write_text((temporary_ / file).string(), text);
  }
  void copy(const fs::path& from, const fs::path& file) const {
    fs::create_directories((temporary_ / file).parent_path());
    fs::copy_file(from, temporary_ / file);
  }
  void commit() {
    fs::permissions(temporary_, fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                                    fs::perms::others_read | fs::perms::others_exec);
    fs::rename(temporary_, path_);  // also replaces an empty folder
    temporary_.clear();
  }

 private:
  fs::path path_, temporary_;
};

/// A template with `@NAME@` placeholders replaced.
std::string filled(const std::string& path, const std::vector<std::pair<std::string, std::string>>& values) {
  std::string text = rt::read_text_file(path);
  for (const auto& [name, value] : values) {
    const std::string mark = "@" + name + "@";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

/// `--A A.npy --B B.npy --C C.npy`
std::string example_arguments(const ir::Program& program) {
  const rt::ProgramDeclaration declared = declaration_of(program);
  std::vector<std::string> words;
  for (const auto& i : declared.inputs) words.insert(words.end(), {"--" + i.name, i.name + ".npy"});
  for (const auto& o : declared.outputs) words.insert(words.end(), {"--" + o.name, o.name + ".npy"});
  return shell_quoted(words);
}

void copy_runtime(const ProjectFolder& project, const codegen::Toolchain& toolchain) {
  const fs::path runtime = fs::path(toolchain.prefix) / "share/tdsl/runtime";
  if (!fs::is_directory(runtime)) throw codegen::ToolchainError(runtime.string() + " is missing: install TDSL again");
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(runtime)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || (extension != ".h" && extension != ".cpp" && extension != ".c")) continue;
    project.copy(entry.path(), "runtime" / entry.path().lexically_relative(runtime));
  }
  project.copy(runtime / "own/tile.h", "own/tdsl/tile.h");
}

/// Copies the user's headers to the paths from which the emitted file includes them.
void copy_headers(const ProjectFolder& project, const CommandLine& line, const Front& front,
                  const codegen::Toolchain& toolchain) {
  const fs::path folder = include_folder(line, front);
  for (const std::string& header : front.headers) {
    const fs::path whole = fs::absolute(header).lexically_normal();
    if (!whole.lexically_relative(toolchain.prefix).string().starts_with("..")) continue;  // tdsl/tile.h
    const fs::path relative = whole.lexically_relative(folder);
    if (relative.empty() || relative.string().starts_with("..")) {
      throw UsageError(
          fmt::format("--project with a header outside of the program's folder is not supported yet: {}", header));
    }
    project.copy(whole, "own" / relative);
  }
}

void write_tree(const CommandLine& line, const Front& front, const std::string& emitted,
                const codegen::Toolchain& toolchain) {
  const fs::path templates = fs::path(toolchain.prefix) / "share/tdsl/project";
  const std::string name = job_name(program_name(line.program));
  const std::vector<std::pair<std::string, std::string>> values = {
      {"NAME", name},
      {"SOURCE", name + ".cpp"},
      {"PROGRAM", fs::path(line.program).filename().string()},
      {"VERSION", TDSL_VERSION},
      {"ARGUMENTS", example_arguments(front.graph)}};
  ProjectFolder project(line.project);
  for (const char* file : {"CMakeLists.txt", "README.md", "job.sbatch"})
    project.write(file, filled((templates / file).string(), values));
  project.write(name + ".cpp", emitted);
  copy_runtime(project, toolchain);
  copy_headers(project, line, front, toolchain);
  if (const fs::path license = fs::path(toolchain.prefix) / "share/tdsl/LICENSE"; fs::exists(license))
    project.copy(license, "LICENSE");
  project.commit();
}

/// Writes a source tree that builds the program without TDSL: the emitted file, the runtime, and build files. The
/// folder must be new or empty; on failure it is unchanged. Throws UsageError, codegen::OutputError.
void write_project(const CommandLine& line, const Front& front, const std::string& emitted,
                   const codegen::Toolchain& toolchain) {
  try {
    write_tree(line, front, emitted, toolchain);
  } catch (const fs::filesystem_error& error) {
    throw codegen::OutputError(fmt::format("--project {}: {}", line.project, error.code().message()));
  }
}

}  // namespace

int emit(const CommandLine& line) {
  Front front;
  compile_front(line, {}, front);
  rt::RunFiles files = kept_files(front);
  if (!line.output.empty()) files.write_text("-o", line.output);
  if (!line.project.empty() && !line.output.empty()) throw UsageError("emit: -o and --project exclude each other");
  codegen::EmitCounts counts;
  const std::string text = emitted(line, front, lower(front), line.line_directives, "", &counts);
  if (line.counts) {
    fmt::print("{{\"kernels\": {}, \"versions\": {}, \"units\": {}, \"source_bytes\": {}}}\n", counts.kernels,
               counts.versions, counts.units, counts.source_bytes);
    return 0;
  }
  if (!line.project.empty()) {
    write_project(line, front, text, codegen::read_toolchain(codegen::find_prefix()));
    return 0;
  }
  if (line.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  codegen::write_text(line.output, text);
  return 0;
}

}  // namespace tdsl::tools

#include "tools/build/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "tools/build/cache.h"
#include "tools/build/output_file.h"
#include "tools/build/precompiled.h"
#include "tools/build/process.h"

namespace tdsl::codegen {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCopyBlockBytes = std::size_t{1} << 20;

/// Size and modification time, in place of a file's content.
std::string state_of_file(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return "absent";
  return fmt::format("{} {} {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

std::string key_of(const Toolchain& t, const CompileRequest& r) {
  Hash h;
  h.add(std::string_view(r.source));
  h.add(r.units);
  h.add(std::string_view(t.compiler));
  for (const auto* list : {&t.compile_flags, &t.include_flags, &t.link_flags, &t.libraries}) h.add(*list);
  if (r.native) h.add(t.native_flags);
  h.add(std::string_view(r.include_folder));
  for (const std::string& header : r.headers) h.add(std::string_view(header + " " + fingerprint(header)));
  if (r.shared_object) h.add(std::string_view("shared"));
  if (r.library) h.add(std::string_view("library"));
  h.add(state_of_file(t.compiler));
  for (const std::string& library : t.libraries) {
    if (!library.starts_with('-')) h.add(state_of_file(library));
  }
  return h.text();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw CompilerFailure("cannot write " + path.string() + ": " + std::strerror(errno));
}

std::string object_of(const fs::path& source) { return source.string() + ".o"; }

/// Runs the compiler, several commands at the same time.
ProcessResult run_compiler(std::vector<std::vector<std::string>> commands, WorkFolder& work, std::string name,
                           BuildRecord* record) {
  // Files left by a compiler that is killed are removed with the folder.
  ProcessRequest request{.command = std::move(commands.front()),
                         .environment = {{"TMPDIR", work.path()}},
                         .capture = true,
                         .folder = &work,
                         .others = {commands.begin() + 1, commands.end()}};
  const auto start = std::chrono::steady_clock::now();
  ProcessResult result = run_process(request);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  if (record != nullptr) record->steps.push_back({std::move(name), seconds.count(), result.cpu_seconds});
  return result;
}

/// A command line of the compiler, flag by flag.
class Command {
 public:
  explicit Command(const std::string& compiler) : words_{compiler} {}
  Command& add(const std::vector<std::string>& flags) {
    words_.insert(words_.end(), flags.begin(), flags.end());
    return *this;
  }
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

/// `precompiled`: folder of precompiled headers; empty: none.
std::vector<std::string> compile_command(const Toolchain& t, const CompileRequest& r, const fs::path& source,
                                         const std::string& precompiled) {
  Command command(t.compiler);
  command.add(t.compile_flags);
  if (r.native) command.add(t.native_flags);
  if (!precompiled.empty()) command.add({"-I" + precompiled});
  // Two libraries in one process must not share functions of different programs or versions.
  if (r.library) command.add({"-fPIC", "-fvisibility=hidden"});
  command.add(t.include_flags);
  if (!r.include_folder.empty()) command.add({"-I" + r.include_folder});
  if (r.shared_object) command.add({"-fPIC"});
  return command.add({"-c", source.string(), "-o", object_of(source)}).words();
}

std::vector<std::string> link_command(const Toolchain& t, const CompileRequest& r, const std::vector<fs::path>& sources,
                                      const fs::path& executable) {
  Command command(t.compiler);
  command.add(t.compile_flags).add(t.link_flags);
  if (const std::string linker = installed_linker(t); !linker.empty()) command.add({"-fuse-ld=" + linker});
  if (r.library) command.add({"-shared", "-Wl,--exclude-libs,ALL", "-Wl,-soname,lib" + r.name + ".so"});
  if (r.shared_object) command.add({"-shared"});
  for (const fs::path& source : sources) command.add({object_of(source)});
  command.add({"-o", executable.string()});
  if (!r.shared_object) command.add(t.libraries);
  return command.words();
}

void require_success(const Toolchain& t, const ProcessResult& result) {
  if (result.exit_code == 0) return;
  throw CompilerFailure(
      fmt::format("the C++ compiler failed ({}, exit code {}):\n{}", t.compiler, result.exit_code, result.output));
}

/// The folder of the precompiled headers, which the first build of a new installation makes; empty: there are none.
std::string precompiled_headers(const Toolchain& t) {
  if (!is_unconfigured(t)) return find_precompiled(t);
  try {
    static_cast<void>(precompile(t, ""));
  } catch (const CompilerFailure&) { return ""; }
  return find_precompiled(t);
}

void compile_and_link(const Toolchain& t, const CompileRequest& r, WorkFolder& work,
                      const std::vector<fs::path>& sources, const fs::path& executable) {
  const auto compile = [&](const std::string& precompiled) {
    std::vector<std::vector<std::string>> commands;
    for (const fs::path& source : sources) commands.push_back(compile_command(t, r, source, precompiled));
    return run_compiler(std::move(commands), work, "compile", r.record);
  };
  const std::string precompiled = r.shared_object || r.library ? "" : precompiled_headers(t);
  ProcessResult result = compile(precompiled);
  // g++ 12 occasionally writes precompiled headers on which it then crashes.
  if (!precompiled.empty() && result.exit_code != 0 &&
      result.output.find("internal compiler error") != std::string::npos)
    result = compile("");
  require_success(t, result);
  std::error_code unknown;
  for (const fs::path& source : sources) {
    if (r.record != nullptr) r.record->object_bytes += fs::file_size(object_of(source), unknown);
  }
  require_success(t, run_compiler({link_command(t, r, sources, executable)}, work, "link", r.record));
}

}  // namespace

CompiledProgram compile_program(const Toolchain& toolchain, const CompileRequest& request) {
  const std::string cache = open_cache();
  const CacheEntry entry(cache, key_of(toolchain, request), request.name);
  if (request.use_cache && entry.intact()) return {entry.executable(), true};
  if (request.before) request.before();

  WorkFolder work({cache + "/build-"});
  if (work.path().empty()) {
    const char* reason = ::access(cache.c_str(), W_OK) != 0 ? std::strerror(errno) : "no directory can be made there";
    throw CompilerFailure(
        fmt::format("cannot keep executables in {}: {}; set XDG_CACHE_HOME to a folder of yours", cache, reason));
  }
  std::vector<fs::path> sources;
  const auto add_source = [&](const std::string& name, const std::string& text) {
    sources.push_back(fs::path(work.path()) / (name + ".cpp"));
    write_file(sources.back(), text);
  };
  add_source(request.name, request.source);
  for (std::size_t k = 0; k < request.units.size(); ++k)
    add_source(fmt::format("{}.{}", request.name, k + 2), request.units[k]);
  const fs::path executable = fs::path(work.path()) / request.name;
  compile_and_link(toolchain, request, work, sources, executable);
  entry.put(sources.front().string(), executable.string());
  return {entry.executable(), false};
}

void install_executable(const std::string& path, const std::string& target) {
  std::ifstream in(path, std::ios::binary);
  OutputFile out(target, 0777);
  std::vector<char> block(kCopyBlockBytes);
  while (in) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    out.write({block.data(), static_cast<std::size_t>(in.gcount())});
  }
  if (!in.eof()) throw OutputError("cannot read " + path);
  out.commit();
}

}  // namespace tdsl::codegen

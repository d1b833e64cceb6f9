#include "tools/build/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tools/build/cache.h"
#include "tools/build/output_file.h"
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

ProcessResult run_compiler(const Toolchain& t, const CompileRequest& r, WorkFolder& work, const fs::path& source,
                           const fs::path& executable, bool precompiled) {
  // Files left by a compiler that is killed are removed with the folder.
  ProcessRequest compile{
      .command = {t.compiler}, .environment = {{"TMPDIR", work.path()}}, .capture = true, .folder = &work};
  const auto append = [&](const std::vector<std::string>& flags) {
    compile.command.insert(compile.command.end(), flags.begin(), flags.end());
  };
  append(t.compile_flags);
  if (r.native) append(t.native_flags);
  if (precompiled) append(t.precompiled_flags);
  // Two libraries in one process must not share functions of different programs or versions.
  if (r.library)
    append({"-shared", "-fPIC", "-fvisibility=hidden", "-Wl,--exclude-libs,ALL", "-Wl,-soname,lib" + r.name + ".so"});
  append(t.include_flags);
  if (!r.include_folder.empty()) append({"-I" + r.include_folder});
  append(t.link_flags);
  if (r.shared_object) append({"-shared", "-fPIC"});
  append({source.string(), "-o", executable.string()});
  if (!r.shared_object) append(t.libraries);
  return run_process(compile);
}

void compile_and_link(const Toolchain& t, const CompileRequest& r, WorkFolder& work, const fs::path& source,
                      const fs::path& executable) {
  const bool precompiled = !r.shared_object && !r.library && !t.precompiled_flags.empty();
  ProcessResult result = run_compiler(t, r, work, source, executable, precompiled);
  // g++ 12 occasionally writes precompiled headers on which it then crashes.
  if (precompiled && result.exit_code != 0 && result.output.find("internal compiler error") != std::string::npos) {
    result = run_compiler(t, r, work, source, executable, false);
  }
  if (result.exit_code == 0) return;
  throw CompilerFailure(
      fmt::format("the C++ compiler failed ({}, exit code {}):\n{}", t.compiler, result.exit_code, result.output));
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
  const fs::path source = fs::path(work.path()) / (request.name + ".cpp");
  const fs::path executable = fs::path(work.path()) / request.name;
  write_file(source, request.source);
  compile_and_link(toolchain, request, work, source, executable);
  entry.put(source.string(), executable.string());
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

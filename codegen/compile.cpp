#include "codegen/compile.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "codegen/process.h"

namespace tdsl::codegen {

namespace {

namespace fs = std::filesystem;

/// FNV-1a over two lanes: 128 bits, plenty against accidents.
class Hash {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      a_ = (a_ ^ byte) * 0x100000001B3ULL;
      b_ = (b_ + byte) * 0x9E3779B97F4A7C15ULL;
      b_ ^= b_ >> 29;
    }
    a_ = (a_ ^ 0xFF) * 0x100000001B3ULL;
    b_ = (b_ ^ (b_ >> 31)) * 0xBF58476D1CE4E5B9ULL;
  }
  void add(const std::vector<std::string>& strings) {
    for (const std::string& s : strings) add(std::string_view(s));
  }
  /// Size and time of change stand for a file's content.
  void add_file(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0) return add(std::string_view("absent"));
    add(fmt::format("{} {} {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

 private:
  std::uint64_t a_ = 0xCBF29CE484222325ULL;
  std::uint64_t b_ = 0x2545F4914F6CDD1DULL;
};

std::string key_of(const Toolchain& t, const CompileRequest& r) {
  Hash h;
  h.add(std::string_view(r.source));
  h.add(std::string_view(t.compiler));
  for (const auto* list : {&t.compile_flags, &t.include_flags, &t.link_flags, &t.libraries}) h.add(*list);
  if (r.native) h.add(t.native_flags);
  h.add_file(t.compiler);
  for (const std::string& library : t.libraries) {
    if (!library.starts_with('-')) h.add_file(library);
  }
  return h.text();
}

void write_file(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) throw CompilerFailure("cannot write " + path.string() + ": " + std::strerror(errno));
}

void compile_and_link(const Toolchain& t, const CompileRequest& r, WorkFolder& work, const fs::path& source, const fs::path& executable) {
  ProcessRequest compile{.command = {t.compiler}, .capture = true, .folder = &work};
  const auto append = [&](const std::vector<std::string>& flags) {
    compile.command.insert(compile.command.end(), flags.begin(), flags.end());
  };
  append(t.compile_flags);
  if (r.native) append(t.native_flags);
  append(t.precompiled_flags);
  append(t.include_flags);
  append(t.link_flags);
  append({source.string(), "-o", executable.string()});
  append(t.libraries);
  const ProcessResult result = run_process(compile);
  if (result.exit_code == 0) return;
  throw CompilerFailure(fmt::format("the C++ compiler failed ({}, exit code {}):\n{}", t.compiler, result.exit_code, result.output));
}

}  // namespace

std::string cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/') return std::string(cache) + "/tdsl";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0') return std::string(home) + "/.cache/tdsl";
  return {};
}

CompiledProgram compile_program(const Toolchain& toolchain, const CompileRequest& request) {
  std::string cache = cache_directory();
  std::error_code error;
  if (!cache.empty()) fs::create_directories(cache, error);
  if (cache.empty() || error) cache = fmt::format("{}/tdsl-{}", fs::temp_directory_path().string(), ::getuid());
  fs::create_directories(cache, error);
  const fs::path finished = fs::path(cache) / key_of(toolchain, request) / request.name;
  if (request.use_cache && ::access(finished.c_str(), X_OK) == 0) return {finished.string(), true};

  WorkFolder work({cache + "/build-"});
  if (work.path().empty()) throw CompilerFailure("cannot make a directory in " + cache);
  const fs::path source = fs::path(work.path()) / (request.name + ".cpp");
  const fs::path executable = fs::path(work.path()) / request.name;
  write_file(source, request.source);
  compile_and_link(toolchain, request, work, source, executable);
  fs::create_directories(finished.parent_path(), error);
  // Whoever renames last wins; both files are the same program.
  fs::rename(source, finished.parent_path() / (request.name + ".cpp"), error);
  fs::rename(executable, finished, error);
  if (error) throw CompilerFailure("cannot write " + finished.string() + ": " + error.message());
  return {finished.string(), false};
}

void install_executable(const std::string& path, const std::string& target) {
  const InterruptHold hold;
  const std::string temporary = fmt::format("{}.{}.tmp", target, ::getpid());
  std::error_code error;
  fs::copy_file(path, temporary, fs::copy_options::overwrite_existing, error);
  if (!error) fs::rename(temporary, target, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(temporary, ignored);
  throw std::runtime_error("cannot write " + target + ": " + error.message());
}

}  // namespace tdsl::codegen

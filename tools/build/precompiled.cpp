#include "tools/build/precompiled.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <vector>

#include "tools/build/cache.h"
#include "tools/build/compile.h"
#include "tools/build/process.h"
#include "tools/build/work_folder.h"

namespace tdsl::codegen {

namespace {

namespace fs = std::filesystem;

constexpr const char* kFile = "runtime/emitted.h.gch";

/// The headers of the runtime, in order of their names.
std::vector<std::string> headers_of(const Toolchain& t) {
  std::vector<std::string> files;
  std::error_code none;
  const fs::path folder = t.prefix + "/include/tdsl/runtime";
  for (fs::recursive_directory_iterator at(folder, fs::directory_options::follow_directory_symlink, none), end;
       !none && at != end; at.increment(none)) {
    if (at->path().extension() == ".h") files.push_back(at->path().string());
  }
  std::ranges::sort(files);
  return files;
}

/// The folders where the headers may be.
std::vector<std::string> folders_of(const Toolchain& t) {
  std::vector<std::string> folders = t.precompiled;
  if (const std::string cache = cache_directory(); !cache.empty()) folders.push_back(cache + "/precompiled");
  return folders;
}

bool can_be_made_in(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  return ::access(folder.c_str(), W_OK) == 0;
}

std::string first_writable(const Toolchain& t) {
  for (const std::string& folder : t.precompiled) {
    if (can_be_made_in(folder)) return folder;
  }
  return open_cache() + "/precompiled";
}

/// Removes those of other compilers and versions.
void remove_others(const fs::path& folder, const std::string& key) {
  std::error_code error;
  std::vector<fs::path> others;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename() != key && fs::exists(entry.path() / kFile, error)) others.push_back(entry.path());
  }
  for (const fs::path& path : others) fs::remove_all(path, error);
}

}  // namespace

std::string precompiled_key(const Toolchain& t) {
  Hash h;
  h.add(std::string_view(t.compiler));
  struct stat info {};
  if (::stat(t.compiler.c_str(), &info) == 0)
    h.add(fmt::format("{} {} {}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec));
  for (const std::string& flag : t.compile_flags) {  // warnings do not matter
    if (!flag.starts_with("-W")) h.add(flag);
  }
  for (const std::string& flag : t.include_flags) {  // where the prefix lies does not matter
    const std::size_t at = t.prefix.empty() ? std::string::npos : flag.find(t.prefix);
    h.add(at == std::string::npos ? flag : flag.substr(0, at) + "$" + flag.substr(at + t.prefix.size()));
  }
  for (const std::string& file : headers_of(t)) {
    h.add(file.substr(t.prefix.size()));
    h.add(fingerprint(file));
  }
  return h.text();
}

std::string find_precompiled(const Toolchain& t) {
  if (t.precompiled.empty()) return "";
  const std::string key = precompiled_key(t);
  for (const std::string& folder : folders_of(t)) {
    if (::access((folder + "/" + key + "/" + kFile).c_str(), R_OK) == 0) return folder + "/" + key;
  }
  return "";
}

bool is_unconfigured(const Toolchain& t) {
  return !t.precompiled.empty() &&
         std::ranges::none_of(folders_of(t), [](const std::string& f) { return ::access(f.c_str(), F_OK) == 0; });
}

Precompiled precompile(const Toolchain& t, const std::string& into) {
  if (t.precompiled.empty()) return {};
  const std::string key = precompiled_key(t);
  const std::string parent = into.empty() ? first_writable(t) : into;
  const fs::path file = fs::path(parent) / key / kFile;
  if (fs::exists(file)) return {file.parent_path().parent_path().string(), false};
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  WorkFolder work({file.parent_path().string() + "/build-"});
  if (error || work.path().empty())
    throw CompilerFailure(
        fmt::format("cannot write to {}: {}", parent, error ? error.message() : std::strerror(errno)));
  const std::string result = work.path() + "/emitted.h.gch";
  ProcessRequest request{
      .command = {t.compiler}, .environment = {{"TMPDIR", work.path()}}, .capture = true, .folder = &work};
  const auto add = [&](const std::vector<std::string>& flags) {
    request.command.insert(request.command.end(), flags.begin(), flags.end());
  };
  add(t.compile_flags);
  add(t.include_flags);
  add({"-x", "c++-header", t.prefix + "/include/tdsl/runtime/precompiled.h", "-o", result});
  const ProcessResult compiled = run_process(request);
  if (compiled.exit_code != 0)
    throw CompilerFailure(fmt::format("the C++ compiler failed on the runtime's headers ({}, exit code {}):\n{}",
                                      t.compiler, compiled.exit_code, compiled.output));
  fs::rename(result, file, error);
  if (error) throw CompilerFailure(fmt::format("cannot write {}: {}", file.string(), error.message()));
  remove_others(parent, key);
  return {file.parent_path().parent_path().string(), true};
}

}  // namespace tdsl::codegen

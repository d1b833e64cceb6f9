#include "runtime/app/run/run_files.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/io/file_kind.h"
#include "runtime/io/text_file.h"

namespace tdsl::rt {

namespace {

namespace fs = std::filesystem;

/// The option whose directory the run creates.
constexpr const char* kCheckpoint = "--checkpoint";

[[noreturn]] void refuse(const std::string& path, const std::string& what, const std::string& reason) {
  throw RunError("cannot write `" + path + "` (" + what + "): " + reason + "; choose another name [file-clash]",
                 ExitCode::kUsage);
}

}  // namespace

RunFiles::RunFiles(const Environment& environment) {
  keep("/proc/self/exe", "the running executable");
  keep(environment.machine_file.value_or(environment.measured_machine_file), "the machine's constants");
}

RunFiles::File RunFiles::look_at(const std::string& path) {
  File result;
  const std::string file = file_behind(path);
  result.part = path.substr(file.size());
  struct stat status {};
  if (::stat(file.c_str(), &status) == 0) {
    result.inode = {status.st_dev, status.st_ino};
    result.folder = S_ISDIR(status.st_mode);
    result.device = !result.folder && !S_ISREG(status.st_mode);
  }
  std::error_code ignored;
  fs::path whole = fs::weakly_canonical(fs::absolute(file, ignored), ignored);
  if (whole.empty()) whole = fs::absolute(file, ignored);  // an executable that has been replaced has no name
  if (!whole.has_filename() && whole.has_relative_path()) whole = whole.parent_path();  // "folder/"
  result.path = whole.string();
  return result;
}

/// True if the file is below the folder, at any depth.
bool RunFiles::lies_in(const File& file, const File& folder) {
  if (file.path.starts_with(folder.path + "/")) return true;
  if (!folder.folder) return false;
  for (fs::path above = fs::path(file.path).parent_path(); above.has_relative_path(); above = above.parent_path()) {
    struct stat status {};
    if (::stat(above.c_str(), &status) == 0 && folder.inode == Inode{status.st_dev, status.st_ino}) return true;
  }
  return false;
}

bool RunFiles::collide(const File& a, const File& b) {
  if (lies_in(a, b) || lies_in(b, a)) return true;
  const bool same = a.path == b.path || (a.inode && a.inode == b.inode);
  return same && (a.part == b.part || a.part.empty() || b.part.empty());
}

void RunFiles::require_apart(const Named& written, const Named& kept) {
  const auto refuse_for = [&](const std::string& reason) { refuse(written.given, written.what, reason); };
  if (written.file.inode == kept.file.inode) refuse_for("it is " + kept.what);
  if (lies_in(written.file, kept.file)) refuse_for("it lies in " + kept.what);
  if (lies_in(kept.file, written.file)) refuse_for(kept.what + " lies in it");
}

void RunFiles::keep(const std::string& path, const std::string& what) {
  if (path.empty()) return;
  const Named kept{look_at(path), path, what};
  if (!kept.file.inode || kept.file.device) return;
  for (const Named& written : written_) require_apart(written, kept);
  kept_.push_back(kept);
}

void RunFiles::keep_named(const std::string& name, const std::string& what) { kept_names_.emplace_back(name, what); }

void RunFiles::write(const std::string& what, const std::string& path) {
  const Named written{look_at(path), path, what};
  if (written.file.device) return;
  for (const auto& [name, kept] : kept_names_) {
    if (written.file.inode && fs::path(written.file.path).filename() == name) refuse(path, what, "it is " + kept);
  }
  for (const Named& kept : kept_) require_apart(written, kept);
  for (const Named& other : written_) {
    if (collide(written.file, other.file))
      throw RunError(other.what + " and " + what + " would both be written to `" + path + "` [file-clash]",
                     ExitCode::kUsage);
  }
  written_.push_back(written);
}

void RunFiles::write_text(const std::string& what, const std::string& path) {
  const fs::path folder = fs::path(look_at(path).path).parent_path();
  const auto is_made = [&](const Named& other) {
    return other.what == kCheckpoint && fs::path(other.file.path).parent_path() == folder;
  };
  if (fs::exists(folder) || std::ranges::none_of(written_, is_made)) require_text_target(path);
  write(what, path);
}

/// Other files in the directory belong to the user.
void RunFiles::keep_checkpoints(const std::string& directory) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    const std::string name = at->path().filename().string();
    if (name.starts_with("ck-") || name.starts_with("base-")) keep(at->path().string(), "a checkpoint");
  }
}

void RunFiles::add(const AppOptions& options) {
  for (const auto& [name, path] : options.inputs) keep(file_behind(path), "input " + name);
  if (options.use_plan_file) keep(*options.use_plan_file, "the plan that --use-plan reads");
  for (const auto& directory : {options.resume_directory, options.checkpoint_directory}) {
    if (directory) keep_checkpoints(*directory);
  }
  if (options.checkpoint_directory) {
    for (const char* name : {"/newest", "/finished"}) write(kCheckpoint, *options.checkpoint_directory + name);
  } else if (options.resume_directory) {
    keep(*options.resume_directory + "/newest", "a part of the checkpoints");
  }
  for (const auto& [name, path] : options.outputs) write("output " + name, path);
  for (const auto& [what, path] : {std::pair{"--stats", &options.stats_file}, std::pair{"--plan", &options.plan_file},
                                   std::pair{"--save-plan", &options.save_plan_file}}) {
    if (*path) write_text(what, **path);
  }
  for (const PictureRequest& picture : options.pictures) {
    if (picture.file) write_text("--picture " + picture.name, *picture.file);
  }
  if (options.trace_file) write("--trace", *options.trace_file);
}

}  // namespace tdsl::rt

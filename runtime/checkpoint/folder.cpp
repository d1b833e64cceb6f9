#include "runtime/checkpoint/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <set>
#include <span>
#include <string_view>
#include <system_error>

#include "runtime/check.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/text.h"
#include "runtime/io/file_bytes.h"
#include "runtime/io/text_file.h"

namespace tdsl::rt::checkpoint {

namespace {

constexpr std::string_view kPrefix = "ck-", kBasePrefix = "base-";

std::string padded(std::string_view prefix, std::int64_t number, std::size_t digits) {
  const std::string text = std::to_string(number);
  return std::string(prefix) + std::string(text.size() < digits ? digits - text.size() : 0, '0') + text;
}

/// Writes all data of a file or directory to disk.
void sync_path(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail_file(path, "cannot be opened", errno);
  const int error = ::fsync(fd) == 0 ? 0 : errno;
  ::close(fd);
  if (error != 0) fail_file(path, "cannot write", error);
}

void write_synced(const std::string& path, std::string_view text) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail_file(path, "cannot create", errno);
  try {
    write_at(fd, std::as_bytes(std::span(text)), 0, path);
  } catch (...) {
    ::close(fd);
    throw;
  }
  // Network file systems may report a full disk only here.
  const int synced = ::fsync(fd) == 0 ? 0 : errno;
  const int closed = ::close(fd) == 0 ? 0 : errno;
  if (synced != 0 || closed != 0) fail_file(path, "cannot write", synced != 0 ? synced : closed);
}

/// The number of `ck-000012`, or with another prefix; -1 for any other name.
std::int64_t number_of(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return -1;
  name.remove_prefix(prefix.size());
  std::int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() && number >= 0 ? number : -1;
}

/// Never replaces an existing directory.
void rename_new(const std::string& from, const std::string& to, const char* what) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return;
  const bool plain = errno == EINVAL && ::access(to.c_str(), F_OK) != 0 &&
                     ::rename(from.c_str(), to.c_str()) == 0;  // NFS does not support flags
  if (!plain) fail_file(to, what, errno);
}

bool surely_absent(const std::string& path) {
  std::error_code error;
  return !std::filesystem::exists(path, error) && !error;
}

void make(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0) fail_file(path, "cannot create", errno);
}

/// False for checkpoints saved by another version of the program, which may still need them, and for unreadable ones,
/// which may be such.
bool may_be_removed(const std::string& checkpoint) {
  const std::string manifest = Folder::manifest(checkpoint);
  try {
    static_cast<void>(parse_manifest(read_text_file(manifest)));
  } catch (const OtherVersion&) { return false; } catch (const Damaged&) {
    return true;
  } catch (const std::exception&) { return surely_absent(manifest); }
  return true;
}

template <class F>
void each_name(const std::string& path, const F& f) {
  std::error_code error;
  for (std::filesystem::directory_iterator at(path, error), end; !error && at != end; at.increment(error))
    f(at->path().filename().string());
  if (error) fail_file(path, "cannot read", error.value());
}

}  // namespace

std::string Folder::checkpoint(std::int64_t number) const { return path_ + "/" + padded(kPrefix, number, 6); }
std::string Folder::unfinished(std::int64_t number, const std::string& attempt) const {
  return path_ + "/." + padded(kPrefix, number, 6) + "." + attempt;
}
std::string Folder::base(std::int64_t number) const { return path_ + "/" + padded(kBasePrefix, number, 6); }
std::string Folder::unfinished_base(std::int64_t number, const std::string& attempt) const {
  return path_ + "/." + padded(kBasePrefix, number, 6) + "." + attempt;
}
std::string Folder::files_of(const std::string& checkpoint, std::int64_t base) {
  return base == 0 ? checkpoint : Folder(checkpoint.substr(0, checkpoint.rfind('/'))).base(base);
}
std::string Folder::rank_file(const std::string& checkpoint, std::size_t rank) {
  return checkpoint + "/" + padded("rank-", static_cast<std::int64_t>(rank), 5) + ".bin";
}

void Folder::prepare() const {
  if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) fail_file(path_, "cannot create", errno);
  struct stat status {};
  if (::stat(path_.c_str(), &status) != 0) fail_file(path_, "cannot look at", errno);
  if (!S_ISDIR(status.st_mode)) fail_file(path_, "cannot save checkpoints in", ENOTDIR);
  if (::access(path_.c_str(), W_OK | X_OK) != 0) fail_file(path_, "cannot save checkpoints in", errno);
}

std::vector<std::int64_t> Folder::numbers() const {
  std::vector<std::int64_t> list;
  each_name(path_, [&](const std::string& name) {
    if (const std::int64_t number = number_of(name, kPrefix); number >= 0) list.push_back(number);
  });
  std::ranges::sort(list);
  return list;
}

void Folder::begin(std::int64_t number, const std::string& attempt, bool with_base) const {
  make(unfinished(number, attempt));
  if (!with_base) return;
  // Left by an attempt that ended before its checkpoint was renamed.
  std::error_code ignored;
  std::filesystem::remove_all(base(number), ignored);
  make(unfinished_base(number, attempt));
}

void Folder::commit(std::int64_t number, const std::string& attempt, const std::string& manifest,
                    bool with_base) const {
  const std::string from = unfinished(number, attempt), to = checkpoint(number);
  write_synced(Folder::manifest(from), manifest);
  sync_path(from, O_DIRECTORY);
  if (with_base) {
    sync_path(unfinished_base(number, attempt), O_DIRECTORY);
    rename_new(unfinished_base(number, attempt), base(number), "cannot rename a base to");
    sync_path(path_, O_DIRECTORY);
  }
  rename_new(from, to, "cannot rename a checkpoint to");
  sync_path(path_, O_DIRECTORY);
  const std::string hint = path_ + "/.newest." + attempt;
  try {
    write_synced(hint, file_name_of(to) + "\n");
    if (::rename(hint.c_str(), (path_ + "/newest").c_str()) != 0) fail_file(path_ + "/newest", "cannot write", errno);
    sync_path(path_, O_DIRECTORY);
  } catch (const RunError&) {  // only a hint for scripts: the checkpoint exists
    ::unlink(hint.c_str());
  }
}

void Folder::give_up(std::int64_t number, const std::string& attempt) const noexcept {
  std::error_code ignored;
  std::filesystem::remove_all(unfinished(number, attempt), ignored);
  std::filesystem::remove_all(unfinished_base(number, attempt), ignored);
  // The base may have been renamed before renaming the checkpoint failed.
  if (surely_absent(checkpoint(number))) std::filesystem::remove_all(base(number), ignored);
}

void Folder::remove_others(const std::string& attempt) const {
  std::set<std::int64_t> referred;
  bool all_known = true;
  for (const std::int64_t number : numbers()) {
    const std::string path = manifest(checkpoint(number));
    try {
      for (const Base& base : parse_manifest(read_text_file(path)).bases) referred.insert(base.number);
    } catch (const std::exception&) {  // it may refer to any base, unless an attempt was killed while it removed the
                                       // checkpoint
      all_known = all_known && surely_absent(path);
    }
  }
  std::vector<std::string> left;
  each_name(path_, [&](const std::string& name) {
    const bool unfinished = name.starts_with(".ck-") || name.starts_with(".base-");
    const std::int64_t base = number_of(name, kBasePrefix);
    if ((unfinished && !name.ends_with("." + attempt)) || (base >= 0 && all_known && !referred.contains(base)))
      left.push_back(name);
  });
  std::error_code ignored;
  for (const std::string& name : left) std::filesystem::remove_all(path_ + "/" + name, ignored);
}

void Folder::prune(std::size_t kept, const std::string& attempt, const std::string& spared) const noexcept {
  try {
    std::error_code ignored;
    std::vector<std::int64_t> list = numbers();
    std::erase_if(list, [this](std::int64_t number) { return !may_be_removed(checkpoint(number)); });
    for (std::size_t k = 0; k + kept < list.size(); ++k) {
      const std::string path = checkpoint(list[k]);
      if (!std::filesystem::equivalent(path, spared, ignored)) std::filesystem::remove_all(path, ignored);
    }
  } catch (const std::exception&) {
    // The next checkpoint will retry.
  }
  sweep(attempt);
}

void Folder::sweep(const std::string& attempt) const noexcept {
  try {
    remove_others(attempt);
  } catch (const std::exception&) {
    // As above.
  }
}

}  // namespace tdsl::rt::checkpoint

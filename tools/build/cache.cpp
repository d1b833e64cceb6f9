#include "tools/build/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>

#include "tools/build/compile.h"
#include "tools/build/output_file.h"

namespace tdsl::codegen {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHashBlockBytes = std::size_t{1} << 20;

/// Closes a file when it goes out of scope.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// Opens for reading; -1 unless it is a regular file. Does not block on a pipe.
int open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  if (file < 0 || (::fstat(file, &status) == 0 && S_ISREG(status.st_mode))) return file;
  ::close(file);
  return -1;
}

/// Removes `path` if it is not of the type `ours`.
void remove_other(const std::string& path, fs::file_type ours) {
  std::error_code ignored;
  const fs::file_status status = fs::symlink_status(path, ignored);
  if (fs::exists(status) && status.type() != ours) fs::remove_all(path, ignored);
}

bool make_folder(const fs::path& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return true;
  if (errno != ENOENT || !path.has_relative_path() || !make_folder(path.parent_path())) return false;
  return ::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST;
}

/// Why executables in this folder may not be the user's own; null if nothing is wrong.
const char* objection_to(const std::string& path) {
  const Descriptor folder(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (folder.number() < 0) {
    const int error = errno;
    std::error_code ignored;
    return fs::is_symlink(path, ignored) ? "it is a symbolic link" : std::strerror(error);
  }
  struct stat status {};
  if (::fstat(folder.number(), &status) != 0) return std::strerror(errno);
  if (status.st_uid != ::geteuid()) return "it belongs to another user";
  if ((status.st_mode & 0022) != 0) return "others may write to it";
  // On a read-only file system the mode remains as it is.
  if ((status.st_mode & 0077) != 0 && ::fchmod(folder.number(), status.st_mode & 0700) != 0 && errno != EROFS)
    return std::strerror(errno);
  return nullptr;
}

std::string temporary_cache() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  return error ? std::string() : fmt::format("{}/tdsl-{}", folder.string(), ::geteuid());
}

}  // namespace

std::string cache_directory() {
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return std::string(cache) + "/tdsl";
  if (const char* home = std::getenv("HOME"); home != nullptr && *home != '\0')
    return std::string(home) + "/.cache/tdsl";
  return {};
}

bool make_private_folder(const std::string& path) {
  if (!make_folder(path)) return false;
  if (const char* objection = objection_to(path)) {
    throw CompilerFailure(fmt::format(
        "cannot keep executables in {}: {}; remove it, or set XDG_CACHE_HOME to a folder of yours", path, objection));
  }
  return true;
}

std::string open_cache() {
  for (const std::string& path : {cache_directory(), temporary_cache()}) {
    if (!path.empty() && make_private_folder(path)) return path;
  }
  throw CompilerFailure("no usable cache folder for executables; set XDG_CACHE_HOME");
}

std::string fingerprint(const std::string& path) {
  const Descriptor file(open_file(path));
  if (file.number() < 0) return {};
  Hash hash;
  std::uint64_t size = 0;
  std::vector<char> block(kHashBlockBytes);
  while (true) {
    const ssize_t count = ::read(file.number(), block.data(), block.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return {};
    if (count == 0) return fmt::format("{} {}\n", size, hash.text());
    hash.add(std::string_view(block.data(), static_cast<std::size_t>(count)));
    size += static_cast<std::uint64_t>(count);
  }
}

CacheEntry::CacheEntry(const std::string& cache, const std::string& key, const std::string& name)
    : folder_(cache + "/" + key), executable_(folder_ + "/" + name) {}

bool CacheEntry::intact() const {
  if (::access(executable_.c_str(), X_OK) != 0) return false;
  const Descriptor sum(open_file(executable_ + ".sum"));
  std::array<char, 256> text;
  const ssize_t size = sum.number() < 0 ? -1 : ::read(sum.number(), text.data(), text.size());
  return size > 0 && fingerprint(executable_) == std::string_view(text.data(), static_cast<std::size_t>(size));
}

void CacheEntry::put(const std::string& source, const std::string& executable) const {
  std::error_code error;
  remove_other(folder_, fs::file_type::directory);
  for (const char* suffix : {"", ".cpp", ".sum"}) remove_other(executable_ + suffix, fs::file_type::regular);
  fs::create_directories(folder_, error);
  const std::string sum = fingerprint(executable);
  fs::rename(source, executable_ + ".cpp", error);
  fs::rename(executable, executable_, error);
  if (error) throw CompilerFailure("cannot write " + executable_ + ": " + error.message());
  try {
    OutputFile out(executable_ + ".sum", 0600);
    out.write(sum);
    out.commit();
  } catch (const OutputError& failure) { throw CompilerFailure(failure.what()); }
}

}  // namespace tdsl::codegen

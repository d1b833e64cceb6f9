#include "tools/build/output_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "runtime/io/open_stream.h"

namespace tdsl::codegen {

namespace {

constexpr int kAttempts = 100;
/// Length limit for the part of a file's name in the temporary name, so that both are legal.
constexpr std::size_t kNameBytes = 200;

[[noreturn]] void cannot_write(const std::string& path, const char* reason) {
  throw OutputError(fmt::format("cannot write {}: {}", path, reason));
}

/// Status of the target of `path`; nothing if it does not exist.
std::optional<struct stat> status_of(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0) return status;
  if (errno != ENOENT) cannot_write(path, std::strerror(errno));
  return std::nullopt;
}

/// `DIRECTORY/.NAME.tmp-0123456789abcdef`
std::string temporary_name(const std::string& path) {
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != static_cast<ssize_t>(sizeof number))
    cannot_write(path, std::strerror(errno));
  const std::size_t name = path.find_last_of('/') + 1;
  return fmt::format("{}.{}.tmp-{:016x}", path.substr(0, name), path.substr(name, kNameBytes), number);
}

void write_all(int descriptor, std::string_view bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) cannot_write(path, std::strerror(errno));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void write_in_place(const std::string& path, std::string_view text) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) cannot_write(path, std::strerror(errno));
  const std::unique_ptr<const int, void (*)(const int*)> guard(&descriptor, [](const int* d) { ::close(*d); });
  write_all(descriptor, text, path);
}

}  // namespace

OutputFile::OutputFile(const std::string& path, mode_t mode) : path_(path) {
  if (path.empty() || path.back() == '/') cannot_write(path, "it names no file");
  if (const auto status = status_of(path)) {
    if (S_ISDIR(status->st_mode)) cannot_write(path, "it is a directory");
    if (!S_ISREG(status->st_mode)) cannot_write(path, "it is not a regular file");
    if (::access(path.c_str(), W_OK) != 0) fail();
  }
  for (int k = 0; k < kAttempts && descriptor_ < 0; ++k) {
    temporary_ = temporary_name(path);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
    if (descriptor_ < 0 && errno != EEXIST) break;
  }
  if (descriptor_ < 0) fail();
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::write(std::string_view bytes) { write_all(descriptor_, bytes, path_); }

void OutputFile::set_mode(mode_t mode) {
  if (::fchmod(descriptor_, mode) != 0) fail();
}

void OutputFile::sync() {
  if (::fsync(descriptor_) != 0) fail();
}

void OutputFile::commit() {
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail();
  ::close(descriptor_);
  descriptor_ = -1;
}

void OutputFile::fail() const { cannot_write(path_, std::strerror(errno)); }

void write_text(const std::string& path, std::string_view text) {
  const auto old = status_of(path);
  if (old && !S_ISREG(old->st_mode) && rt::takes_text(path, old->st_mode)) return write_in_place(path, text);
  const std::unique_ptr<char, decltype(&std::free)> resolved(::realpath(path.c_str(), nullptr), &std::free);
  OutputFile out(resolved ? resolved.get() : path, 0666);
  if (old) out.set_mode(old->st_mode & 0777);
  out.write(text);
  out.sync();
  out.commit();
}

}  // namespace tdsl::codegen

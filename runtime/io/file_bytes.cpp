#include "runtime/io/file_bytes.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "runtime/check.h"

namespace tdsl::rt {

namespace {

// Linux transfers at most 2 GiB - 4 KiB per call.
constexpr std::size_t kLargestTransfer = std::size_t{1} << 30;

}  // namespace

void fail_file(const std::string& path, const std::string& what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT;
  const bool reads = what == "cannot read" || what == "cannot open" || what == "cannot examine";
  throw RunError(what + " `" + path + "`: " + std::generic_category().message(error) +
                 (full    ? " [disk-full]"
                  : reads ? " [cannot-read]"
                          : " [cannot-write]"));
}

void read_at(int fd, std::span<std::byte> bytes, std::int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pread(fd, bytes.data(), std::min(bytes.size(), kLargestTransfer), offset);
    if (n < 0 && errno == EINTR) { continue; }
    if (n < 0) { fail_file(path, "cannot read", errno); }
    if (n == 0) { throw RunError("`" + path + "` became shorter while it was being read [file-changed]"); }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

void write_at(int fd, std::span<const std::byte> bytes, std::int64_t offset, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t n = ::pwrite(fd, bytes.data(), std::min(bytes.size(), kLargestTransfer), offset);
    if (n < 0 && errno == EINTR) { continue; }
    if (n <= 0) { fail_file(path, "cannot write", n == 0 ? ENOSPC : errno); }
    bytes = bytes.subspan(static_cast<std::size_t>(n));
    offset += n;
  }
}

void open_standard_streams() {
  int fd = 0;
  while (fd >= 0 && fd <= 2) { fd = ::open("/dev/null", O_RDONLY); }
  if (fd > 2) { ::close(fd); }
}

void keep_owner_access() {
  const mode_t before = ::umask(0777);
  ::umask(before & ~static_cast<mode_t>(0700));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) { return "."; }
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string file_name_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

}  // namespace tdsl::rt

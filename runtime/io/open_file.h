#pragma once

#include <cstdint>
#include <string>

namespace tdsl::rt {

/// Tells an open file from another one, and from itself after somebody has written to it.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A regular file open for reading. What is read is the file that was opened, also after another one has taken its
/// name.
class OpenFile {
 public:
  /// Throws RunError that names the file if it cannot be opened or is not a regular one.
  explicit OpenFile(std::string path);
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }
  /// As it was when the file was opened.
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  [[nodiscard]] std::int64_t bytes() const { return identity_.bytes; }
  /// Throws if the file was written to after it had been opened: its elements may belong to different arrays.
  void require_unchanged() const;

 private:
  std::string path_;
  int fd_ = -1;
  FileIdentity identity_;
};

}  // namespace tdsl::rt

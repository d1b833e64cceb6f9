#pragma once

#include <cstdint>
#include <string>

namespace tdsl::rt {

/// Identifies an open file, and detects later modifications.
struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::int64_t bytes = 0;
  std::int64_t modified = 0;  ///< nanoseconds since 1970

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

/// A regular file open for reading; stays on the opened file even if another one takes its name.
class OpenFile {
 public:
  /// Throws a RunError that names the file if it cannot be opened or is not regular.
  explicit OpenFile(std::string path);
  ~OpenFile();
  OpenFile(OpenFile&& other) noexcept;
  OpenFile& operator=(OpenFile&& other) noexcept;
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }
  /// At the time of opening.
  [[nodiscard]] const FileIdentity& identity() const { return identity_; }
  [[nodiscard]] std::int64_t bytes() const { return identity_.bytes; }
  /// Throws if the file was modified after opening: its elements may be from different arrays.
  void require_unchanged() const;

 private:
  std::string path_;
  int fd_ = -1;
  FileIdentity identity_;
};

}  // namespace tdsl::rt

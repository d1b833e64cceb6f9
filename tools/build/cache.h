#pragma once

#include <string>

namespace tdsl::codegen {

/// Directory of cached executables: $XDG_CACHE_HOME/tdsl or ~/.cache/tdsl; empty if neither variable is set.
[[nodiscard]] std::string cache_directory();

/// cache_directory(), or if that is empty or cannot be created, a folder of this user in the temporary directory.
/// Created if it does not exist. Its contents are executed: throws CompilerFailure unless it is private to the user.
[[nodiscard]] std::string open_cache();

/// Creates a folder private to this user (mode 0700), and its parents; false if that fails. Throws CompilerFailure if
/// the path is a link, belongs to another user or is writable by others. Read permissions of others are removed. The
/// folder need not be writable: its contents can be executed.
[[nodiscard]] bool make_private_folder(const std::string& path);

/// Size and hash of a regular file's content; empty if it cannot be read.
[[nodiscard]] std::string fingerprint(const std::string& path);

/// An executable in the cache, with its source and its fingerprint:
///
///     CACHE/KEY/NAME  CACHE/KEY/NAME.cpp  CACHE/KEY/NAME.sum
class CacheEntry {
 public:
  CacheEntry(const std::string& cache, const std::string& key, const std::string& name);

  [[nodiscard]] const std::string& executable() const { return executable_; }
  /// True if the executable exists and is unchanged since put().
  [[nodiscard]] bool intact() const;
  /// Moves the two files here, replacing existing ones; they must be on the same file system. Among concurrent
  /// processes the last one wins; if one is interrupted, the entry is not intact. Throws CompilerFailure.
  void put(const std::string& source, const std::string& executable) const;

 private:
  std::string folder_;
  std::string executable_;
};

}  // namespace tdsl::codegen

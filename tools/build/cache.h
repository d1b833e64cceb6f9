#pragma once

#include <string>

namespace tdsl::codegen {

/// Where finished executables are kept: $XDG_CACHE_HOME/tdsl or ~/.cache/tdsl; empty if neither is there.
[[nodiscard]] std::string cache_directory();

/// cache_directory(), or a folder of this user's below the temporary directory where that is empty or cannot be made.
/// It is made if it is not there. What lies in it is run: throws CompilerFailure if it is not the user's alone.
[[nodiscard]] std::string open_cache();

/// Makes a folder for this user alone (mode 0700), and its parents; false if that cannot be done. Throws
/// CompilerFailure if the folder is there but is a link, belongs to another user or can be written by others. One that
/// others could only read is closed to them. It need not be writable: what is in it can be run.
[[nodiscard]] bool make_private_folder(const std::string& path);

/// Size and hash of a regular file's content; empty if it cannot be read.
[[nodiscard]] std::string fingerprint(const std::string& path);

/// An executable in the cache, with the source it was made from and its fingerprint:
///
///     CACHE/KEY/NAME  CACHE/KEY/NAME.cpp  CACHE/KEY/NAME.sum
class CacheEntry {
 public:
  CacheEntry(const std::string& cache, const std::string& key, const std::string& name);

  [[nodiscard]] const std::string& executable() const { return executable_; }
  /// Whether the executable is there, and unchanged since it was put in.
  [[nodiscard]] bool intact() const;
  /// Moves the two files here, in place of whatever is there; they are on the same file system. Of several processes
  /// that do so at the same time the last one wins; if one is interrupted the entry is not intact. Throws
  /// CompilerFailure.
  void put(const std::string& source, const std::string& executable) const;

 private:
  std::string folder_;
  std::string executable_;
};

}  // namespace tdsl::codegen

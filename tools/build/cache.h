#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace tdsl::codegen {

/// A 128-bit hash of strings, in two lanes: collisions are negligible by accident, but not prevented against malice.
/// Processes eight bytes at a time, similar to FNV-1a.
class Hash {
 public:
  void add(std::string_view bytes) {
    const std::size_t size = bytes.size();
    while (bytes.size() >= sizeof(std::uint64_t)) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data(), sizeof word);
      mix(word);
      bytes.remove_prefix(sizeof word);
    }
    for (const char c : bytes) mix(static_cast<unsigned char>(c));
    mix(size);
  }
  void add(const std::vector<std::string>& strings) {
    for (const std::string& s : strings) add(std::string_view(s));
  }
  [[nodiscard]] std::string text() const { return fmt::format("{:016x}{:016x}", a_, b_); }

 private:
  void mix(std::uint64_t word) {
    a_ = (a_ ^ word) * 0x100000001B3ULL;
    a_ ^= a_ >> 32;
    b_ = (b_ + word) * 0x9E3779B97F4A7C15ULL;
    b_ ^= b_ >> 29;
  }

  std::uint64_t a_ = 0xCBF29CE484222325ULL;
  std::uint64_t b_ = 0x2545F4914F6CDD1DULL;
};

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

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tdsl::rt {

/// How an unfinished output file is accessed.
enum class Unfinished {
  kUnnamed,  ///< no name: the file disappears with the last process that has it open. The processes must see each
             ///< other's descriptors (same machine and PID namespace)
  kNamed     ///< by a temporary name next to the target; remains if all processes are killed at once
};

/// A file written by all ranks. It is unnamed, or has a temporary name in the target's directory, until rank 0 commits
/// it, so a failed run leaves an existing target untouched and no partial file. Order of calls:
///
///     rank 0: f = OutputFile::create(path)                others: f = OutputFile::open(token broadcast by rank 0)
///     all:    write_at(f.fd(), ...) any number of times; f.sync()
///     (barrier)
///     rank 0: f.commit()                                  others: f.release()
class OutputFile {
 public:
  /// Detects an unwritable directory and a target that is not a regular file. On a file system without unnamed files
  /// the file gets a temporary name.
  [[nodiscard]] static OutputFile create(const std::string& path, Unfinished unfinished);
  /// Opens a file created by another process, and takes its part off `token`. Throws if the file is not visible here
  /// (no shared file system).
  [[nodiscard]] static OutputFile open(std::string_view& token);
  ~OutputFile();  ///< the creator discards the file unless it is committed
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// The bytes another rank needs for `open`, to be broadcast.
  [[nodiscard]] std::string token() const;
  /// The final name, with symbolic links resolved.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }
  /// Allocates all the space that the file will need; throws an error with the available space if that fails. The first
  /// `reserved` bytes are already allocated.
  void reserve(std::int64_t bytes, std::int64_t reserved = 0) const;
  void write(std::span<const std::byte> bytes, std::int64_t offset) const;
  /// Flushes this process's writes to disk; reports delayed write errors.
  void sync() const;
  /// Gives the file its final name. Creator only; all ranks must have synced.
  void commit();
  /// Closes the file and unlinks it if it has a name (on any rank; a missing file is not an error). Never throws.
  void discard() noexcept;
  /// Closes without unlinking; for the other ranks after the commit.
  void release() noexcept;

 private:
  OutputFile() = default;
  void create_unnamed();
  void create_named(const std::string& path);
  void give_temporary_name();

  std::string path_;       // final name
  std::string temporary_;  // current name; for an unnamed file the creator's descriptor, /proc/PID/fd/N
  bool named_ = false;
  int fd_ = -1;
  int slot_ = -1;  // in the table of temporaries
  bool creator_ = false;
};

/// Takes the next part off a token; parts are zero-terminated, because file names cannot contain a zero byte.
[[nodiscard]] std::string take_token_part(std::string_view& token);

}  // namespace tdsl::rt

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tdsl::rt {

/// How the file of an output that is not finished can be reached.
enum class Unfinished {
  kUnnamed,  ///< it has no name: whatever ends the processes that have it open, it is gone with them. They must be able
             ///< to see each other's descriptors (one machine, one PID namespace)
  kNamed     ///< by a temporary name beside the target; left behind when every process is killed at once
};

/// A file being written by all ranks. It has no name, or a temporary one in the target's directory, until rank 0
/// commits it, so a failed run leaves an existing target untouched and no partial file. The order of calls:
///
///     rank 0: f = OutputFile::create(path)                others: f = OutputFile::open(token broadcast by rank 0)
///     all:    write_at(f.fd(), ...) any number of times; f.sync()
///     (barrier)
///     rank 0: f.commit()                                  others: f.release()
class OutputFile {
 public:
  /// An unwritable directory and a target that is not a regular file are found here. A file system without unnamed
  /// files gets a named one.
  [[nodiscard]] static OutputFile create(const std::string& path, Unfinished unfinished);
  /// Opens the file another process created, and takes its part off `token`. Throws if it is not visible from here (no
  /// shared file system).
  [[nodiscard]] static OutputFile open(std::string_view& token);
  ~OutputFile();  ///< the creator discards unless committed
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// All another rank needs for `open`, as bytes to broadcast.
  [[nodiscard]] std::string token() const;
  /// The final name, through symbolic links.
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] int fd() const { return fd_; }
  /// Takes all the space that the file will need, or throws an error that says how much is left. The first `reserved`
  /// bytes are there.
  void reserve(std::int64_t bytes, std::int64_t reserved = 0) const;
  void write(std::span<const std::byte> bytes, std::int64_t offset) const;
  /// Forces this process's writes to disk; reports errors the system had delayed.
  void sync() const;
  /// Gives the file its final name. Only the creator; all ranks must have synced.
  void commit();
  /// Closes and, if it has a name, unlinks the file (any rank; a file already gone is no error). Never throws.
  void discard() noexcept;
  /// Closes without unlinking: what the other ranks do once the creator has committed.
  void release() noexcept;

 private:
  OutputFile() = default;
  void create_unnamed();
  void create_named(const std::string& path);
  void give_temporary_name();

  std::string path_;       // final name
  std::string temporary_;  // current name; of an unnamed file the creator's descriptor, /proc/PID/fd/N
  bool named_ = false;
  int fd_ = -1;
  int slot_ = -1;  // in the table of temporaries
  bool creator_ = false;
};

/// Takes the next part off a token; parts end in a zero byte, the one character a file name cannot hold.
[[nodiscard]] std::string take_token_part(std::string_view& token);

}  // namespace tdsl::rt

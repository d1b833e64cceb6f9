#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Whole-range file access with every error turned into a RunError that names the file.
namespace tdsl::rt {

/// `'path': what: reason`, with the system's text for `error` (an errno value) as the reason.
[[noreturn]] void fail_file(const std::string& path, const std::string& what, int error);

/// Reads exactly `bytes.size()` bytes at `offset`; a file that ends before is an error.
void read_at(int fd, std::span<std::byte> bytes, std::int64_t offset, const std::string& path);

/// Writes all of `bytes` at `offset`.
void write_at(int fd, std::span<const std::byte> bytes, std::int64_t offset, const std::string& path);

/// Makes the descriptors 0, 1 and 2 exist: a file opened later must not be taken for a standard stream that the parent
/// closed. Writing to one that was closed stays an error.
void open_standard_streams();

/// Takes the owner's bits out of this process's umask, so that it and its children can read the files and folders they
/// make.
void keep_owner_access();

/// Directory part of a path, "." when there is none.
[[nodiscard]] std::string directory_of(const std::string& path);
/// The last component of a path.
[[nodiscard]] std::string file_name_of(const std::string& path);

}  // namespace tdsl::rt

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

/// Complete reads and writes; every error is a RunError that names the file.
namespace tdsl::rt {

/// Throws RunError "what `path`: reason", with the system's text for `error` (an errno value) as the reason.
[[noreturn]] void fail_file(const std::string& path, const std::string& what, int error);

/// Reads exactly `bytes.size()` bytes at `offset`; a file that ends earlier is an error.
void read_at(int fd, std::span<std::byte> bytes, std::int64_t offset, const std::string& path);

/// Writes all of `bytes` at `offset`.
void write_at(int fd, std::span<const std::byte> bytes, std::int64_t offset, const std::string& path);

/// Opens the descriptors 0, 1 and 2 if they are closed, so that a file opened later does not become a standard stream.
/// Writing to a formerly closed one remains an error.
void open_standard_streams();

/// Clears the owner bits in this process's umask, so that it and its children can read the files and folders they
/// create.
void keep_owner_access();

/// Directory part of a path; "." if there is none.
[[nodiscard]] std::string directory_of(const std::string& path);
/// The last component of a path.
[[nodiscard]] std::string file_name_of(const std::string& path);

}  // namespace tdsl::rt

#include <dlfcn.h>
#include <fnmatch.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

#include "runtime/engine/mpi/mpi_choice.h"

namespace tdsl::rt {

namespace {

std::string bytes_of_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Ends where `path` ends, so that its data is a C string.
std::string_view last_part_of(const std::string& path) {
  return std::string_view(path).substr(path.find_last_of('/') + 1);
}

bool is_readable(const std::string& path) { return ::access(path.c_str(), R_OK) == 0; }

/// The first file of `folder` with a name of this pattern; empty: none.
std::string file_in(const std::string& folder, const char* pattern) {
  std::string found;
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string path = entry->path().string();
    if (::fnmatch(pattern, last_part_of(path).data(), 0) == 0 && is_readable(path) && (found.empty() || path < found))
      found = path;
  }
  return found;
}

/// Paths of MPI libraries known to the dynamic loader. Its cache ends with a table of strings, among them every path:
/// searching for these needs no knowledge of the rest, which differs between versions.
std::vector<std::string> cached_libraries() {
  std::vector<std::string> paths;
  const std::string cache = bytes_of_file("/etc/ld.so.cache");
  constexpr std::string_view kMark = "/libmpi";
  for (std::size_t at = cache.find(kMark); at != std::string::npos; at = cache.find(kMark, at + 1)) {
    const std::size_t before = cache.rfind('\0', at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    const std::string path = cache.substr(begin, cache.find('\0', at) - begin);
    if (path.starts_with('/') && is_readable(path)) paths.push_back(path);
  }
  return paths;
}

/// The library that a program linked with one of this family would get, by and large; empty: none.
std::string library_of(const MpiFamily& family, const Environment& environment,
                       const std::vector<std::string>& cached) {
  for (const std::string& folder : environment.library_folders) {
    for (const char* const pattern : family.libraries) {
      if (std::string path = file_in(folder, pattern); !path.empty()) return path;
    }
  }
  for (const char* const pattern : family.libraries) {
    for (const std::string& path : cached) {
      if (::fnmatch(pattern, last_part_of(path).data(), 0) == 0) return path;
    }
  }
  return {};
}

/// Shims made by an MPI's own compiler name its library among those they need.
bool links_mpi(const std::string& shim) { return bytes_of_file(shim).find("libmpi") != std::string::npos; }

/// The folders in which the loader searches for libraries of this program, or of the library that contains this code.
std::vector<std::string> loader_folders() {
  Dl_info file{};
  link_map* map = nullptr;
  // The address of a function of this file.
  if (::dladdr1(reinterpret_cast<void*>(&links_mpi), &file, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0)
    return {};
  const bool program = map == nullptr || map->l_name == nullptr || *map->l_name == '\0';
  void* const handle = ::dlopen(program ? nullptr : map->l_name, RTLD_LAZY | RTLD_NOLOAD);
  std::vector<std::string> folders;
  Dl_serinfo size{};
  if (handle != nullptr && ::dlinfo(handle, RTLD_DI_SERINFOSIZE, &size) == 0) {
    std::vector<std::max_align_t> memory(size.dls_size / sizeof(std::max_align_t) + 1);
    auto* const all = reinterpret_cast<Dl_serinfo*>(memory.data());
    if (::dlinfo(handle, RTLD_DI_SERINFOSIZE, all) == 0 && ::dlinfo(handle, RTLD_DI_SERINFO, all) == 0) {
      for (unsigned k = 0; k < all->dls_cnt; ++k) folders.emplace_back(all->dls_serpath[k].dls_name);
    }
  }
  if (handle != nullptr) ::dlclose(handle);
  return folders;
}

/// The shims in `folder` of families that have none yet.
void add_shims(const std::string& folder, std::vector<MpiShim>& shims) {
  constexpr std::string_view kStart = "libtdsl_mpi_", kEnd = ".so";
  for (const std::string_view family : {"openmpi", "mpich", "abi", "other"}) {
    const std::string file = folder + "/" + std::string(kStart) + std::string(family) + std::string(kEnd);
    if (std::ranges::find(shims, family, &MpiShim::family) != shims.end() || !is_readable(file)) continue;
    shims.push_back({std::string(family), file, "", links_mpi(file)});
  }
}

std::string trimmed_word(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t\r") - first + 1));
}

/// The value of `mpi_family` in a site's profile; empty without it.
std::string family_of_site(const std::string& file) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos && trimmed_word(line.substr(0, equals)) == "mpi_family")
      return trimmed_word(line.substr(equals + 1));
  }
  return {};
}

}  // namespace

std::vector<LoadedMpi> loaded_mpis() {
  std::vector<LoadedMpi> all;
  const auto add = [](dl_phdr_info* info, std::size_t, void* list) {
    const std::string file = info->dlpi_name == nullptr ? "" : info->dlpi_name;
    if (std::string family = mpi_family_of(last_part_of(file)); !family.empty())
      static_cast<std::vector<LoadedMpi>*>(list)->push_back({std::move(family), file});
    return 0;
  };
  ::dl_iterate_phdr(add, &all);
  return all;
}

std::vector<std::string> shim_folders(const Environment& environment) {
  std::vector<std::string> folders = environment.mpi_folders;
  for (std::string& folder : loader_folders()) folders.push_back(std::move(folder));
  return folders;
}

MpiFacts mpi_facts(const Environment& environment) {
  MpiFacts facts;
  facts.loaded = loaded_mpis();
  facts.requested = environment.mpi;
  facts.launcher = environment.launcher_family;
  for (const std::string& folder : shim_folders(environment)) {
    const std::size_t before = facts.shims.size();
    add_shims(folder, facts.shims);
    if (facts.shims.size() == before || !facts.site.empty()) continue;
    facts.site_file = folder + "/site.conf";
    facts.site = family_of_site(facts.site_file);
  }
  const std::vector<std::string> cached = cached_libraries();
  for (MpiShim& shim : facts.shims) {
    for (const MpiFamily& family : mpi_families()) {
      if (family.name == shim.family && !shim.linked) shim.library = library_of(family, environment, cached);
    }
  }
  return facts;
}

}  // namespace tdsl::rt

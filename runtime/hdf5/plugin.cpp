#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <stdexcept>

#include "runtime/hdf5/element_types.h"
#include "runtime/hdf5/identifiers.h"
#include "runtime/io/tensor/hdf5_plugin.h"

namespace tdsl::rt::hdf5 {

namespace {

using Extents = std::vector<std::int64_t>;

/// The library locates each chunk by scanning all of them: beyond this number it reads the bytes instead.
constexpr hsize_t kMostChunks = 2048;

/// Serialises calls of the library.
std::mutex& library() {
  static std::mutex mutex;
  return mutex;
}

std::vector<hsize_t> sizes(std::span<const std::int64_t> extents) { return {extents.begin(), extents.end()}; }

/// Disables file locking: some file systems do not support it, and others lock a file that many ranks read in part.
Identifier file_access() {
  Identifier access = checked(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  check(H5Pset_file_locking(access, false, true));
  check(H5Pset_fclose_degree(access, H5F_CLOSE_STRONG));
  return access;
}

herr_t add_name(hid_t, const char* name, const H5O_info_t* info, void* names) {
  if (info->type == H5O_TYPE_DATASET) static_cast<std::vector<std::string>*>(names)->push_back(std::string("/") + name);
  return 0;
}

std::vector<std::string> names_in(const Identifier& file) {
  std::vector<std::string> names;
  check(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, add_name, &names));
  return names;
}

/// All groups of the path must exist before their members are queried.
bool has_links(const Identifier& file, const std::string& name) {
  for (std::size_t end = name.find('/', 1); end != std::string::npos; end = name.find('/', end + 1)) {
    if (H5Lexists(file, name.substr(0, end).c_str(), H5P_DEFAULT) <= 0) return false;
  }
  return H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0;
}

std::string among(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(names.size(), kShown); ++k)
    text += (k == 0 ? "it has `" : ", `") + names[k] + "`";
  return names.empty()
             ? "it has none"
             : text + (names.size() > kShown ? " and " + std::to_string(names.size() - kShown) + " more" : "");
}

Extents shape_of(const Identifier& space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) throw std::runtime_error("it is empty: not even a scalar");
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(rank, 0)));
  check(rank < 0 || H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0 ? -1 : 0);
  return {extents.begin(), extents.end()};
}

void require_filters(const Identifier& creation) {
  for (int k = 0; k < H5Pget_nfilters(creation); ++k) {
    std::array<char, 64> name{};
    std::size_t values = 0;
    const H5Z_filter_t filter = H5Pget_filter2(creation, static_cast<unsigned>(k), nullptr, &values, nullptr,
                                               name.size(), name.data(), nullptr);
    if (H5Zfilter_avail(filter) > 0) continue;
    throw std::runtime_error("its chunks are compressed with filter " + std::to_string(filter) +
                             (name[0] == '\0' ? "" : std::string(" (") + name.data() + ")") +
                             ", which the HDF5 library of this machine does not have");
  }
}

class Dataset final : public Hdf5Dataset {
 public:
  Dataset(const std::string& file, const std::string& name)
      : file_(checked(H5Fopen(file.c_str(), H5F_ACC_RDONLY, file_access()), H5Fclose)) {
    if (has_links(file_, name) && H5Oexists_by_name(file_, name.c_str(), H5P_DEFAULT) > 0)
      dataset_ = Identifier(H5Dopen2(file_, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!dataset_)
      throw std::runtime_error("there is no dataset `" + name + "` in the file; " + among(names_in(file_)));
    describe();
  }
  ~Dataset() override {
    const std::scoped_lock lock(library());
    dataset_ = {};
    file_ = {};
  }

  void read(std::span<const std::int64_t> lo, std::span<const std::int64_t> hi, std::byte* to) const override {
    const std::scoped_lock lock(library());
    const Identifier in_file = checked(H5Dget_space(dataset_), H5Sclose);
    std::vector<hsize_t> first = sizes(lo), count(lo.size());
    for (std::size_t d = 0; d < lo.size(); ++d) count[d] = static_cast<hsize_t>(hi[d] - lo[d]);
    if (!lo.empty()) check(H5Sselect_hyperslab(in_file, H5S_SELECT_SET, first.data(), nullptr, count.data(), nullptr));
    const Identifier in_memory = checked(
        lo.empty() ? H5Screate(H5S_SCALAR) : H5Screate_simple(static_cast<int>(lo.size()), count.data(), nullptr),
        H5Sclose);
    const Identifier stored = checked(H5Dget_type(dataset_), H5Tclose);
    const Identifier native = layout_.kind == 'b' ? Identifier() : native_type(layout_.kind, layout_.bytes);
    check(H5Dread(dataset_, native ? hid_t{native} : hid_t{stored}, in_memory, in_file, H5P_DEFAULT, to));
  }

  bool read_chunk(std::span<const std::int64_t> first, std::vector<std::byte>& stored,
                  unsigned& skipped) const override {
    const std::scoped_lock lock(library());
    const std::vector<hsize_t> at = sizes(first);
    hsize_t bytes = 0;
    if (H5Dget_chunk_storage_size(dataset_, at.data(), &bytes) < 0 || bytes == 0) return false;
    stored.resize(static_cast<std::size_t>(bytes));
    std::uint32_t mask = 0;
    check(H5Dread_chunk(dataset_, H5P_DEFAULT, at.data(), &mask, stored.data()));
    skipped = mask;
    return true;
  }

 private:
  void describe() {
    const Identifier type = checked(H5Dget_type(dataset_), H5Tclose);
    const StoredType stored = stored_type(type);
    layout_.kind = stored.kind;
    layout_.bytes = stored.bytes;
    layout_.swapped = stored.swapped;
    const Identifier space = checked(H5Dget_space(dataset_), H5Sclose);
    layout_.shape = shape_of(space);
    const Identifier creation = checked(H5Dget_create_plist(dataset_), H5Pclose);
    if (H5Pget_external_count(creation) > 0 || H5Pget_layout(creation) == H5D_VIRTUAL)
      throw std::runtime_error("its elements are in other files");
    require_filters(creation);
    if (H5Pget_layout(creation) == H5D_CONTIGUOUS) {
      const haddr_t offset = H5Dget_offset(dataset_);
      if (offset != HADDR_UNDEF) layout_.offset = static_cast<std::int64_t>(offset);
    } else if (H5Pget_layout(creation) == H5D_CHUNKED) {
      std::vector<hsize_t> edges(layout_.shape.size());
      check(H5Pget_chunk(creation, static_cast<int>(edges.size()), edges.data()));
      layout_.chunk.assign(edges.begin(), edges.end());
      find_filters(creation);
      if (H5Pget_nfilters(creation) == 0) find_chunks(space);
    }
  }

  /// Determines whether this plug-in decompresses chunks itself. If chunks at the ends of a dataset are stored
  /// differently, the library does it.
  void find_filters(const Identifier& creation) {
    unsigned options = 0;
    check(H5Pget_chunk_opts(creation, &options));
    layout_.packed = options == 0;
    for (int k = 0; k < H5Pget_nfilters(creation); ++k) {
      std::size_t values = 0;
      const H5Z_filter_t filter =
          H5Pget_filter2(creation, static_cast<unsigned>(k), nullptr, &values, nullptr, 0, nullptr, nullptr);
      layout_.packed = layout_.packed && (filter == H5Z_FILTER_SHUFFLE || filter == H5Z_FILTER_DEFLATE);
      layout_.filters.push_back(filter == H5Z_FILTER_SHUFFLE ? Hdf5Layout::Filter::kShuffle
                                                             : Hdf5Layout::Filter::kDeflate);
    }
    layout_.packed = layout_.packed && std::ranges::count(layout_.filters, Hdf5Layout::Filter::kDeflate) <= 1;
  }

  /// Finds the positions of chunks if there are few; their addresses exclude the user block before HDF5's first byte.
  void find_chunks(const Identifier& space) {
    const Identifier file_creation = checked(H5Fget_create_plist(file_), H5Pclose);
    hsize_t before = 0, stored = 0;
    check(H5Pget_userblock(file_creation, &before));
    check(H5Dget_num_chunks(dataset_, space, &stored));
    std::int64_t chunks = 1, bytes = layout_.bytes;
    for (std::size_t d = 0; d < layout_.shape.size(); ++d) {
      chunks = std::min<std::int64_t>(chunks * ((layout_.shape[d] + layout_.chunk[d] - 1) / layout_.chunk[d]),
                                      std::numeric_limits<std::int32_t>::max());
      bytes *= layout_.chunk[d];
    }
    if (before != 0 || chunks > static_cast<std::int64_t>(kMostChunks)) return;
    layout_.chunk_offsets.assign(static_cast<std::size_t>(chunks), -1);
    std::vector<hsize_t> first(layout_.shape.size());
    for (hsize_t k = 0; k < stored; ++k) {
      unsigned skipped = 0;
      haddr_t offset = HADDR_UNDEF;
      hsize_t size = 0;
      check(H5Dget_chunk_info(dataset_, space, k, first.data(), &skipped, &offset, &size));
      if (offset == HADDR_UNDEF || size != static_cast<hsize_t>(bytes)) continue;
      if (first[0] >= static_cast<hsize_t>(layout_.shape[0])) continue;  // of an incomplete record
      std::int64_t number = 0;
      for (std::size_t d = 0; d < first.size(); ++d) {
        number = number * ((layout_.shape[d] + layout_.chunk[d] - 1) / layout_.chunk[d]) +
                 static_cast<std::int64_t>(first[d]) / layout_.chunk[d];
      }
      if (number < 0 || number >= chunks) throw std::runtime_error("its index of chunks is damaged");
      layout_.chunk_offsets[static_cast<std::size_t>(number)] = static_cast<std::int64_t>(offset);
    }
  }

  Identifier file_, dataset_;
};

class Plugin final : public Hdf5Plugin {
 public:
  Plugin() {
    // The variable would override the file access settings. Files being written have locks of our own.
    if (std::getenv("HDF5_USE_FILE_LOCKING") != nullptr) ::setenv("HDF5_USE_FILE_LOCKING", "FALSE", 1);
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  }

  [[nodiscard]] std::unique_ptr<const Hdf5Dataset> open(const std::string& file,
                                                        const std::string& dataset) const override {
    const std::scoped_lock lock(library());
    return std::make_unique<const Dataset>(file, dataset);
  }

  [[nodiscard]] std::vector<std::string> datasets(const std::string& file) const override {
    const std::scoped_lock lock(library());
    if (H5Fis_hdf5(file.c_str()) <= 0) return {};
    return names_in(checked(H5Fopen(file.c_str(), H5F_ACC_RDONLY, file_access()), H5Fclose));
  }

  std::int64_t create(const std::string& file, bool first, const std::string& dataset, char kind, int bytes,
                      std::span<const std::int64_t> shape) const override {
    const std::scoped_lock lock(library());
    const Identifier open = opened_for_writing(file, first);
    const Identifier links = new_links();
    const Identifier creation = new_dataset();
    check(H5Pset_layout(creation, H5D_CONTIGUOUS));
    const std::vector<hsize_t> extents = sizes(shape);
    const Identifier space =
        checked(shape.empty() ? H5Screate(H5S_SCALAR)
                              : H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr),
                H5Sclose);
    const Identifier type = written_type(kind, bytes);
    const Identifier made =
        checked(H5Dcreate2(open, dataset.c_str(), type, space, links, creation, H5P_DEFAULT), H5Dclose);
    check(H5Fflush(open, H5F_SCOPE_GLOBAL));
    const haddr_t offset = H5Dget_offset(made);
    if (offset != HADDR_UNDEF) return static_cast<std::int64_t>(offset);
    if (std::ranges::find(extents, hsize_t{0}) == extents.end())
      throw std::runtime_error("the library has not said where the elements are");
    return 0;
  }

  Hdf5Series create_series(const std::string& file, bool first, const std::string& dataset, char kind, int bytes,
                           std::span<const std::int64_t> shape, std::span<const std::int64_t> chunk) const override {
    const std::scoped_lock lock(library());
    Allocated allocated;
    {
      const Identifier open = opened_for_writing(file, first);
      const Identifier links = new_links();
      const Identifier creation = new_dataset();
      check(H5Pset_chunk(creation, static_cast<int>(chunk.size()), sizes(chunk).data()));
      const std::vector<hsize_t> extents = sizes(shape);
      std::vector<hsize_t> most = extents;
      most.front() = H5S_UNLIMITED;
      const Identifier space =
          checked(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), most.data()), H5Sclose);
      const Identifier type = written_type(kind, bytes);
      // A run that resumes from a checkpoint before the series began finds that of the earlier run.
      if (!first && has_links(open, dataset)) check(H5Ldelete(open, dataset.c_str(), H5P_DEFAULT));
      const Identifier made =
          checked(H5Dcreate2(open, dataset.c_str(), type, space, links, creation, H5P_DEFAULT), H5Dclose);
      check(H5Fflush(open, H5F_SCOPE_GLOBAL));
      allocated = allocated_in(made, 0);
    }
    return located(file, std::move(allocated));
  }

  Hdf5Series resize_series(const std::string& file, const std::string& dataset, std::int64_t records, std::int64_t room,
                           std::int64_t from) const override {
    const std::scoped_lock lock(library());
    Allocated allocated;
    {
      const Identifier open = opened_for_writing(file, false);
      const Identifier grown = checked(H5Dopen2(open, dataset.c_str(), H5P_DEFAULT), H5Dclose);
      for (const std::int64_t extent : {records, room}) {
        if (extent < 0) continue;
        std::vector<hsize_t> extents = sizes(shape_of(checked(H5Dget_space(grown), H5Sclose)));
        extents.at(0) = static_cast<hsize_t>(extent);
        check(H5Dset_extent(grown, extents.data()));
      }
      check(H5Fflush(open, H5F_SCOPE_GLOBAL));
      allocated = allocated_in(grown, from);
    }
    return located(file, std::move(allocated));
  }

 private:
  static Identifier opened_for_writing(const std::string& file, bool first) {
    constexpr hsize_t kLarge = 65536, kPage = 4096;
    const Identifier access = file_access();
    check(H5Pset_alignment(access, kLarge, kPage));
    check(H5Pset_libver_bounds(access, H5F_LIBVER_EARLIEST, H5F_LIBVER_LATEST));  // headers without checksums
    return checked(first ? H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access)
                         : H5Fopen(file.c_str(), H5F_ACC_RDWR, access),
                   H5Fclose);
  }
  static Identifier new_links() {
    Identifier links = checked(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
    check(H5Pset_create_intermediate_group(links, 1));
    check(H5Pset_char_encoding(links, H5T_CSET_UTF8));
    return links;
  }
  /// Space is allocated at once and never filled.
  static Identifier new_dataset() {
    Identifier creation = checked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    check(H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY));
    check(H5Pset_fill_time(creation, H5D_FILL_TIME_NEVER));
    check(H5Pset_obj_track_times(creation, false));  // for reproducible bytes
    return creation;
  }

  /// A series as the library knows it.
  struct Allocated {
    std::vector<std::int64_t> chunk_offsets;
    Extents shape;
    std::int64_t header = 0;  ///< offset of the dataset's header in the file
  };

  static Allocated allocated_in(const Identifier& dataset, std::int64_t from) {
    Allocated result;
    result.shape = shape_of(checked(H5Dget_space(dataset), H5Sclose));
    const Identifier creation = checked(H5Dget_create_plist(dataset), H5Pclose);
    std::vector<hsize_t> chunk(result.shape.size());
    if (H5Pget_layout(creation) != H5D_CHUNKED) throw std::runtime_error("the dataset is no series");
    check(H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()));
    H5O_info_t info;
    check(H5Oget_info(dataset, &info));
    result.header = static_cast<std::int64_t>(info.addr);
    std::vector<hsize_t> first(chunk.size(), 0);
    first[0] = static_cast<hsize_t>(from);
    for (const std::int64_t extent : result.shape) {
      if (extent == 0) return result;
    }
    while (first[0] < static_cast<hsize_t>(result.shape[0])) {
      unsigned mask = 0;
      haddr_t offset = HADDR_UNDEF;
      hsize_t size = 0;
      check(H5Dget_chunk_info_by_coord(dataset, first.data(), &mask, &offset, &size));
      if (offset == HADDR_UNDEF) throw std::runtime_error("the library has not said where a chunk is");
      result.chunk_offsets.push_back(static_cast<std::int64_t>(offset));
      std::size_t d = first.size() - 1;
      for (; d > 0; --d) {
        first[d] += chunk[d];
        if (first[d] < static_cast<hsize_t>(result.shape[d])) break;
        first[d] = 0;
      }
      if (d == 0) first[0] += chunk[0];
    }
    return result;
  }

  /// Finds the first extent in the dataset's header, which is that of a dataspace of version 1: version, rank, flags
  /// (there are largest extents), 5 zeros, extents. The file is closed.
  static Hdf5Series located(const std::string& file, Allocated allocated) {
    constexpr std::int64_t kMostHeader = 4096;
    std::string mark{1, static_cast<char>(allocated.shape.size()), 1, 0, 0, 0, 0, 0};
    for (const std::int64_t extent : allocated.shape)
      mark.append(reinterpret_cast<const char*>(&extent), sizeof extent);
    std::string header(static_cast<std::size_t>(kMostHeader), '\0');
    std::ifstream stream(file, std::ios::binary);
    stream.seekg(allocated.header);
    stream.read(header.data(), kMostHeader);
    header.resize(static_cast<std::size_t>(stream.gcount()));
    const std::size_t at = header.find(mark);
    if (at == std::string::npos) throw std::runtime_error("the library has not said where the number of records is");
    return {std::move(allocated.chunk_offsets), allocated.header + static_cast<std::int64_t>(at) + 8};
  }
};

}  // namespace

}  // namespace tdsl::rt::hdf5

namespace tdsl::rt {

const Hdf5Plugin* tdsl_hdf5_plugin_3() {
  static const hdf5::Plugin& plugin = *new hdf5::Plugin();
  return &plugin;
}

}  // namespace tdsl::rt

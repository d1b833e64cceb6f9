#include "runtime/io/input_file.h"

#include "runtime/check.h"
#include "runtime/io/entries/csv.h"
#include "runtime/io/entries/frostt.h"
#include "runtime/io/entries/matrix_market.h"
#include "runtime/io/entries/scipy_npz.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/io/tensor/zarr.h"

namespace tdsl::rt {

namespace {

std::variant<std::unique_ptr<const TensorReader>, std::unique_ptr<EntryFile>> open_kind(const std::string& path) {
  const FileKind kind = readable_kind(path);
  if (kind == FileKind::kHdf5) return std::make_unique<const Hdf5Reader>(path);
  if (kind == FileKind::kZarr) return std::make_unique<const ZarrReader>(path);
  const std::optional<CsvName> csv = csv_name(path);
  OpenFile file(csv ? csv->file : path);
  const std::optional<std::string> content = other_content(file, kind);
  if (kind == FileKind::kNpy && !is_named_npy(path) && !begins_as_npy(file)) {
    throw RunError(
        "`" + path + "` is " + content.value_or("not a .npy file") +
        ", and its extension names no other kind: .mtx, .tns, .npz, .csv and .h5, in lower case, do [bad-file]");
  }
  if (content)
    throw RunError("`" + path + "` is " + *content + ", not the " + kind_name(kind) +
                   " file that its name says [bad-file]");
  switch (kind) {
    case FileKind::kMatrixMarket: return std::make_unique<MatrixMarketFile>(std::move(file));
    case FileKind::kFrostt: return std::make_unique<FrosttFile>(std::move(file));
    case FileKind::kScipyNpz: return std::make_unique<ScipyFile>(std::move(file));
    case FileKind::kCsv: return std::make_unique<CsvFile>(std::move(file), csv->column);
    case FileKind::kZarr:
    case FileKind::kHdf5:
    case FileKind::kNpy: break;
  }
  return std::make_unique<const NpyReader>(std::move(file));
}

}  // namespace

InputFile::InputFile(const std::string& path) : file_(open_kind(path)) {}

const TensorReader* InputFile::dense() const {
  const auto* const tensor = std::get_if<std::unique_ptr<const TensorReader>>(&file_);
  return tensor == nullptr ? nullptr : tensor->get();
}

bool InputFile::in_order() const {
  if (const auto* const npy = dynamic_cast<const NpyReader*>(dense())) return !npy->header().fortran;
  const auto* const hdf5 = dynamic_cast<const Hdf5Reader*>(dense());
  return hdf5 != nullptr && hdf5->contiguous();
}

const EntryFile* InputFile::entries() const {
  const auto* const file = std::get_if<std::unique_ptr<EntryFile>>(&file_);
  return file == nullptr ? nullptr : file->get();
}

const std::string& InputFile::path() const { return dense() != nullptr ? dense()->path() : entries()->path(); }

const FileIdentity& InputFile::identity() const {
  return dense() != nullptr ? dense()->identity() : entries()->identity();
}

std::optional<Extents> InputFile::shape() const {
  if (dense() != nullptr) return dense()->shape();
  return entries()->shape();
}

void InputFile::require_type(ElementType to, const std::string& name) const {
  if (dense() != nullptr) {
    dense()->require_widening(to, name);
  } else {
    entries()->require_type(to, name);
  }
}

InputFile open_input(const std::string& name, const std::string& path, ElementType type) {
  InputFile file = [&] {
    try {
      return InputFile(path);
    } catch (const RunError& error) { throw RunError("input " + name + ": " + error.what(), error.code()); }
  }();
  file.require_type(type, name);
  return file;
}

}  // namespace tdsl::rt

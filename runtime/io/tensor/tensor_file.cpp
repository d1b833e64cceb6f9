#include "runtime/io/tensor/tensor_file.h"

#include "runtime/io/file_kind.h"
#include "runtime/io/npy/npy.h"
#include "runtime/io/tensor/hdf5.h"
#include "runtime/io/tensor/zarr.h"

namespace tdsl::rt {

std::shared_ptr<TensorWriter> create_tensor(const std::string& path, ElementType type, ExtentSpan shape,
                                            Unfinished unfinished) {
  const FileKind kind = writable_kind(path);
  if (kind == FileKind::kHdf5) return Hdf5Writer::create(path, type, shape);
  if (kind == FileKind::kZarr) return ZarrWriter::create(path, type, shape);
  return std::make_shared<NpyWriter>(NpyWriter::create(path, type, shape, unfinished));
}

std::shared_ptr<TensorWriter> open_tensor(std::string_view token) {
  if (std::shared_ptr<Hdf5Writer> hdf5 = Hdf5Writer::open(token)) return hdf5;
  if (std::shared_ptr<ZarrWriter> zarr = ZarrWriter::open(token)) return zarr;
  return std::make_shared<NpyWriter>(NpyWriter::open(token));
}

}  // namespace tdsl::rt

#include "runtime/engine/mpi/mpi_box.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

void check_mpi(int code, const char* call) {
  if (code == MPI_SUCCESS) { return; }
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  throw RunError(std::string(call) + " failed: " + std::string(text.data(), static_cast<std::size_t>(length)));
}

namespace {

struct Dimension {
  std::int64_t extent;
  std::int64_t stride_bytes;
};

/// Replaces `type` by `extent` copies of it, `stride_bytes` apart.
void repeat_type(MPI_Datatype& type, std::int64_t extent, std::int64_t stride_bytes) {
  MPI_Datatype longer = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_create_hvector(static_cast<int>(extent), 1, static_cast<MPI_Aint>(stride_bytes), type, &longer),
            "MPI_Type_create_hvector");
  if (type != MPI_BYTE) { MPI_Type_free(&type); }
  type = longer;
}

}  // namespace

BoxType::BoxType(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides,
                 std::int64_t element_bytes) {
  std::int64_t bytes = element_bytes;
  std::int64_t run = element_bytes;  // contiguous bytes at the innermost level
  std::vector<Dimension> outer;      // the other dimensions, innermost first
  for (std::size_t d = extents.size(); d-- > 0;) {
    bytes *= extents[d];
    const std::int64_t stride_bytes = strides[d] * element_bytes;
    if (extents[d] == 1) { continue; }
    if (outer.empty() && stride_bytes == run) {
      run *= extents[d];
    } else if (!outer.empty() && stride_bytes == outer.back().extent * outer.back().stride_bytes) {
      outer.back().extent *= extents[d];
    } else {
      outer.push_back({extents[d], stride_bytes});
    }
  }
  TDSL_CHECK(bytes <= std::numeric_limits<int>::max(), "a box in one message fits into an int");
  if (bytes == 0 || outer.empty()) {
    count_ = static_cast<int>(bytes);
    return;
  }
  count_ = 1;
  MPI_Datatype type = MPI_DATATYPE_NULL;
  check_mpi(MPI_Type_contiguous(static_cast<int>(run), MPI_BYTE, &type), "MPI_Type_contiguous");
  for (const Dimension& dimension : outer) { repeat_type(type, dimension.extent, dimension.stride_bytes); }
  type_ = type;
  check_mpi(MPI_Type_commit(&type_), "MPI_Type_commit");
}

BoxType::~BoxType() {
  if (type_ != MPI_BYTE) { MPI_Type_free(&type_); }
}

namespace {

void cut_into(BoxPiece piece, std::int64_t element_bytes, std::int64_t limit, std::vector<BoxPiece>& pieces) {
  std::int64_t bytes = element_bytes;
  std::size_t cut = piece.extents.size();
  for (std::size_t d = piece.extents.size(); d-- > 0;) {
    bytes *= piece.extents[d];
    cut = piece.extents[d] > 1 ? d : cut;  // finally the outermost dimension that can be cut
  }
  if (bytes <= limit || cut == piece.extents.size()) {
    pieces.push_back(std::move(piece));
    return;
  }
  const std::int64_t extent = piece.extents[cut];
  const std::int64_t slice = bytes / extent;
  const std::int64_t step = slice >= limit ? 1 : limit / slice;
  for (std::int64_t start = 0; start < extent; start += step) {
    BoxPiece part = piece;
    part.offset[cut] += start;
    part.extents[cut] = std::min(step, extent - start);
    cut_into(std::move(part), element_bytes, limit, pieces);
  }
}

}  // namespace

std::vector<BoxPiece> cut_box(std::span<const std::int64_t> extents, std::int64_t element_bytes, std::int64_t limit) {
  BoxPiece whole{std::vector<std::int64_t>(extents.size(), 0), {extents.begin(), extents.end()}};
  std::vector<BoxPiece> pieces;
  cut_into(std::move(whole), element_bytes, limit, pieces);
  return pieces;
}

}  // namespace tdsl::rt

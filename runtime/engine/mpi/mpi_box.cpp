#include "runtime/engine/mpi/mpi_box.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/check.h"
#include "runtime/engine/mpi/mpi_world.h"

namespace tdsl::rt {

namespace {

struct Dimension {
  std::int64_t extent;
  std::int64_t stride_bytes;
};

/// Replaces `type` by `extent` copies of it, `stride_bytes` apart.
void repeat_type(MpiHandle& type, std::int64_t extent, std::int64_t stride_bytes) {
  MpiHandle longer = 0;
  check_mpi(mpi().type_hvector(extent, stride_bytes, type, &longer), "MPI_Type_create_hvector");
  mpi().type_free(&type);
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
  MpiHandle type = 0;
  check_mpi(mpi().type_contiguous(run, type_, &type), "MPI_Type_contiguous");
  for (const Dimension& dimension : outer) { repeat_type(type, dimension.extent, dimension.stride_bytes); }
  type_ = type;
  check_mpi(mpi().type_commit(&type_), "MPI_Type_commit");
}

BoxType::~BoxType() {
  if (type_ != mpi().byte_type) mpi().type_free(&type_);
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

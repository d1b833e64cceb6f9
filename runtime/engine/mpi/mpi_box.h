#pragma once

#include <cstdint>
#include <span>

#include "runtime/engine/mpi/mpi_table.h"

/// Descriptions of boxes in memory for MPI; included only by engine/mpi_*.cpp.
namespace tdsl::rt {

/// An MPI datatype for sending or receiving one box, freed with this object. A contiguous box is n x MPI_BYTE and
/// creates no new type.
class BoxType {
 public:
  /// `extents` and `strides` (in elements) have one entry per dimension; the box is at most 2^31 - 1 bytes.
  BoxType(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides, std::int64_t element_bytes);
  ~BoxType();
  BoxType(const BoxType&) = delete;
  BoxType& operator=(const BoxType&) = delete;

  [[nodiscard]] MpiHandle type() const { return type_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  MpiHandle type_ = mpi().byte_type;
  int count_ = 0;
};

}  // namespace tdsl::rt

#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

/// Descriptions of boxes in memory for MPI; included only by engine/mpi_*.cpp.
namespace tdsl::rt {

/// Unless `code` is MPI_SUCCESS, throws RunError with MPI's error text.
void check_mpi(int code, const char* call);

/// An MPI datatype for sending or receiving one box, freed with this object. A contiguous box is n x MPI_BYTE and
/// creates no new type.
class BoxType {
 public:
  /// `extents` and `strides` (in elements) have one entry per dimension; the box is at most 2^31 - 1 bytes.
  BoxType(std::span<const std::int64_t> extents, std::span<const std::int64_t> strides, std::int64_t element_bytes);
  ~BoxType();
  BoxType(const BoxType&) = delete;
  BoxType& operator=(const BoxType&) = delete;

  [[nodiscard]] MPI_Datatype type() const { return type_; }
  [[nodiscard]] int count() const { return count_; }

 private:
  MPI_Datatype type_ = MPI_BYTE;
  int count_ = 0;
};

}  // namespace tdsl::rt

#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

/// The part of the MPI wrapper that describes boxes in memory; only engine/mpi_*.cpp include it.
namespace tdsl::rt {

/// Throws RunError with MPI's text for the error unless `code` is MPI_SUCCESS.
void check_mpi(int code, const char* call);

/// An MPI datatype for sending or receiving one box, freed with this object. A box that is contiguous in memory is
/// (n x MPI_BYTE) and makes no new type.
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

#pragma once

#include <hdf5.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace tdsl::rt::hdf5 {

/// An open object of the library, closed on destruction.
class Identifier {
 public:
  using Close = herr_t (*)(hid_t);

  Identifier() = default;
  Identifier(hid_t id, Close close) : id_(id), close_(close) {}
  Identifier(Identifier&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Identifier& operator=(Identifier&& other) noexcept {
    std::swap(id_, other.id_);
    std::swap(close_, other.close_);
    return *this;
  }
  Identifier(const Identifier&) = delete;
  Identifier& operator=(const Identifier&) = delete;
  ~Identifier() {
    if (id_ >= 0) close_(id_);
  }

  explicit operator bool() const { return id_ >= 0; }
  operator hid_t() const { return id_; }

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Throws the library's innermost error message for its last call.
[[noreturn]] void fail();
inline void check(herr_t result) {
  if (result < 0) fail();
}
[[nodiscard]] inline Identifier checked(hid_t id, Identifier::Close close) {
  if (id < 0) fail();
  return {id, close};
}

}  // namespace tdsl::rt::hdf5

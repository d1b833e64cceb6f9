#include "runtime/library/array_messages.h"

#include <cstring>

#include "runtime/check.h"
#include "runtime/kernels/copy.h"

namespace tdsl::rt {

namespace {

struct alignas(64) ArrayHead {
  std::size_t array;
  Box box;
};

}  // namespace

std::vector<std::byte> pack_array(std::size_t array, const Operand& from, const Box& box, Index element_bytes) {
  const ArrayHead head{array, box};
  std::vector<std::byte> message(sizeof head + static_cast<std::size_t>(box.volume() * element_bytes));
  std::memcpy(message.data(), &head, sizeof head);
  copy_box(from, row_major(message.data() + sizeof head, box), box, element_bytes);
  return message;
}

ArrayMessage unpack_array(std::vector<std::byte>& message) {
  TDSL_CHECK(message.size() >= sizeof(ArrayHead), "a message made by pack_array");
  ArrayHead head;
  std::memcpy(static_cast<void*>(&head), message.data(), sizeof head);
  return {head.array, row_major(message.data() + sizeof head, head.box)};
}

}  // namespace tdsl::rt

#include "runtime/library/arrays.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <sstream>

#include "runtime/check.h"
#include "runtime/kernels/copy.h"
#include "runtime/library/boxes.h"
#include "runtime/message_id.h"
#include "runtime/shapes.h"

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

namespace {

/// A rank's description of its arrays for the others: one line each, and one per box.
std::string described(const std::vector<Array>& arrays, bool with_boxes) {
  std::string text;
  const auto add = [&text](std::int64_t number) {
    text += ' ';
    text += std::to_string(number);
  };
  for (const Array& array : arrays) {
    text.append(array.name).append(" ").append(array.ours ? "?" : element_name(array.type));
    if (array.sparse) text += " sparse";
    add(static_cast<std::int64_t>(array.shape.size()));
    for (const std::int64_t extent : array.shape) add(extent);
    text += '\n';
    if (!with_boxes) continue;
    text += std::to_string(array.boxes.size()) + '\n';
    for (const Operand& box : array.boxes) {
      for (int d = 0; d < box.box.rank; ++d) {
        add(box.box[d].lo);
        add(box.box[d].hi);
      }
      text += '\n';
    }
  }
  return text;
}

/// Parses the boxes from the description by another rank with the same arrays.
std::vector<std::vector<Box>> boxes_in(const std::string& text, const std::vector<Array>& arrays) {
  std::istringstream lines(text);
  std::vector<std::vector<Box>> all;
  std::string line;
  for (const Array& array : arrays) {
    std::getline(lines, line);
    std::size_t count = 0;
    lines >> count;
    std::vector<Box>& boxes = all.emplace_back(count);
    for (Box& box : boxes) {
      box.rank = static_cast<int>(array.shape.size());
      for (int d = 0; d < box.rank; ++d) lines >> box[d].lo >> box[d].hi;
    }
    std::getline(lines, line);  // skips the rest of the line
    if (count > 0 && array.shape.empty()) {
      for (std::size_t k = 0; k < count; ++k) std::getline(lines, line);
    }
  }
  return all;
}

std::vector<Box> boxes_of(const Array& array) {
  std::vector<Box> boxes;
  for (const Operand& box : array.boxes) boxes.push_back(box.box);
  return boxes;
}

/// A writer into the caller's boxes.
class ArrayWriterBase : public TensorWriter {
 public:
  [[nodiscard]] std::string token() const override { return {}; }
  void sync() const override {}
  void commit() override {}
  void release() noexcept override {}
};

}  // namespace

class ArrayWriter final : public ArrayWriterBase {
 public:
  ArrayWriter(Arrays& arrays, std::size_t output) : arrays_(arrays), output_(output) {}
  [[nodiscard]] ElementType type() const override { return array().type; }
  [[nodiscard]] const Extents& shape() const override { return array().shape; }

 private:
  [[nodiscard]] const Array& array() const { return arrays_.outputs_.mine[output_]; }
  void write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const override;

  Arrays& arrays_;
  std::size_t output_;
};

void ArrayWriter::write(ElementType from, ExtentSpan lo, ExtentSpan hi, const void* src, ExtentSpan strides) const {
  TDSL_CHECK(from == type(), "an array of the written type");
  const auto bytes = static_cast<Index>(element_size(from));
  Operand source;
  source.data = static_cast<std::byte*>(const_cast<void*>(src));  // only read
  source.box.rank = static_cast<int>(lo.size());
  for (std::size_t d = 0; d < lo.size(); ++d) {
    source.box.dim[d] = {lo[d], hi[d]};
    source.stride[d] = strides[d];
  }
  for (const Operand& mine : array().boxes) copy_box(source, mine, plan::intersect(source.box, mine.box), bytes);
  const auto& everyones = arrays_.outputs_.boxes[output_];
  for (int rank = 0; rank < arrays_.ranks_; ++rank) {
    if (rank == arrays_.rank_) continue;
    for (const Box& theirs : everyones[static_cast<std::size_t>(rank)]) {
      for (const Box& part : cut(plan::intersect(source.box, theirs), kArrayMessageBytes / bytes)) {
        std::vector<std::byte> message = pack_array(output_, source, part, bytes);
        const std::scoped_lock lock(arrays_.mutex_);
        arrays_.outgoing_.emplace_back(rank, std::move(message));
      }
    }
  }
}

std::size_t Arrays::Side::find(const std::string& name) const {
  return static_cast<std::size_t>(std::ranges::find(mine, name, &Array::name) - mine.begin());
}

/// Compares all ranks' boxes; throws the first rank's mistake on all ranks.
void Arrays::compare(World& world, Side& side, std::string mistake) {
  const auto fail = [](const std::string& text) { throw RunError(with_id(text, "wrong-array"), ExitCode::kUsage); };
  side.boxes.assign(side.mine.size(), {});
  if (ranks_ == 1) {
    if (!mistake.empty()) fail(mistake);
    heads_ += described(side.mine, false) + '\n';
    for (std::size_t k = 0; k < side.mine.size(); ++k) side.boxes[k] = {boxes_of(side.mine[k])};
    return;
  }
  for (const std::string& text : world.access()->all_gather(mistake)) {
    if (!text.empty()) fail(text);
  }
  const std::vector<std::string> heads = world.access()->all_gather(described(side.mine, false));
  for (std::size_t rank = 1; rank < heads.size(); ++rank) {
    if (heads[rank] == heads[0]) continue;
    fail("rank " + std::to_string(rank) +
         " gives other arrays than rank 0, or the same ones in another order, or of other types or shapes");
  }
  heads_ += heads.front() + '\n';
  for (const std::string& text : world.access()->all_gather(described(side.mine, true))) {
    std::vector<std::vector<Box>> boxes = boxes_in(text, side.mine);
    for (std::size_t k = 0; k < boxes.size(); ++k) side.boxes[k].push_back(std::move(boxes[k]));
  }
}

Arrays::Arrays(World& world, std::vector<Array> inputs, std::vector<Array> outputs, std::string mistake)
    : rank_(world.rank()),
      ranks_(world.size()),
      inputs_{std::move(inputs), {}},
      outputs_{std::move(outputs), {}},
      staged_(inputs_.mine.size()),
      memory_(outputs_.mine.size()),
      entries_(outputs_.mine.size()) {
  compare(world, inputs_, std::move(mistake));
  compare(world, outputs_, "");
  for (std::size_t k = 0; k < inputs_.mine.size(); ++k) {
    std::vector<Box> all;
    for (const std::vector<Box>& boxes : inputs_.boxes[k]) all.insert(all.end(), boxes.begin(), boxes.end());
    const Array& array = inputs_.mine[k];
    const std::vector<Box> lacking = outside(whole_box(array.shape), all);
    if (lacking.empty()) continue;
    std::vector<Index> first;
    for (int d = 0; d < lacking.front().rank; ++d) first.push_back(lacking.front()[d].lo);
    throw RunError("input " + array.name + ": no rank gives the element " + shape_text(first) + " [wrong-array]",
                   ExitCode::kUsage);
  }
}

void Arrays::allocate(std::size_t output, ElementType type, ExtentSpan shape) {
  Array& array = outputs_.mine[output];
  array.type = type;
  array.shape.assign(shape.begin(), shape.end());
  for (int rank = 0; rank < ranks_; ++rank) {
    outputs_.boxes[output][static_cast<std::size_t>(rank)] = {share_of_rows(shape, rank, ranks_)};
  }
  const std::vector<Box>& mine = outputs_.boxes[output][static_cast<std::size_t>(rank_)];
  const auto bytes = static_cast<std::size_t>(mine.front().volume()) * element_size(type);
  constexpr std::size_t kCacheLine = 64;
  memory_[output].reset(
      static_cast<std::byte*>(std::aligned_alloc(kCacheLine, (bytes + kCacheLine) / kCacheLine * kCacheLine)));
  if (memory_[output] == nullptr) throw std::bad_alloc();
  array.boxes = {row_major(memory_[output].get(), mine.front())};
}

std::shared_ptr<TensorWriter> Arrays::writer(const std::string& name, ElementType type, ExtentSpan shape) {
  const std::size_t output = outputs_.find(name);
  if (output == outputs_.mine.size()) return nullptr;
  const Array& array = outputs_.mine[output];
  if (array.ours) {
    allocate(output, type, shape);
  } else if (array.type != type) {
    throw RunError("output " + name + " is " + std::string(element_name(type)) + ", but the array is " +
                   std::string(element_name(array.type)) + " [wrong-array]");
  } else if (!std::ranges::equal(array.shape, shape)) {
    throw RunError("output " + name + " has shape " + shape_text({shape.begin(), shape.end()}) +
                   ", but the array has " + shape_text(array.shape) + " [wrong-array]");
  }
  return std::make_shared<ArrayWriter>(*this, output);
}

void Arrays::deliver(Engine& engine) {
  const auto next = [this](int& target, std::vector<std::byte>& bytes) {
    if (outgoing_.empty()) return false;
    std::tie(target, bytes) = std::move(outgoing_.back());
    outgoing_.pop_back();
    return true;
  };
  for (auto& source : engine.exchange(next)) {
    for (std::vector<std::byte>& bytes : source) {
      const ArrayMessage message = unpack_array(bytes);
      const Array& array = outputs_.mine[message.array];
      for (const Operand& mine : array.boxes) {
        copy_box(message.where, mine, plan::intersect(message.where.box, mine.box),
                 static_cast<Index>(element_size(array.type)));
      }
      bytes = {};
    }
  }
}

namespace {

/// True if `given` is the array, in any memory.
bool is_alike(const Array& array, const tdsl_array& given) {
  if (given.name == nullptr || array.name != given.name || array.sparse || array.ours != (given.boxes == nullptr))
    return false;
  if (array.ours) return true;
  if (array.boxes.size() != 1 || given.box_count != 1 || given.type != static_cast<int>(array.type) ||
      given.dimensions != static_cast<int>(array.shape.size()))
    return false;
  const Operand& mine = array.boxes.front();
  const tdsl_box& box = given.boxes[0];
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    if (given.shape[d] != array.shape[d] || box.lo[d] != mine.box.dim[d].lo || box.hi[d] != mine.box.dim[d].hi ||
        box.stride[d] != mine.stride[d])
      return false;
  }
  return box.data != nullptr || mine.box.empty();
}

}  // namespace

bool Arrays::alike(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs) const {
  return std::ranges::equal(inputs_.mine, inputs, is_alike) && std::ranges::equal(outputs_.mine, outputs, is_alike);
}

void Arrays::point_to(std::span<const tdsl_array> inputs, std::span<const tdsl_array> outputs) {
  for (std::size_t k = 0; k < inputs.size(); ++k)
    inputs_.mine[k].boxes.front().data = static_cast<std::byte*>(inputs[k].boxes[0].data);
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    Array& array = outputs_.mine[k];
    if (!array.ours) {
      array.boxes.front().data = static_cast<std::byte*>(outputs[k].boxes[0].data);
    } else if (!array.boxes.empty()) {
      allocate(k, array.type, Extents(array.shape));
    }
  }
}

void Arrays::note(const std::string& name, ElementType type, const plan::Distribution& where) {
  Placed placed;
  placed.type = type;
  for (const plan::Tiling& tiling : where.tilings()) placed.shape.push_back(tiling.extent());
  where.for_each_owned(rank_, [&](const plan::Coord& tile) { placed.boxes.push_back(where.box(tile)); });
  placed.boxes = united(std::move(placed.boxes));
  placed_.emplace_back(name, std::move(placed));
}

const Arrays::Placed* Arrays::placed(const std::string& name) const {
  const auto found = std::ranges::find(placed_, name, &std::pair<std::string, Placed>::first);
  return found == placed_.end() ? nullptr : &found->second;
}

}  // namespace tdsl::rt

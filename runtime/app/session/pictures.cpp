#include "runtime/app/session/pictures.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/app/report/trace_file.h"
#include "runtime/app/session/session_impl.h"
#include "runtime/io/text_file.h"
#include "runtime/kernels/scalar_math.h"
#include "runtime/kernels/stored.h"
#include "runtime/sparse/elements.h"

namespace tdsl::rt {

namespace {

constexpr std::string_view kPictureOption = "--picture";

/// Of complex numbers, the absolute value.
template <class T>
double shown(T value) {
  if constexpr (kIsComplex<T>) {
    return static_cast<double>(scalar::abs(value));
  } else {
    return static_cast<double>(value);
  }
}

/// The elements of a box as they are shown, row by row.
template <class T>
void append_shown(const Operand& in, std::size_t d, const T* at, std::vector<double>& to) {
  if (d == static_cast<std::size_t>(in.box.rank)) {
    to.push_back(shown(*at));
    return;
  }
  for (Index k = 0; k < in.box.dim[d].size(); ++k) append_shown(in, d + 1, at + k * in.stride[d], to);
}

template <class T>
void draw_stored(const TaskArgs& args, Pixels& pixels) {
  const Box& box = args.inputs[0].box;
  Pixels mine(pixels.source());
  sparse::Elements<T>(stored_parts(args, 0)).each(box[0], [&](std::span<const Index> at, T value) {
    for (int d = 1; d < box.rank; ++d) {
      if (at[plan::idx(d)] < box[d].lo || at[plan::idx(d)] >= box[d].hi) return;
    }
    mine.add_stored(at, shown(value));
  });
  pixels.add(mine);
}

template <class T>
void draw_dense(const Operand& in, Pixels& pixels) {
  const auto rank = static_cast<std::size_t>(in.box.rank);
  std::array<Index, plan::kMaxRank> lo{};
  std::array<Index, plan::kMaxRank> hi{};
  for (std::size_t d = 0; d < rank; ++d) {
    lo[d] = in.box.dim[d].lo;
    hi[d] = in.box.dim[d].hi;
  }
  if constexpr (kIsComplex<T> || kIsHalf<T>) {
    std::vector<double> sizes;
    append_shown(in, 0, reinterpret_cast<const T*>(in.data), sizes);
    std::array<Index, plan::kMaxRank> strides{};
    Index step = 1;
    for (std::size_t d = rank; d-- > 0; step *= hi[d] - lo[d]) strides[d] = step;
    return pixels.add_box(std::span<const Index>(lo).first(rank), std::span<const Index>(hi).first(rank),
                          static_cast<const double*>(sizes.data()), std::span<const Index>(strides).first(rank));
  } else {
    pixels.add_box(std::span<const Index>(lo).first(rank), std::span<const Index>(hi).first(rank),
                   reinterpret_cast<const T*>(in.data), std::span<const Index>(in.stride).first(rank));
  }
}

}  // namespace

Kernel Pictures::kernel(std::span<const PictureRequest> requests, std::string_view name,
                        const record::TensorState& value, const SourceLine& line) {
  std::vector<std::shared_ptr<Pixels>> all;
  for (const PictureRequest& request : requests) {
    if (request.name != name) continue;
    PictureSource source{std::string(name), value.type, value.desc.shape, {}, value.desc.sized()};
    try {
      source.slice = within(*request.slice, source.shape, kPictureOption);
    } catch (const RunError& error) { throw RunError(line, error.what(), error.code()); }
    all.push_back(std::make_shared<Pixels>(std::move(source)));
    drawn_.push_back({request, all.back()});
  }
  if (all.empty()) return nullptr;
  return [all = std::move(all), type = value.type](const TaskArgs& args) {
    visit_element_type(type, [&](auto tag) {
      using T = typename decltype(tag)::type;
      for (const std::shared_ptr<Pixels>& pixels : all)
        args.inputs[0].data == nullptr ? draw_stored<T>(args, *pixels) : draw_dense<T>(args.inputs[0], *pixels);
    });
  };
}

void Pictures::combine(World& world) {
  if (drawn_.empty() || world.size() == 1) return;
  world.access()->barrier();  // no messages of engines are in flight
  for (int step = 1; step < world.size(); step *= 2) {
    if (world.rank() % (2 * step) != 0) {
      std::vector<std::byte> bytes;
      for (const Drawn& drawn : drawn_) {
        const std::vector<std::byte> part = drawn.pixels->bytes();
        bytes.insert(bytes.end(), part.begin(), part.end());
      }
      send_message(world, world.rank() - step, kPicturePixels, bytes);
      break;
    }
    if (world.rank() + step >= world.size()) continue;
    // From any of the senders: the order has no effect.
    const ControlMessage message = await_message(world, kPicturePixels);
    std::span<const std::byte> rest = message.bytes;
    for (const Drawn& drawn : drawn_) drawn.pixels->add_bytes(rest);
  }
  world.access()->barrier();
}

std::string Pictures::write() const {
  std::string text;
  for (const auto& [request, pixels] : drawn_) {
    if (!request.file) continue;
    write_text_file(*request.file, is_svg(*request.file, kPictureOption) ? svg_of(*pixels) : png_of(*pixels));
    text += *request.file + ": " + caption_of(*pixels) + "\n";
  }
  return text;
}

std::vector<ShownPicture> Pictures::shown() const {
  std::vector<ShownPicture> list;
  for (const auto& [request, pixels] : drawn_) {
    if (!request.file) list.push_back({request.name, caption_of(*pixels), svg_of(*pixels)});
  }
  return list;
}

void Session::Impl::draw(std::string_view name, const TensorHandle& value, record::Place place) {
  if (std::ranges::none_of(setup.options.pictures, [&](const PictureRequest& p) { return p.name == name; })) return;
  if (sink != nullptr) {
    Kernel kernel = sink->pictures().kernel(setup.options.pictures, name, value.state(), at(place.line));
    keep(sink->dry_run() ? nullptr : std::move(kernel));
  }
  recorder.store(name, value, place);
  if (checkpoints != nullptr) written.push_back(value);
}

}  // namespace tdsl::rt

#include "runtime/library/described_arrays.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "runtime/app/options/instructions.h"
#include "runtime/kernels/copy.h"
#include "runtime/message_id.h"

namespace tdsl::rt {

namespace {

[[noreturn]] void misused(const std::string& text, std::string_view id = "wrong-array") {
  throw RunError(with_id(text, id), ExitCode::kUsage);
}

Operand read_box(const tdsl_box& given, const Array& array, const std::string& what, bool with_data) {
  Operand box;
  box.box.rank = static_cast<int>(array.shape.size());
  for (std::size_t d = 0; d < array.shape.size(); ++d) {
    if (given.lo[d] < 0 || given.hi[d] > array.shape[d] || given.lo[d] > given.hi[d]) {
      misused(what + " has a box [" + std::to_string(given.lo[d]) + ", " + std::to_string(given.hi[d]) +
              ") in dimension " + std::to_string(d) + " of " + std::to_string(array.shape[d]) + " elements");
    }
    box.box.dim[d] = {given.lo[d], given.hi[d]};
    box.stride[d] = given.stride[d];
  }
  box.data = static_cast<std::byte*>(given.data);
  if (with_data && box.data == nullptr && !box.box.empty()) misused(what + " has a box without memory");
  return box;
}

/// Throws RunError unless the box is whole rows in compressed form.
void require_rows(const Operand& box, const Array& array, const std::string& what) {
  if (array.shape.size() != 2) misused(what + " is sparse and must have two dimensions");
  if (box.box[1].lo != 0 || box.box[1].hi != array.shape[1]) misused(what + " is sparse: a box has whole rows");
  if (box.data == nullptr) misused(what + " has a box without memory");
  const tdsl_sparse& rows = Array::rows_of(box);
  if (rows.size < static_cast<Index>(sizeof rows)) misused(what + ": the tdsl_sparse of a box does not give its size");
  if (rows.index_bits != 32 && rows.index_bits != 64)
    misused(what + " has indices of " + std::to_string(rows.index_bits) + " bits, not of 32 or 64");
  if (rows.rows != box.box[0].size() || rows.cols != array.shape[1] || rows.count < 0)
    misused(what + ": the numbers of rows and columns are not those of the box");
  if (rows.indptr == nullptr || (rows.count > 0 && (rows.indices == nullptr || rows.values == nullptr)))
    misused(what + " has a box without memory");
}

Array read_array(const tdsl_array& given, const std::string& kind, bool with_data) {
  Array array;
  if (given.name == nullptr) misused("an " + kind + " has no name");
  array.name = given.name;
  const std::string what = kind + " " + array.name;
  array.ours = kind == "output" && given.boxes == nullptr;
  if (array.ours) return array;
  array.sparse = given.type >= 0 && (given.type & TDSL_SPARSE) != 0;
  if (array.sparse && kind == "output") {
    if (given.box_count != 1 || given.boxes[0].data == nullptr ||
        static_cast<const tdsl_sparse*>(given.boxes[0].data)->size < static_cast<std::int64_t>(sizeof(tdsl_sparse)))
      misused(what + " is sparse: it needs one box, whose data is a tdsl_sparse with its size");
    array.ours = true;
    return array;
  }
  const int type = array.sparse ? given.type - TDSL_SPARSE : given.type;
  if (type < 0 || static_cast<std::size_t>(type) >= std::size(kElementTypes))
    misused(what + " has type " + std::to_string(given.type) + ", which does not exist");
  if (given.dimensions < 0 || given.dimensions > TDSL_MOST_DIMENSIONS)
    misused(what + " has " + std::to_string(given.dimensions) + " dimensions; there are at most 8");
  array.type = static_cast<ElementType>(type);
  array.shape.assign(given.shape, given.shape + given.dimensions);
  for (const std::int64_t extent : array.shape) {
    if (extent < 0) misused(what + " has an extent below 0");
  }
  if (!with_data) {
    array.boxes.push_back({nullptr, {}, {}, {}});
    Box& whole = array.boxes.back().box;
    whole.rank = given.dimensions;
    for (int d = 0; d < whole.rank; ++d) whole[d] = {0, array.shape[plan::idx(d)]};
    return array;
  }
  for (std::int64_t k = 0; k < given.box_count; ++k) {
    array.boxes.push_back(read_box(given.boxes[k], array, what, with_data));
    if (array.sparse) require_rows(array.boxes.back(), array, what);
  }
  return array;
}

/// The address range spanned by a box of the caller.
std::pair<std::uintptr_t, std::uintptr_t> reach_of(const Operand& box, Index element) {
  Index low = 0, high = element;
  for (int d = 0; d < box.box.rank; ++d) {
    const Index span = (box.box[d].size() - 1) * box.stride[plan::idx(d)] * element;
    (span < 0 ? low : high) += span;
  }
  const auto data = reinterpret_cast<std::uintptr_t>(box.data);
  return {data + static_cast<std::uintptr_t>(low), data + static_cast<std::uintptr_t>(high)};
}

bool is_param(const ProgramInfo& info, const std::string& name) {
  return std::ranges::find(info.declaration().params, name, &ParamDeclaration::name) != info.declaration().params.end();
}

bool meet(const Array& a, const Array& b) {
  if (a.sparse || b.sparse) return false;  // read before the run, written by `fill` after it
  for (const Operand& x : a.boxes) {
    for (const Operand& y : b.boxes) {
      if (x.box.empty() || y.box.empty()) continue;
      const auto [from, to] = reach_of(x, element_size(a.type));
      const auto [begin, end] = reach_of(y, element_size(b.type));
      if (from < end && begin < to) return true;
    }
  }
  return false;
}

}  // namespace

void require_apart(std::span<const Array> inputs, std::span<const Array> outputs) {
  for (const Array& output : outputs) {
    for (const Array& input : inputs) {
      if (!output.ours && meet(output, input))
        misused("output " + output.name + " lies in the memory of input " + input.name +
                ", which is read while it is written");
    }
  }
}

std::vector<Array> read_arrays(std::span<const tdsl_array> arrays, const std::string& kind, bool with_data) {
  std::vector<Array> list;
  for (const tdsl_array& given : arrays) list.push_back(read_array(given, kind, with_data));
  return list;
}

void require_declared(const ProgramInfo& info, const AppOptions& options, std::span<const Array> inputs,
                      std::span<const Array> outputs) {
  const auto require = [&info](std::span<const Array> arrays, const std::vector<TensorDeclaration>& declared,
                               const std::string& kind) {
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      const std::string& name = arrays[k].name;
      if (is_param(info, name))
        misused("`" + name + "` is a param, not an " + kind +
                ": its value goes to open, or to params before the call, as the option --" + name + " VALUE");
      if (std::ranges::find(declared, name, &TensorDeclaration::name) == declared.end())
        misused("the program has no " + kind + " `" + name + "`");
      if (std::ranges::find(arrays.first(k), name, &Array::name) != arrays.first(k).end())
        misused(kind + " " + name + " is given twice");
    }
  };
  require(inputs, info.declaration().inputs, "input");
  require(outputs, info.declaration().outputs, "output");
  for (const TensorDeclaration& input : info.declaration().inputs) {
    const bool given = std::ranges::find(inputs, input.name, &Array::name) != inputs.end();
    const bool file = options.inputs.contains(input.name);
    if (!given && !file) misused("input " + input.name + " (" + input.type_text + ") is missing", "missing-input");
  }
  for (const ParamDeclaration& param : info.declaration().params) {
    if (!param.default_text && !options.params.contains(param.name))
      misused("param " + param.name + " (" + std::string(element_name(param.type)) + ") is missing", "missing-input");
  }
}

void require_params(const ProgramInfo& info, const std::vector<std::string>& words) {
  for (std::size_t k = 0; k < words.size(); ++k) {
    const std::size_t equals = words[k].find('=');
    std::string name = words[k].substr(0, equals);
    if (name == "--set") {
      const std::string setting = equals != std::string::npos ? words[k].substr(equals + 1)
                                  : k + 1 < words.size()      ? words[k + 1]
                                                              : "";
      name = "--" + setting.substr(0, setting.find('='));
    }
    if (!name.starts_with("--") || !is_param(info, name.substr(2)))
      misused("`" + name + "` is no param: options other than params go to open", "bad-option");
    if (equals == std::string::npos) ++k;
  }
}

void give_counts(const Array& array, const Entries& entries, tdsl_array& to) {
  to.type = static_cast<int>(array.type) + TDSL_SPARSE;
  to.dimensions = static_cast<int>(array.shape.size());
  std::ranges::copy(array.shape, to.shape);
  const Box& box = array.boxes.front().box;
  for (int d = 0; d < box.rank; ++d) {
    to.boxes[0].lo[d] = box[d].lo;
    to.boxes[0].hi[d] = box[d].hi;
  }
  auto& rows = *static_cast<tdsl_sparse*>(to.boxes[0].data);
  rows.rows = box[0].size();
  rows.cols = array.shape[1];
  rows.count = entries.count();
}

std::vector<tdsl_array> all_outputs(const ProgramInfo& info) {
  std::vector<tdsl_array> outputs;
  for (const TensorDeclaration& output : info.declaration().outputs)
    outputs.push_back({output.name.c_str(), 0, 0, {}, 0, nullptr});
  return outputs;
}

void refuse_options(const AppOptions& options) {
  const auto refuse = [](bool given, const char* name) {
    if (given) misused(std::string("--") + name + " cannot be an option of a library", "bad-option");
  };
  refuse(options.help, "help");
  refuse(options.version, "version");
  refuse(options.dry_run, "dry-run");
  refuse(options.stats_file.has_value(), "stats");
  refuse(options.plan_file.has_value(), "plan");
  refuse(options.checkpoint_directory.has_value(), "checkpoint");
  refuse(options.resume_directory.has_value(), "resume");
  refuse(options.trace_file.has_value(), "trace");
  refuse(options.profile, "profile");
  refuse(options.progress, "progress");
  refuse(!options.pictures.empty(), "picture");
}

void require_instructions(World& world) {
  const std::vector<std::string> all = world.access()->all_gather(missing_instructions());
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    if (all[rank].empty()) continue;
    misused("the processor of rank " + std::to_string(rank) + " lacks " + all[rank] +
                ", which this library uses: rebuild without --native, or build on that node",
            "launch");
  }
}

void require_equal_options(World& world, const ProgramInfo& info, const std::vector<std::string>& options) {
  std::string mine = info.declaration().version;
  for (const std::string& option : options) mine += "\n" + option;
  const std::vector<std::string> all = world.access()->all_gather(mine);
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    if (all[rank] != all[0])
      misused("rank " + std::to_string(rank) + " opens another program than rank 0, or with other options", "launch");
  }
}

DescribedArray::DescribedArray(const std::string& name, ElementType type, const Extents& shape,
                               std::span<const Operand> boxes)
    : name_(name) {
  array_.type = static_cast<int>(type);
  array_.dimensions = static_cast<int>(shape.size());
  std::ranges::copy(shape, array_.shape);
  for (const Operand& box : boxes) {
    tdsl_box& given = boxes_.emplace_back();
    given.data = box.data;
    const Operand packed = box.data == nullptr ? row_major(nullptr, box.box) : box;
    for (int d = 0; d < box.box.rank; ++d) {
      given.lo[d] = box.box[d].lo;
      given.hi[d] = box.box[d].hi;
      given.stride[d] = packed.stride[plan::idx(d)];
    }
  }
  array_.box_count = static_cast<std::int64_t>(boxes_.size());
}

void DescribedArray::give(tdsl_array& to) {
  const char* const name = to.name;
  to = array();
  to.name = name;
}

}  // namespace tdsl::rt

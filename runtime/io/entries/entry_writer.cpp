#include "runtime/io/entries/entry_writer.h"

#include <algorithm>
#include <utility>

#include "runtime/check.h"
#include "runtime/io/entries/text_entry_writer.h"
#include "runtime/io/file_kind.h"
#include "runtime/io/npy/npz_writer.h"

namespace tdsl::rt {

Entries sorted(const Entries& entries) {
  const EntryForm form = entries.form();
  std::vector<const std::byte*> order;
  order.reserve(static_cast<std::size_t>(entries.count()));
  entries.for_each([&order](const std::byte* entry) { order.push_back(entry); });
  const auto before = [&form](const std::byte* a, const std::byte* b) {
    for (int d = 0; d < form.rank; ++d) {
      const std::int64_t x = form.coordinate(a, d);
      const std::int64_t y = form.coordinate(b, d);
      if (x != y) return x < y;
    }
    return false;
  };
  if (!std::ranges::is_sorted(order, before)) std::ranges::sort(order, before);
  Entries result(form);
  for (const std::byte* const entry : order) std::memcpy(result.append(), entry, form.bytes());
  return result;
}

std::unique_ptr<EntryWriter> EntryWriter::make(OutputFile file, ElementType type, std::vector<std::int64_t> shape) {
  const FileKind kind = readable_kind(file.path());
  if (kind == FileKind::kScipyNpz) return std::make_unique<NpzWriter>(std::move(file), type, std::move(shape));
  if (kind == FileKind::kCsv) return std::make_unique<CsvWriter>(std::move(file), type, std::move(shape));
  return std::make_unique<TextEntryWriter>(std::move(file), type, std::move(shape), kind == FileKind::kMatrixMarket);
}

std::unique_ptr<EntryWriter> EntryWriter::create(const std::string& path, ElementType type,
                                                 std::span<const std::int64_t> shape, Unfinished unfinished) {
  require_writable_rank(path, shape.size());
  const FileKind kind = writable_kind(path);
  // The format follows from the name, so the target of a symbolic link must have the same one.
  OutputFile file = OutputFile::create(path, unfinished);
  if (readable_kind(file.path()) != kind)
    throw RunError("cannot write `" + path + "`: it is a link to `" + file.path() +
                   "`, a file of another kind [cannot-write]");
  return make(std::move(file), type, {shape.begin(), shape.end()});
}

std::string EntryWriter::token() const {
  std::string token = file_.token();
  const auto put = [&token](std::string_view part) { token.append(part).push_back('\0'); };
  put(element_name(type_));
  for (const std::int64_t extent : shape_) put(std::to_string(extent));
  return token;
}

std::unique_ptr<EntryWriter> EntryWriter::open(std::string_view token) {
  OutputFile file = OutputFile::open(token);
  const auto type = element_type_named(take_token_part(token));
  TDSL_CHECK(type.has_value(), "a token made by EntryWriter::token");
  std::vector<std::int64_t> shape;
  while (!token.empty()) shape.push_back(std::stoll(take_token_part(token)));
  return make(std::move(file), *type, std::move(shape));
}

void write_entries(EntryWriter& writer, const Entries& entries) {
  const EntryWriter::Numbers first = writer.take(sorted(entries), {0, writer.shape().front()});
  const EntryWriter::Numbers second = writer.write({&first, 1}, 0);
  writer.finish({&second, 1});
}

}  // namespace tdsl::rt

#include "runtime/checkpoint/manifest.h"

#include <algorithm>
#include <span>

#include "runtime/checkpoint/path_text.h"
#include "runtime/io/checksum.h"

namespace tdsl::rt::checkpoint {

namespace {

constexpr std::string_view kFormat = "tdsl-checkpoint ", kVersion = "5";

std::uint64_t sum_of(std::string_view text) { return checksum(std::as_bytes(std::span(text))); }

/// Position of the checksum at the end. Throws Damaged unless it matches the text before it.
std::size_t sealed_end(std::string_view text) {
  const std::size_t last = text.rfind("sum ");
  if (last == std::string_view::npos || !text.ends_with('\n')) throw Damaged("truncated");
  TextReader end(text.substr(last));
  end.expect("sum");
  if (end.bits() != sum_of(text.substr(0, last)) || !end.at_end()) throw Damaged("checksum mismatch");
  return last;
}

/// Version in the first line; empty: none.
std::string_view version_of(std::string_view text) {
  if (!text.starts_with(kFormat)) return {};
  text.remove_prefix(kFormat.size());
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits < text.size() && text[digits] == '\n' ? text.substr(0, digits) : std::string_view();
}

void require_version(std::string_view text) {
  const std::string_view version = version_of(text);
  if (version.empty()) throw Damaged("not a checkpoint manifest");
  if (version == kVersion) return;
  // If the checksum matches with our version substituted, the text was written with our version.
  const std::string as_ours =
      std::string(kFormat).append(kVersion).append(text.substr(kFormat.size() + version.size()));
  try {
    static_cast<void>(sealed_end(as_ours));
  } catch (const Damaged&) {
    throw OtherVersion("its manifest has format " + std::string(version) + ", and this program reads format " +
                       std::string(kVersion));
  }
  throw Damaged("checksum mismatch");
}

void write_facts(TextWriter& out, std::string_view name, const Facts& facts) {
  out.word(name).number(static_cast<Index>(facts.size())).line();
  for (const auto& [what, value] : facts) out.string(what).string(value).line();
}

Facts read_facts(TextReader& in, std::string_view name) {
  in.expect(name);
  Facts facts;
  for (std::size_t k = in.count(); k > 0; --k) {
    std::string what = in.string();
    facts.emplace_back(std::move(what), in.string());
  }
  return facts;
}

void write_place(TextWriter& out, const std::optional<plan::Distribution>& where) {
  where ? write(out, *where) : void(out.word("none"));
  out.line();
}

std::optional<plan::Distribution> read_place(TextReader& in) {
  if (in.next_is("none")) return std::nullopt;
  return read_distribution(in);
}

void write_tensor(TextWriter& out, const LiveTensor& t) {
  out.word(t.recorded_again ? "again" : "saved");
  write(out, t.known);
  out.word("where");
  write_place(out, t.where);
  out.word("copy");
  write_place(out, t.copy);
  if (t.copy) {
    out.word("readers").number(static_cast<Index>(t.readers.size()));
    for (const int site : t.readers) out.number(site);
    out.line();
  }
  out.word("site").number(t.site).word("home").word(name_of(t.housing.home)).number(t.housing.resident_tiles).line();
  if (t.recorded_again) return;
  out.word("base").number(t.base).word("blocks");
  write(out, t.saved);
  out.line();
}

plan::Housing read_home(TextReader& in) {
  in.expect("home");
  const std::string_view word = in.word();
  for (const plan::Home home : {plan::Home::kMemory, plan::Home::kDisk, plan::Home::kFile}) {
    if (word == name_of(home)) return {home, in.number()};
  }
  in.fail("invalid home `" + std::string(word) + "` of a tensor");
}

LiveTensor read_live(TextReader& in) {
  LiveTensor t;
  t.recorded_again = in.next_is("again");
  if (!t.recorded_again) in.expect("saved");
  t.known = read_tensor(in);
  in.expect("where");
  t.where = read_place(in);
  in.expect("copy");
  t.copy = read_place(in);
  if (t.copy) {
    in.expect("readers");
    for (std::size_t k = in.count(); k > 0; --k) t.readers.push_back(static_cast<int>(in.number()));
  }
  in.expect("site");
  t.site = static_cast<int>(in.number());
  t.housing = read_home(in);
  if (t.recorded_again) return t;
  in.expect("base");
  t.base = in.number();
  in.expect("blocks");
  t.saved = read_distribution(in);
  return t;
}

void write_files(TextWriter& out, const std::vector<FileSeal>& files) {
  out.word("files").number(static_cast<Index>(files.size())).line();
  for (const FileSeal& file : files) out.number(file.bytes).bits(file.footer).line();
}

std::vector<FileSeal> read_files(TextReader& in) {
  in.expect("files");
  std::vector<FileSeal> files;
  for (std::size_t k = in.count(); k > 0; --k) {
    const Index bytes = in.number();
    files.push_back({bytes, in.bits()});
  }
  return files;
}

}  // namespace

const LiveTensor* Manifest::find(plan::TensorId id) const {
  const auto found = std::ranges::find(tensors, id, [](const LiveTensor& t) { return t.known.desc.id; });
  return found == tensors.end() ? nullptr : &*found;
}

const std::vector<FileSeal>& Manifest::files_of(std::int64_t base) const {
  const auto found = std::ranges::find(bases, base, &Base::number);
  return found == bases.end() ? files : found->files;
}

std::string print(const Manifest& m) {
  TextWriter out;
  out.word(std::string(kFormat).append(kVersion)).line().word("number").number(m.number).line();
  write_facts(out, "identity", m.identity);
  write_facts(out, "setting", m.setting);
  out.word("plan").string(m.plan).line().word("machine").string(m.machine).line();
  out.word("memory")
      .number(m.memory)
      .word("seconds")
      .real(m.seconds)
      .word("predicted")
      .real(m.predicted)
      .word("done")
      .real(m.done)
      .line();
  write(out, m.path);
  out.word("tensors").number(static_cast<Index>(m.tensors.size())).line();
  for (const LiveTensor& t : m.tensors) write_tensor(out, t);
  write_files(out, m.files);
  out.word("bases").number(static_cast<Index>(m.bases.size())).line();
  for (const Base& base : m.bases) write_files(out.number(base.number), base.files);
  TextWriter end;
  end.word("sum").bits(sum_of(out.text())).line();
  return out.text() + end.text();
}

Manifest parse_manifest(std::string_view text) {
  require_version(text);
  const std::size_t last = sealed_end(text), first = kFormat.size() + kVersion.size();
  TextReader in(text.substr(first, last - first));
  Manifest m;
  in.expect("number");
  m.number = in.number();
  m.identity = read_facts(in, "identity");
  m.setting = read_facts(in, "setting");
  in.expect("plan");
  m.plan = in.string();
  in.expect("machine");
  m.machine = in.string();
  in.expect("memory");
  m.memory = in.number();
  in.expect("seconds");
  m.seconds = in.real();
  in.expect("predicted");
  m.predicted = in.real();
  in.expect("done");
  m.done = in.real();
  m.path = read_path(in);
  in.expect("tensors");
  for (std::size_t k = in.count(); k > 0; --k) m.tensors.push_back(read_live(in));
  m.files = read_files(in);
  in.expect("bases");
  for (std::size_t k = in.count(); k > 0; --k) {
    const std::int64_t number = in.number();
    m.bases.push_back({number, read_files(in)});
  }
  for (const LiveTensor& t : m.tensors) {
    if (t.base != 0 && std::ranges::find(m.bases, t.base, &Base::number) == m.bases.end())
      in.fail("no base " + std::to_string(t.base));
  }
  if (!in.at_end()) in.fail("trailing data");
  return m;
}

std::string difference(const Facts& then, const Facts& now) {
  const auto value = [](const Facts& facts, const std::string& name) {
    const auto found = std::ranges::find(facts, name, [](const auto& fact) { return fact.first; });
    return found == facts.end() ? std::string("absent") : found->second;
  };
  for (const Facts* const facts : {&then, &now}) {
    for (const auto& [name, _] : *facts) {
      const std::string before = value(then, name), after = value(now, name);
      if (before != after) return name + " was " + before + ", is now " + after;
    }
  }
  return {};
}

}  // namespace tdsl::rt::checkpoint

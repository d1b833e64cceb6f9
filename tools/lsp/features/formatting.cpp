#include <algorithm>

#include "frontend/format/format.h"
#include "tools/lsp/features/features.h"

namespace tdsl::lsp {

Json formatting(const View& view) {
  frontend::SourceManager sources;
  frontend::DiagnosticSink ignored;
  const std::uint32_t file = sources.add(view.document().path, view.document().text);
  const auto text = frontend::format(sources, file, ignored);
  if (!text) throw RequestError(kRequestFailed, "a program with syntax errors is not formatted");
  if (*text == view.document().text) return Json::array();
  const Json edit = {{"range", view.range(view.whole())}, {"newText", *text}};
  return Json::array({edit});
}

}  // namespace tdsl::lsp

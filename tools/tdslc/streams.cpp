#include "tools/tdslc/streams.h"

#include <cstdio>

namespace tdsl::tools {

void print_error(const std::string& text) { std::fputs(text.c_str(), stderr); }

bool flush_output() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace tdsl::tools

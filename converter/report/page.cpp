#include "report/page.h"

#include <string_view>

#include "report/page_parts.h"

namespace skiff {
namespace {

/// Where a part of the page goes into page.html.
struct Part {
  std::string_view mark;
  std::string_view text;
};

/// JSON in which nothing looks like the end of a script element, or like any other markup: the escapes are
/// those of JSON's own strings, outside of which these letters do not occur.
std::string Harmless(std::string_view json) {
  std::string text;
  text.reserve(json.size());
  for (const char letter : json) {
    switch (letter) {
      case '<':
        text += "\\u003c";
        break;
      case '>':
        text += "\\u003e";
        break;
      case '&':
        text += "\\u0026";
        break;
      default:
        text += letter;
    }
  }
  return text;
}

}  // namespace

std::string ReportPage(const std::string& json) {
  const std::string data = Harmless(json);
  const Part parts[] = {{"/*STYLE*/", kReportStyle}, {"/*DATA*/", data}, {"/*SCRIPT*/", kReportScript}};
  std::string page;
  std::string_view rest = kReportPage;
  for (const Part& part : parts) {
    const size_t at = rest.find(part.mark);
    page.append(rest.substr(0, at)).append(part.text);
    rest.remove_prefix(at + part.mark.size());
  }
  return page.append(rest);
}

}  // namespace skiff

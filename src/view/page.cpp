#include "view/page.h"

#include <algorithm>

#include "base/sha256.h"
#include "base/text.h"
#include "view/refusals.h"

namespace assay::view {

namespace {

Refusal broken(std::string detail) {
  return Refusal(kPageBroken, std::move(detail));
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out.push_back(c);
    }
  }
  return out;
}

// JSON for inside a script element: `<` only ever stands in strings, where \u003c says the same.
std::string json_in_html(std::string_view json) {
  std::string out;
  out.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      out += "\\u003c";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// `text` with each `from` replaced; counts them.
size_t replace_all(std::string& text, std::string_view from, std::string_view to) {
  size_t count = 0;
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
    ++count;
  }
  return count;
}

std::string csp_digest(std::string_view text) {
  const Sha256Digest digest = sha256(text);
  return cat(" 'sha256-",
             base64(std::string_view(reinterpret_cast<const char*>(digest.data()), digest.size())),
             "'");
}

// The text between two marks, once in `html`; npos when it is not there.
struct Span {
  size_t begin = std::string::npos, end = std::string::npos;
};
Span between(const std::string& html, std::string_view open, std::string_view close) {
  const size_t at = html.find(open);
  if (at == std::string::npos) return {};
  const size_t begin = at + open.size();
  return {begin, html.find(close, begin)};
}

std::string import_map(const Page& page) {
  std::string out = "{\"imports\":{";
  bool first = true;
  for (const PageFile& file : page) {
    if (!file.name.ends_with(".js")) continue;
    std::string text(file.bytes);
    for (const PageFile& other : page) {
      if (other.name.ends_with(".js"))
        replace_all(text, cat("\"./", other.name, "\""), cat("\"assay/", other.name, "\""));
    }
    out += cat(first ? "" : ",", "\"assay/", file.name, "\":\"data:text/javascript;base64,",
               base64(text), "\"");
    first = false;
  }
  return out + "}}";
}

}  // namespace

const PageFile* find_file(const Page& page, std::string_view name) {
  const auto found =
      std::find_if(page.begin(), page.end(), [&](const PageFile& f) { return f.name == name; });
  return found == page.end() ? nullptr : &*found;
}

std::string_view content_type(std::string_view name) {
  if (name.starts_with("LICENSE.")) return "text/plain; charset=utf-8";
  if (name.ends_with(".html")) return "text/html; charset=utf-8";
  if (name.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (name.ends_with(".css")) return "text/css; charset=utf-8";
  if (name.ends_with(".svg")) return "image/svg+xml";
  if (name.ends_with(".json")) return "application/json";
  return "application/octet-stream";
}

std::string base64(std::string_view bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (size_t j = 0; j < 4; ++j) {
      const bool filled = i + j <= bytes.size();
      out.push_back(filled ? kDigits[group >> (18 - 6 * j) & 63U] : '=');
    }
  }
  return out;
}

Result<std::string> page_in_one_file(const Page& page, const Inline& content) {
  const PageFile* index = find_file(page, "index.html");
  if (index == nullptr) return broken("there is no index.html");
  std::string html(index->bytes);
  std::string style_digests, script_digests;

  // Style sheets and pictures.
  constexpr std::string_view kSheet = "<link rel=\"stylesheet\" href=\"";
  for (Span name = between(html, kSheet, "\""); name.begin != std::string::npos;
       name = between(html, kSheet, "\"")) {
    const std::string wanted = html.substr(name.begin, name.end - name.begin);
    const PageFile* sheet = find_file(page, wanted);
    if (sheet == nullptr) return broken(cat("index.html names the style sheet `", wanted, "`"));
    if (sheet->bytes.find("</") != std::string_view::npos)
      return broken(cat("`", wanted, "` holds `</`, which would end its element"));
    const size_t end = html.find('>', name.end);
    if (end == std::string::npos) return broken("a link element does not end");
    const size_t begin = name.begin - kSheet.size();
    html.replace(begin, end + 1 - begin, cat("<style>", sheet->bytes, "</style>"));
    style_digests += csp_digest(sheet->bytes);
  }
  for (const PageFile& file : page) {
    if (!file.name.ends_with(".svg")) continue;
    const std::string url = cat("\"data:image/svg+xml;base64,", base64(file.bytes), "\"");
    replace_all(html, cat("href=\"", file.name, "\""), cat("href=", url));
    replace_all(html, cat("src=\"", file.name, "\""), cat("src=", url));
  }

  if (!content.title.empty()) {
    const Span title = between(html, "<title>", "</title>");
    if (title.end == std::string::npos) return broken("index.html has no title element");
    html.replace(title.begin, title.end - title.begin, html_text(content.title));
  }

  // Data, then what reads it.
  const std::string map = import_map(page);
  const std::string start = "import \"assay/app.js\"";
  script_digests = csp_digest(map) + csp_digest(start);
  const size_t head = html.find("<head>");
  if (head == std::string::npos) return broken("index.html has no <head>");
  html.insert(head + 6,
              cat("\n", kExportMark,
                  "\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\" "
                  "content=\"default-src 'none'; script-src data:",
                  script_digests, "; style-src", style_digests.empty() ? " 'none'" : style_digests,
                  "; img-src data:; base-uri 'none'; form-action 'none'\">"));

  constexpr std::string_view kApp = "<script type=\"module\" src=\"app.js\"></script>";
  const size_t app = html.find(kApp);
  if (app == std::string::npos || find_file(page, "app.js") == nullptr)
    return broken(cat("index.html does not start app.js with ", kApp));
  size_t size = map.size() + content.index_json.size() * 5 / 4;
  for (const Inline::Shard& shard : content.shards) size += shard.bytes.size() * 4 / 3 + 256;
  std::string scripts;
  scripts.reserve(size);
  scripts += cat("<script type=\"importmap\">", map, "</script>\n");
  scripts += "<script type=\"application/json\" id=\"assay-index\">";
  scripts += json_in_html(content.index_json);
  scripts += "</script>\n";
  for (const Inline::Shard& shard : content.shards) {
    scripts += cat("<script type=\"text/plain\" data-shard=\"", html_text(shard.name), "\">");
    scripts += base64(shard.bytes);
    scripts += "</script>\n";
  }
  // The libraries' licences go where their code goes.
  for (const PageFile& file : page) {
    if (!file.name.starts_with("LICENSE.")) continue;
    scripts += cat("<script type=\"text/plain\" data-licence=\"", file.name, "\">\n",
                   html_text(file.bytes), "</script>\n");
  }
  scripts += cat("<script type=\"module\">", start, "</script>");
  html.replace(app, kApp.size(), scripts);
  return html;
}

}  // namespace assay::view

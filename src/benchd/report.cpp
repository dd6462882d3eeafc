#include "benchd/report.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace assay::benchd {

namespace {

constexpr std::string_view kGreen = "\033[32m";
constexpr std::string_view kRed = "\033[31m";
constexpr std::string_view kPlain = "\033[0m";

// Width on the screen: characters, without colours.
size_t width_of(std::string_view text) {
  size_t width = 0;
  bool in_colour = false;
  for (const char c : text) {
    if (c == '\033') in_colour = true;
    if (!in_colour && (static_cast<unsigned char>(c) & 0xC0U) != 0x80U) ++width;
    if (in_colour && c == 'm') in_colour = false;
  }
  return width;
}

std::string rate(double seconds_per_token) {
  return seconds_per_token > 0 ? format_fixed(1.0 / seconds_per_token, 2) : "-";
}

std::string ratio(double value) {
  return value > 0 && std::isfinite(value) ? format_fixed(value, 4) : "-";
}

std::string interval(const std::optional<scoring::Interval>& interval) {
  if (!interval) return "-";
  return cat(format_fixed(interval->low, 4), " .. ", format_fixed(interval->high, 4));
}

std::string verdict(bool passed, bool colour) {
  const std::string_view word = passed ? "ok" : "MISSED";
  if (!colour) return std::string(word);
  return cat(passed ? kGreen : kRed, word, kPlain);
}

}  // namespace

std::vector<std::string> align(const std::vector<std::vector<std::string>>& rows) {
  std::vector<size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::vector<std::string> lines;
  for (const auto& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - width_of(row[i]), ' ');
      if (i > 0) line += "  ";
      line += i == 0 ? row[i] + padding : padding + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(std::move(line));
  }
  return lines;
}

std::vector<std::string> paired_table(const scoring::ScoreDocument& document, bool colour) {
  const scoring::Metrics& m = document.metrics;
  const scoring::Uncertainty sure = m.uncertainty.value_or(scoring::Uncertainty{});
  std::vector<std::string> lines = align({
      {"", "control tok/s", "candidate tok/s", "gain", "95 % interval", "floor", ""},
      {"prefill", rate(m.baseline_prefill_seconds_per_token), rate(m.prefill_seconds_per_token),
       ratio(m.prefill_speedup), interval(sure.prefill_speedup), ratio(m.prefill_speedup_floor),
       verdict(m.passed_prefill_speedup_floor, colour)},
      {"decode", rate(m.baseline_decode_seconds_per_token), rate(m.decode_seconds_per_token),
       ratio(m.decode_speedup), interval(sure.decode_speedup), ratio(m.decode_speedup_floor),
       verdict(m.passed_decode_speedup_floor, colour)},
  });
  std::string score = cat("score ", document.score ? format_fixed(*document.score, 4) : "none");
  if (sure.composite) score += cat("  (95 % interval ", interval(sure.composite), ")");
  lines.push_back(std::move(score));
  if (sure.detectable_change) {
    lines.push_back(cat("smallest change this run could have shown: ",
                        format_fixed(100 * *sure.detectable_change, 1), " %"));
  }
  return lines;
}

std::vector<std::string> file_lines(const SealedRun& sealed) {
  std::vector<std::string> lines;
  for (const scoring::NamedBytes* file :
       {&sealed.files.score, &sealed.files.score_sidecar, &sealed.files.integrity,
        &sealed.files.integrity_sidecar}) {
    lines.push_back(cat("sealed ", (sealed.folder / file->name).string()));
  }
  return lines;
}

}  // namespace assay::benchd

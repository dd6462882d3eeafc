// framework-eval: what one agent framework made of a fixed task (read a file through a tool, say in
// one sentence what it holds). Input is the object that a harness script prints, an array of them,
// or the printed output of several scripts, banner lines and all.
#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "publish/converters/converters.h"
#include "publish/converters/rows.h"
#include "publish/refusals.h"

namespace assay::publish {

namespace {

constexpr std::string_view kFixturePath = "/tmp/eval-test.txt";
constexpr std::string_view kContentWords[] = {"pangram", "fox", "alphabet", "typing"};

bool is_answer(json::Node answer) {
  if (!answer.is_string()) return false;
  const std::string_view text = answer.string();
  return !trim(text).empty() && text != "(empty)" && text != "(max steps reached)" &&
         !text.starts_with("Error:");
}

bool shares_content_word(std::string_view answer) {
  std::string text(answer);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return std::any_of(std::begin(kContentWords), std::end(kContentWords),
                     [&](std::string_view word) { return text.find(word) != std::string::npos; });
}

// At least one call to file_read whose arguments are JSON and name the fixture.
bool has_valid_call(json::Node calls) {
  if (!calls.is_array()) return false;
  return std::any_of(calls.items().begin(), calls.items().end(), [](json::Node call) {
    if (text_of(call.find("tool")) != "file_read") return false;
    const json::Node arguments = call.find("args");
    if (arguments.is_object()) return text_of(arguments.find("path")) == kFixturePath;
    if (!arguments.is_string()) return false;
    const auto parsed = json::Document::parse(arguments.string(), {.allow_non_finite = false});
    return parsed && parsed->values().size() == 1 &&
           text_of(parsed->values().front().find("path")) == kFixturePath;
  });
}

Draft convert_object(json::Node run) {
  Draft draft;
  const std::string_view name = text_of(run.find("framework")).value_or("");
  const json::Node answer = run.find("answer");
  const json::Node calls = run.find("tool_calls");
  const bool answered = is_answer(answer);
  const bool called = !calls || has_valid_call(calls);
  const bool on_topic = answered && shares_content_word(answer.string());
  draft.results.reserve(4);
  add_row(draft, name, "score", "bool", answered && called && on_topic ? 1.0 : 0.0);
  const auto latency = number_of(run.find("latency"));
  add_row(draft, name, "latency", "seconds", latency);
  add_row(draft, name, "tokens", "count", number_of(run.find("tokens")));
  add_row(draft, name, "steps", "count", number_of(run.find("steps")));
  for (ResultRow& row : draft.results) {
    row.duration_seconds = latency;
    row.tags.reserve(6, 160);
    row.tag("answer_chars", cat(answer.is_string() ? answer.string().size() : 0));
    if (calls.is_array()) {
      row.tag("tool_calls", cat(calls.items().size()));
      row.tag("tool_call_valid", called ? "true" : "false");
    }
    row.tag("score_rule", "answer, tool call, content word");
  }
  return draft;
}

bool is_run(json::Node value) {
  return value.is_object() && text_of(value.find("framework")) && value.find("answer");
}

// Objects printed between banner lines: every '{' at the start of a line that begins a whole JSON
// object. The looking is bounded: in a log full of braces that never close it stops.
std::vector<json::Document> printed_objects(std::string_view text) {
  std::vector<json::Document> found;
  size_t budget = 16 * text.size() + 65536;  // bytes parsed in all
  for (size_t at = 0; at < text.size();) {
    const size_t line_end = std::min(text.find('\n', at), text.size());
    bool taken = false;
    if (text[at] == '{') {
      // The object ends at some later '}' that closes a line.
      for (size_t close = text.find('}', at); close != std::string_view::npos;
           close = text.find('}', close + 1)) {
        if (close + 1 < text.size() && text[close + 1] != '\n' && text[close + 1] != '\r') continue;
        if (budget < close + 1 - at) return found;
        budget -= close + 1 - at;
        auto value = json::Document::parse(text.substr(at, close + 1 - at));
        if (!value) continue;
        found.push_back(*std::move(value));
        at = close + 1;
        taken = true;
        break;
      }
    }
    if (!taken) at = line_end + 1;
  }
  return found;
}

}  // namespace

Result<std::vector<Draft>> convert_framework_eval(const ToolFile& file, const RunContext&) {
  std::vector<Draft> drafts;
  bool all_runs = true;
  const auto add = [&](json::Node run) {
    all_runs = all_runs && is_run(run);
    if (all_runs) drafts.push_back(convert_object(run));
  };
  for (const json::Node value : file.values()) {
    if (value.is_array()) {
      drafts.reserve(drafts.size() + value.items().size());
      for (const json::Node item : value.items()) add(item);
    } else {
      add(value);
    }
  }
  for (const json::Document& printed : printed_objects(file.text)) add(printed.values().front());
  if (!all_runs)
    return Refusal(kConvertInput,
                   "expected objects with `framework` and `answer` (framework-eval)");
  if (drafts.empty() && file.document.empty())
    return Refusal(kConvertInput, "no JSON object found (framework-eval)");
  if (drafts.empty()) return Refusal(kNothingToPublish, "an empty array (framework-eval)");
  return drafts;
}

}  // namespace assay::publish

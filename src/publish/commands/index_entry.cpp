#include "publish/commands/index_entry.h"

#include <algorithm>
#include <array>

#include "base/text.h"
#include "publish/convert.h"

namespace assay::publish {

namespace {

struct Field {
  std::string_view key;
  std::string IndexEntry::*member;
};
constexpr std::array<Field, 7> kFields = {{{"variant", &IndexEntry::variant},
                                           {"comparison_group", &IndexEntry::comparison_group},
                                           {"context_band", &IndexEntry::context_band},
                                           {"completion_state", &IndexEntry::completion_state},
                                           {"caveat", &IndexEntry::caveat},
                                           {"superseded_by", &IndexEntry::superseded_by},
                                           {"evidence", &IndexEntry::evidence}}};

std::string names() {
  std::vector<std::string> keys;
  for (const Field& field : kFields) keys.emplace_back(field.key);
  return join(keys, ", ");
}

}  // namespace

std::vector<cli::Flag> index_flags() {
  return {{.names = {"--index-status"},
           .value_name = "S",
           .help = "Status of the entry in the run index; invalid needs --index-entry caveat=WHY.",
           .choices = {"scored", "experimental", "invalid", "recovered"}},
          {.names = {"--index-entry"},
           .arity = cli::Arity::repeatable,
           .value_name = "KEY=VALUE",
           .help = "Field of the entry: variant, comparison_group, context_band, completion_state, "
                   "caveat, superseded_by, evidence (current or historical)."}};
}

std::optional<std::string> IndexFlags::read(const cli::Invocation& invocation) {
  status_ = invocation.text_or("--index-status", status_);
  bool caveat = false;
  for (const std::string& pair : invocation.all("--index-entry")) {
    const std::string said = cat("--index-entry \"", pair, "\"");
    if (!is_utf8(pair)) return "the value of --index-entry is not UTF-8";
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) return cat(said, " is not KEY=VALUE");
    const std::string_view key = std::string_view(pair).substr(0, equals);
    const auto field =
        std::ranges::find_if(kFields, [&](const Field& known) { return known.key == key; });
    if (field == kFields.end()) return cat(said, " names no field of an entry: ", names());
    const bool twice =
        std::ranges::any_of(fields_, [&](const auto& set) { return set.first == field->member; });
    if (twice) return cat(said, ": ", key, " is given twice");
    std::string value = pair.substr(equals + 1);
    if (key == "evidence" && value != "current" && value != "historical")
      return cat(said, ": evidence is current or historical");
    if (key == "superseded_by" &&
        !(value.starts_with("data/run-") && value.ends_with(".parquet") && is_plain_path(value))) {
      return cat(said, ": superseded_by is the path of a shard, data/run-….parquet");
    }
    caveat = caveat || (key == "caveat" && !trim(value).empty());
    fields_.emplace_back(field->member, std::move(value));
  }
  if (status_ == "invalid" && !caveat)
    return "--index-status invalid needs --index-entry caveat=WHY: why it may not be used";
  return std::nullopt;
}

IndexEntry IndexFlags::entry(const FinishedEnvelope& envelope, std::string path,
                             std::string sha256) const {
  const json::Value& facts = envelope.facts();
  IndexEntry entry;
  entry.path = std::move(path);
  entry.status = status_;
  entry.cell_status = text_of(facts.find("cell_status")).value_or("");
  entry.envelope_sha256 = std::move(sha256);
  const json::Value* verified = dig(facts, {"provenance", "verified"});
  entry.weights =
      verified != nullptr && verified->kind() == json::Kind::boolean && verified->boolean()
          ? "verified"
          : "unverified";
  entry.evidence = "current";
  entry.campaign_id = text_of(dig(facts, {"campaign", "id"})).value_or("");
  entry.cell_id = text_of(dig(facts, {"campaign", "cell_id"})).value_or("");
  entry.profile = text_of(dig(facts, {"campaign", "profile"})).value_or("");
  entry.max_output_tokens = integer_of(dig(facts, {"regime", "max_tokens"})).value_or(0);
  for (const auto& [member, value] : fields_) {
    // A variant is the candidate's; everything else holds for its control too.
    if (envelope.is_control() && member == &IndexEntry::variant) continue;
    entry.*member = value;
  }
  return entry;
}

}  // namespace assay::publish

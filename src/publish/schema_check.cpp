// The schema part of validation: valijson over RapidJSON, with the schema compiled in.
#include <rapidjson/document.h>

#include <algorithm>
#include <memory>
#include <valijson/adapters/rapidjson_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "base/ensure.h"
#include "base/text.h"
#include "publish/validate.h"

namespace assay::publish {

extern const std::string_view kEnvelopeSchema;  // schema/envelope-v1.json, embedded by the build

namespace {

const valijson::Schema& schema() {
  static const std::unique_ptr<valijson::Schema> parsed = [] {
    rapidjson::Document document;
    document.Parse(kEnvelopeSchema.data(), kEnvelopeSchema.size());
    ENSURE(!document.HasParseError());
    auto out = std::make_unique<valijson::Schema>();
    valijson::SchemaParser parser;
    const valijson::adapters::RapidJsonAdapter adapter(document);
    parser.populateSchema(adapter, *out);
    return out;
  }();
  return *parsed;
}

// valijson names a place as {"<root>", "[system]", "[0]"}.
std::string readable_path(const std::vector<std::string>& context) {
  std::string path = "$";
  for (size_t i = 1; i < context.size(); ++i) {
    std::string_view step = context[i];
    if (step.starts_with('[') && step.ends_with(']')) step = step.substr(1, step.size() - 2);
    const bool index = step.find_first_not_of("0123456789") == std::string_view::npos;
    path += index ? cat("[", step, "]") : cat(".", step);
  }
  return path;
}

// valijson reports an object whose member fails too, in general words; those summaries only repeat.
bool is_summary(const std::string& description) {
  return description.starts_with("Failed to validate against schema") ||
         description.starts_with("Failed to validate item") ||
         description.starts_with("Failed to validate against additional");
}

}  // namespace

std::vector<Problem> check_schema(const json::Value& document) {
  const std::string text = json::write(document);
  rapidjson::Document target;
  target.Parse<rapidjson::kParseFullPrecisionFlag>(text.data(), text.size());
  if (target.HasParseError()) {
    return {
        {"E-SCHEMA", "$", "the document holds a number that JSON cannot say (NaN or Infinity)"}};
  }
  std::vector<Problem> problems;
  std::vector<Problem> summaries;
  valijson::ValidationResults results;
  valijson::Validator validator;
  const valijson::adapters::RapidJsonAdapter adapter(target);
  if (validator.validate(schema(), adapter, &results)) return problems;
  valijson::ValidationResults::Error error;
  while (results.popError(error)) {
    Problem problem{"E-SCHEMA", readable_path(error.context), error.description};
    (is_summary(error.description) ? summaries : problems).push_back(std::move(problem));
  }
  if (problems.empty()) problems = std::move(summaries);
  const auto equal = [](const Problem& a, const Problem& b) {
    return a.path == b.path && a.message == b.message;
  };
  std::vector<Problem> unique;
  for (Problem& problem : problems) {
    if (std::none_of(unique.begin(), unique.end(),
                     [&](const Problem& p) { return equal(p, problem); })) {
      unique.push_back(std::move(problem));
    }
  }
  return unique;
}

}  // namespace assay::publish

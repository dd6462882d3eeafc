#include "engine/gguf/types.h"

#include "base/text.h"

namespace assay::engine::gguf {

std::string type_label(uint32_t id) {
  const TypeInfo* const type = find_type(id);
  return type != nullptr ? cat(type->name, " (", id, ")") : cat("type ", id);
}

std::string computable_types() {
  std::string out;
  for (const TypeInfo& type : kTypes) {
    if (!type.computable) continue;
    if (!out.empty()) out += ", ";
    out += type_label(type.id);
  }
  return out;
}

}  // namespace assay::engine::gguf

// protocol_schema: prints schema/engine-protocol-v1.json.
#include <iostream>

#include "base/json.h"
#include "protocol/schema.h"

int main() {
  std::cout << assay::json::write(assay::protocol::json_schema(), {.indent = 2}) << '\n';
  return std::cout.flush() ? 0 : 3;
}

#include "machine/detect.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text.h"

namespace assay::machine {

namespace {

// First `key : value` line of a /proc style file.
std::optional<std::string> field(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos || trim(line.substr(0, colon)) != key) continue;
    const std::string_view value = trim(line.substr(colon + 1));
    if (!value.empty()) return std::string(value);
  }
  return std::nullopt;
}

// NAME="value" of /etc/os-release.
std::optional<std::string> release_field(std::string_view text, std::string_view key) {
  for (std::string_view line : split(text, '\n')) {
    line = trim(line);
    if (!line.starts_with(key) || line.size() <= key.size() || line[key.size()] != '=') continue;
    std::string_view value = line.substr(key.size() + 1);
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') &&
        value.back() == value.front()) {
      value = value.substr(1, value.size() - 2);
    }
    if (!value.empty()) return std::string(value);
  }
  return std::nullopt;
}

// Device-tree strings end with a NUL byte.
std::string clean(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
  return std::string(trim(text));
}

// "CPU implementer / CPU part" of the Arm cores that our users run on.
std::optional<std::string> arm_core(std::string_view cpuinfo) {
  struct Core {
    std::string_view implementer, part, name;
  };
  static constexpr Core kCores[] = {
      {"0x41", "0xd4f", "Arm Neoverse V2"}, {"0x41", "0xd40", "Arm Neoverse V1"},
      {"0x41", "0xd0c", "Arm Neoverse N1"}, {"0x41", "0xd49", "Arm Neoverse N2"},
      {"0x41", "0xd85", "Arm Cortex-X925"}, {"0x41", "0xd87", "Arm Cortex-A725"}};
  const auto implementer = field(cpuinfo, "CPU implementer");
  if (!implementer) return std::nullopt;
  // A big.LITTLE machine is named by its biggest core, which the table lists first.
  for (const Core& core : kCores) {
    for (const std::string_view line : split(cpuinfo, '\n')) {
      if (trim(line).starts_with("CPU part") && line.find(core.part) != std::string_view::npos &&
          *implementer == core.implementer) {
        return std::string(core.name);
      }
    }
  }
  return std::nullopt;
}

class Detector {
 public:
  explicit Detector(const Host& host) : host_(host) {}

  Detected run() {
    if (host_.platform() == Platform::macos) {
      detect_macos();
    } else {
      detect_linux();
    }
    detect_common();
    detect_gpu();
    apply_overrides();
    system_.set("os", os_);
    system_.set("chip", chip_);
    system_.set("memory_gb", memory_gb_);
    // The three required facts first, whatever was found in between.
    auto& members = system_.members();
    std::stable_partition(members.begin(), members.end(), [](const json::Member& member) {
      return member.first == "os" || member.first == "chip" || member.first == "memory_gb";
    });
    return {std::move(system_), std::move(warnings_)};
  }

 private:
  void detect_linux() {
    if (const auto release = host_.file("/etc/os-release")) {
      if (const auto name = release_field(*release, "PRETTY_NAME")) os_ = *name;
    }
    const std::string cpuinfo = host_.file("/proc/cpuinfo").value_or("");
    if (const auto name = field(cpuinfo, "model name")) {
      chip_ = *name;
    } else {
      chip_ = linux_board(cpuinfo);
    }
    if (const auto meminfo = host_.file("/proc/meminfo")) {
      if (const auto total = field(*meminfo, "MemTotal")) {
        const auto kilobytes = parse_int64(total->substr(0, total->find(' ')));
        if (kilobytes) memory_gb_ = std::llround(static_cast<double>(*kilobytes) / (1 << 20));
      }
    }
  }

  std::string linux_board(const std::string& cpuinfo) const {
    for (const char* path : {"/sys/firmware/devicetree/base/model", "/proc/device-tree/model",
                             "/sys/class/dmi/id/product_name"}) {
      const auto text = host_.file(path);
      if (text && !clean(*text).empty()) return clean(*text);
    }
    if (const auto core = arm_core(cpuinfo)) return *core;
    const std::string machine = host_.kernel().machine;
    return machine.empty() ? "unknown" : machine;
  }

  void detect_macos() {
    if (const auto version = sysctl("kern.osproductversion")) os_ = cat("macOS ", *version);
    if (const auto brand = sysctl("machdep.cpu.brand_string")) chip_ = *brand;
    if (const auto bytes = sysctl("hw.memsize")) {
      if (const auto value = parse_int64(*bytes)) {
        memory_gb_ = std::llround(static_cast<double>(*value) / (1 << 30));
      }
    }
  }

  std::optional<std::string> sysctl(const std::string& name) const {
    const auto text = host_.run({"/usr/sbin/sysctl", "-n", name});
    if (!text || trim(*text).empty()) return std::nullopt;
    return std::string(trim(*text));
  }

  void detect_common() {
    const Host::Kernel kernel = host_.kernel();
    if (!kernel.release.empty()) system_.set("kernel", kernel.release);
    if (!kernel.node.empty()) system_.set("hostname", kernel.node.substr(0, kernel.node.find('.')));
    for (const char* name : {"RUNNER_NAME", "GITHUB_RUNNER_LABEL"}) {
      const auto value = host_.environment(name);
      if (value && !trim(*value).empty()) {
        system_.set("runner", *value);
        break;
      }
    }
  }

  void detect_gpu() {
    if (host_.platform() != Platform::linux_) return;
    const auto text =
        host_.run({"nvidia-smi", "--query-gpu=name,memory.total,driver_version,power.limit",
                   "--format=csv,noheader,nounits"});
    if (!text) return;
    const std::string_view line = trim(std::string_view(*text).substr(0, text->find('\n')));
    const auto cells = split(line, ',');
    if (cells.size() != 4) return;
    gpu_.set("model", json::Value(trim(cells[0])));
    if (const auto mebibytes = parse_double(trim(cells[1]))) {
      gpu_.set("vram_gb", std::round(*mebibytes / 1024 * 10) / 10);
    }
    gpu_.set("driver", json::Value(trim(cells[2])));
    if (const auto watts = parse_double(trim(cells[3]))) system_.set("power_limit_w", *watts);
    // The header of plain nvidia-smi names the CUDA version that the driver supports.
    if (const auto header = host_.run({"nvidia-smi"})) {
      const size_t at = header->find("CUDA Version:");
      if (at != std::string::npos) {
        const std::string_view rest = trim(std::string_view(*header).substr(at + 13));
        gpu_.set("cuda", json::Value(rest.substr(0, rest.find_first_of(" |\n"))));
      }
    }
  }

  std::optional<std::string> declared(const std::string& name) const {
    const auto value = host_.environment(cat("MLX_BENCH_", name));
    if (!value || trim(*value).empty()) return std::nullopt;
    return std::string(trim(*value));
  }

  std::optional<double> declared_number(const std::string& name) {
    const auto text = declared(name);
    if (!text) return std::nullopt;
    const auto value = parse_double(*text);
    if (value && std::isfinite(*value) && *value >= 0) return value;
    warnings_.push_back(
        cat("MLX_BENCH_", name, " is \"", *text, "\", not a number of at least 0: left out"));
    return std::nullopt;
  }

  void apply_overrides() {
    if (const auto text = declared("SYSTEM_OS")) os_ = *text;
    if (const auto text = declared("SYSTEM_CHIP")) chip_ = *text;
    if (const auto text = declared("SYSTEM_MEMORY_GB")) {
      const auto value = parse_int64(*text);
      if (value && *value >= 0) {
        memory_gb_ = *value;
      } else {
        warnings_.push_back(
            cat("MLX_BENCH_SYSTEM_MEMORY_GB is \"", *text, "\", not an integer: detected instead"));
      }
    }
    for (const auto& [name, key] :
         {std::pair{"GPU_MODEL", "model"}, {"GPU_DRIVER", "driver"}, {"GPU_CUDA", "cuda"}}) {
      if (const auto text = declared(name)) gpu_.set(key, *text);
    }
    if (const auto value = declared_number("GPU_VRAM_GB")) gpu_.set("vram_gb", *value);
    if (!gpu_.members().empty()) system_.set("gpu", std::move(gpu_));
    json::Value engine = json::Value::object();
    if (const auto text = declared("ENGINE_NAME")) engine.set("name", *text);
    if (const auto text = declared("ENGINE_VERSION")) engine.set("version", *text);
    if (!engine.members().empty()) system_.set("engine", std::move(engine));
    if (const auto value = declared_number("POWER_LIMIT_W")) system_.set("power_limit_w", *value);
    if (const auto text = declared("CONTAINER")) system_.set("container", *text);
    apply_topology();
    if (system_.find("gpu") != nullptr && system_.find("power_limit_w") == nullptr) {
      warnings_.emplace_back("system.gpu without power_limit_w: set MLX_BENCH_POWER_LIMIT_W");
    }
  }

  void apply_topology() {
    json::Value topology = json::Value::object();
    if (const auto text = declared("WORLD_SIZE")) {
      const auto value = parse_int64(*text);
      if (value && *value >= 1) {
        topology.set("world_size", *value);
      } else {
        warnings_.push_back(cat("MLX_BENCH_WORLD_SIZE is \"", *text, "\", not a count: left out"));
      }
    }
    if (const auto text = declared("PARALLELISM")) {
      if (*text == "pipeline" || *text == "tensor" || *text == "none") {
        topology.set("parallelism", *text);
      } else {
        warnings_.push_back(cat("MLX_BENCH_PARALLELISM is \"", *text,
                                "\", expected pipeline, tensor or none: left out"));
      }
    }
    if (const auto text = declared("INTERCONNECT")) topology.set("interconnect", *text);
    if (const auto text = declared("NODES")) {
      auto nodes = json::parse(*text);
      if (nodes && nodes->is_array()) {
        topology.set("nodes", *std::move(nodes));
      } else {
        warnings_.emplace_back("MLX_BENCH_NODES is no JSON array: left out");
      }
    }
    if (!topology.members().empty()) system_.set("topology", std::move(topology));
  }

  const Host& host_;
  std::string os_ = "unknown";
  std::string chip_ = "unknown";
  int64_t memory_gb_ = 0;
  json::Value system_ = json::Value::object();
  json::Value gpu_ = json::Value::object();
  std::vector<std::string> warnings_;
};

}  // namespace

Detected detect_system(const Host& host) {
  return Detector(host).run();
}

}  // namespace assay::machine

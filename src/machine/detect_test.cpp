#include "machine/detect.h"

#include <gtest/gtest.h>

#include <map>

namespace assay::machine {
namespace {

class FakeHost final : public Host {
 public:
  Platform platform_value = Platform::linux_;
  std::map<std::string, std::string> files, variables;
  std::map<std::string, std::string> commands;  // by joined argv
  Kernel kernel_value{"box.example", "6.1.0", "x86_64"};

  [[nodiscard]] Platform platform() const override { return platform_value; }
  [[nodiscard]] std::optional<std::string> file(const std::string& path) const override {
    return look(files, path);
  }
  [[nodiscard]] std::optional<std::string> environment(const std::string& name) const override {
    return look(variables, name);
  }
  [[nodiscard]] std::optional<std::string> run(
      const std::vector<std::string>& argv) const override {
    std::string line;
    for (const std::string& argument : argv) line += (line.empty() ? "" : " ") + argument;
    return look(commands, line);
  }
  [[nodiscard]] Kernel kernel() const override { return kernel_value; }

 private:
  static std::optional<std::string> look(const std::map<std::string, std::string>& table,
                                         const std::string& key) {
    const auto found = table.find(key);
    if (found == table.end()) return std::nullopt;
    return found->second;
  }
};

std::string text(const json::Value& system, std::string_view key) {
  const json::Value* value = system.find(key);
  return value == nullptr ? "(absent)" : value->is_string() ? value->string() : json::write(*value);
}

TEST(Detect, LinuxOnX86) {
  FakeHost host;
  host.files["/etc/os-release"] =
      "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n";
  host.files["/proc/cpuinfo"] =
      "processor\t: 0\nmodel name\t: Example CPU 9000\n\nprocessor\t: 1\nmodel name\t: Example CPU "
      "9000\n";
  host.files["/proc/meminfo"] = "MemTotal:       24640000 kB\nMemFree: 1 kB\n";
  const auto [system, warnings] = detect_system(host);
  EXPECT_EQ(text(system, "os"), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(text(system, "chip"), "Example CPU 9000");
  EXPECT_EQ(text(system, "memory_gb"), "23");  // 24640000 / 1048576 = 23.498…
  EXPECT_EQ(text(system, "kernel"), "6.1.0");
  EXPECT_EQ(text(system, "hostname"), "box");
  EXPECT_EQ(text(system, "gpu"), "(absent)");
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(system.members()[0].first, "os");
}

TEST(Detect, LinuxOnArmNamesTheBoardElseTheCore) {
  FakeHost host;
  host.files["/proc/cpuinfo"] =
      "CPU implementer\t: 0x41\nCPU part\t: 0xd87\nCPU implementer\t: 0x41\nCPU part\t: 0xd85\n";
  EXPECT_EQ(text(detect_system(host).system, "chip"), "Arm Cortex-X925");
  host.files["/proc/device-tree/model"] = std::string("NVIDIA DGX Spark\0", 17);
  EXPECT_EQ(text(detect_system(host).system, "chip"), "NVIDIA DGX Spark");
}

TEST(Detect, NothingFoundIsUnknownNotInvented) {
  FakeHost host;
  host.kernel_value = {};
  const json::Value system = detect_system(host).system;
  EXPECT_EQ(json::write(system), R"({"os":"unknown","chip":"unknown","memory_gb":0})");
}

TEST(Detect, MacOs) {
  FakeHost host;
  host.platform_value = Platform::macos;
  host.commands["/usr/sbin/sysctl -n kern.osproductversion"] = "26.4.1\n";
  host.commands["/usr/sbin/sysctl -n machdep.cpu.brand_string"] = "Apple M4 Max\n";
  host.commands["/usr/sbin/sysctl -n hw.memsize"] = "137438953472\n";
  const json::Value system = detect_system(host).system;
  EXPECT_EQ(text(system, "os"), "macOS 26.4.1");
  EXPECT_EQ(text(system, "chip"), "Apple M4 Max");
  EXPECT_EQ(text(system, "memory_gb"), "128");
}

TEST(Detect, GpuThroughNvidiaSmi) {
  FakeHost host;
  host.commands
      ["nvidia-smi --query-gpu=name,memory.total,driver_version,power.limit "
       "--format=csv,noheader,nounits"] = "NVIDIA H200, 143771, 580.65.06, 700.00\n";
  host.commands["nvidia-smi"] =
      "| NVIDIA-SMI 580.65.06    Driver Version: 580.65.06      CUDA Version: 13.0     |\n";
  const auto [system, warnings] = detect_system(host);
  // 143771 MiB / 1024 = 140.4 GiB
  EXPECT_EQ(text(system, "gpu"),
            R"({"model":"NVIDIA H200","vram_gb":140.4,"driver":"580.65.06","cuda":"13.0"})");
  EXPECT_EQ(text(system, "power_limit_w"), "700.0");
  EXPECT_TRUE(warnings.empty());
}

TEST(Detect, OverridesWinAndBadNumbersAreDroppedWithAWarning) {
  FakeHost host;
  host.variables = {{"MLX_BENCH_SYSTEM_OS", "Mine"},       {"MLX_BENCH_SYSTEM_MEMORY_GB", "x"},
                    {"MLX_BENCH_GPU_MODEL", "G"},          {"MLX_BENCH_GPU_VRAM_GB", "-1"},
                    {"MLX_BENCH_ENGINE_NAME", "e"},        {"MLX_BENCH_WORLD_SIZE", "0"},
                    {"MLX_BENCH_PARALLELISM", "sideways"}, {"MLX_BENCH_NODES", "{}"},
                    {"MLX_BENCH_CONTAINER", "c:1"},        {"RUNNER_NAME", "r"}};
  const auto [system, warnings] = detect_system(host);
  EXPECT_EQ(text(system, "os"), "Mine");
  EXPECT_EQ(text(system, "memory_gb"), "0");
  EXPECT_EQ(text(system, "gpu"), R"({"model":"G"})");
  EXPECT_EQ(text(system, "engine"), R"({"name":"e"})");
  EXPECT_EQ(text(system, "topology"), "(absent)");
  EXPECT_EQ(text(system, "container"), "c:1");
  EXPECT_EQ(text(system, "runner"), "r");
  EXPECT_EQ(warnings.size(),
            6u);  // memory, vram, world size, parallelism, nodes, gpu without power limit
}

TEST(ThisHost, RunsCommandsWithoutAShellAndWithADeadline) {
  const Host& host = this_host();
  EXPECT_EQ(host.run({"echo", "a b", "$HOME"}), "a b $HOME\n");
  EXPECT_EQ(host.run({"false"}), std::nullopt);
  EXPECT_EQ(host.run({"no-such-program-here"}), std::nullopt);
  EXPECT_FALSE(host.kernel().release.empty());
}

}  // namespace
}  // namespace assay::machine

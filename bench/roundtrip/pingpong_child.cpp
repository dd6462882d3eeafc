// The other end of the bare pipe: answers each line it reads with the same line of given length.
// What no engine can be faster than: one blocking read, one write.
#include <unistd.h>

#include <cstdlib>
#include <string>

int main(int argc, char** argv) {
  const size_t size = argc > 1 ? std::strtoul(argv[1], nullptr, 10) : 1;
  const std::string answer = std::string(size - 1, 'x') + "\n";
  char buffer[65536];
  for (;;) {
    size_t got = 0;
    do {
      const ssize_t count = read(0, buffer + got, sizeof buffer - got);
      if (count <= 0) return 0;
      got += static_cast<size_t>(count);
    } while (buffer[got - 1] != '\n');
    if (write(1, answer.data(), answer.size()) < 0) return 1;
  }
}

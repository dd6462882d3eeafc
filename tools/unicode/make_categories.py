#!/usr/bin/env python3
"""Writes src/engine/tokenizer/unicode_categories.inc: the four classes that token splitters ask for.

L, M, N are the general categories that start with that letter; S is the property White_Space. The
table holds the code points at which the class changes.

    pip install unicodedata2==16.0.0        # or use Python's own unicodedata, of an older version
    tools/unicode/make_categories.py > src/engine/tokenizer/unicode_categories.inc
"""

try:
    import unicodedata2 as unicodedata
except ImportError:
    import unicodedata

# PropList.txt, White_Space; unchanged since Unicode 6.3.
WHITE_SPACE = {*range(0x09, 0x0E), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029,
               0x202F, 0x205F, 0x3000}


def class_of(code_point: int) -> str:
    if code_point in WHITE_SPACE:
        return "S"
    category = unicodedata.category(chr(code_point))[0]
    return category if category in "LMN" else "O"


def main() -> None:
    boundaries = []
    before = None
    for code_point in range(0x110000):
        now = class_of(code_point)
        if now != before:
            boundaries.append(f"{{0x{code_point:X}, {now}}}")
        before = now
    print(f"// Made by tools/unicode/make_categories.py from Unicode {unicodedata.unidata_version}."
          " Do not edit.")
    line = ""
    for boundary in boundaries:
        if len(line) + len(boundary) + 2 > 100:
            print(line.rstrip())
            line = ""
        line += boundary + ", "
    print(line.rstrip())


if __name__ == "__main__":
    main()

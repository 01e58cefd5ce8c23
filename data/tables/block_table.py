"""Makes block_table.npy: the table of pages of a cache in use, as serving engines keep it.

  block_table.py OUT

A pool of 64 pages of 16 keys serves requests one after another. A request takes the pages
that were freed last. Two requests with the same 32 first keys share two pages. A row of the
table keeps its old entries when a request ends, and a shorter one overwrites only the
first of them. No random number is drawn.
"""

import struct
import sys

PAGES, ROWS, ENTRIES, SIZE = 64, 4, 12, 16
PREFIX = 2  # pages of the keys that many requests begin with


class Cache:

    def __init__(self):
        self.free = list(range(PAGES - 1, -1, -1))
        self.prefix = [self.free.pop() for _ in range(PREFIX)]
        self.table = [[-1] * ENTRIES for _ in range(ROWS)]
        self.own = [[] for _ in range(ROWS)]

    def start(self, row, keys, shares):
        count = -(-keys // SIZE)
        first = self.prefix if shares else []
        self.own[row] = [self.free.pop() for _ in range(count - len(first))]
        self.table[row][:count] = first + self.own[row]

    def end(self, row):
        self.free += self.own[row]
        self.own[row] = []


def main():
    cache = Cache()
    for row, keys in enumerate((190, 130, 60, 90)):
        cache.start(row, keys, shares=row % 2 == 0)
    for row, keys, shares in ((1, 77, True), (3, 32, False), (0, 150, True),
                              (2, 97, True)):
        cache.end(row)
        cache.start(row, keys, shares)
    head = str({"descr": "<i4", "fortran_order": False, "shape": (ROWS, ENTRIES)})
    head = head.ljust(117) + "\n"
    with open(sys.argv[1], "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        for row in cache.table:
            file.write(struct.pack(f"<{ENTRIES}i", *row))
    for row in cache.table:
        print(*row)


if __name__ == "__main__":
    main()

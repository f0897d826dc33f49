"""The tool of the clerk: reports of the harbour office, the same ones each time."""

from __future__ import annotations

SHIPS = ("Aurora", "Borealis", "Calypso", "Dione", "Europa", "Fortuna", "Galatea", "Hesperia")
GOODS = ("oranges", "steel", "cork", "paper", "coffee", "salt", "timber", "glass")


def read_report(number: int) -> str:
    """Read a report of the harbour office.

    Args:
        number: Its number. Even ones are short, odd ones are long.
    """
    size = 8_000 if number % 2 == 0 else 20_000
    head = f"Report {number} counts {3 * number + 11} ships in the port."
    lines = [head]
    row = 0
    while sum(map(len, lines)) + len(lines) < size:
        ship, goods = SHIPS[(number + row) % 8], GOODS[(number * 3 + row) % 8]
        lines.append(f"berth {row + 1}: {ship} {number}-{row}, {17 * row + number} crates of {goods}, cleared")
        row += 1
    return "\n".join(lines)[:size]

"""Tools of the help desk: measuring lines, booking visits, invoices and credits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from orchestra import ToolContext, tool


def _customer(number: str) -> dict[str, Any]:
    customers: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent / "customers.json").read_text())
    if number not in customers:
        raise ValueError(f"there is no customer {number}; there are {', '.join(customers)}")
    return customers[number]


@tool
def line_test(customer: str) -> str:
    """Measure a customer's line.

    Args:
        customer: The customer's number.
    """
    line = _customer(customer)["line"]
    drops = line["drops_by_hour"]
    worst = max(drops, key=lambda hour: drops[hour])
    return (
        f"attenuation {line['attenuation_db']} dB, noise margin {line['margin_db']} dB, "
        f"{sum(drops.values())} drops in 7 days, most of them at {worst}:00; last event: {line['event']}"
    )


@tool
def book_visit(customer: str, day: str, earliest: str = "08:00") -> str:
    """Book a technician's visit.

    Args:
        customer: The customer's number.
        day: The day of the week.
        earliest: Not before this time.
    """
    _customer(customer)
    return f"booked: {day}, not before {earliest}, reference V-{customer}-{day[:3].upper()}"


@tool
def invoices(customer: str) -> list[dict[str, Any]]:
    """A customer's invoices, the newest first.

    Args:
        customer: The customer's number.
    """
    found: list[dict[str, Any]] = _customer(customer)["invoices"]
    return found


@tool
def credit(customer: str, invoice: str, amount: float, reason: str, ctx: ToolContext) -> str:
    """Credit an amount of an invoice. It is given once for each invoice.

    Args:
        customer: The customer's number.
        invoice: The invoice's number.
        amount: How much, in euros, at most 100.
        reason: Why.
    """
    found = next((one for one in _customer(customer)["invoices"] if one["number"] == invoice), None)
    if found is None:
        raise ValueError(f"customer {customer} has no invoice {invoice}")
    if not 0 < amount <= min(100, sum(item["euros"] for item in found["items"])):
        raise ValueError(f"{amount:.2f} euros cannot be credited on invoice {invoice}")
    if ctx.agent.state.get(f"credited {invoice}") is not None:
        return f"{ctx.agent.state.get(f'credited {invoice}'):.2f} euros were credited already"
    ctx.agent.state.set(f"credited {invoice}", amount)  # this agent's own, kept with the session
    return f"{amount:.2f} euros credited on invoice {invoice}: {reason}"

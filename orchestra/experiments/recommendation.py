"""Which frequency to take, why, and how much that depends on prices; and whether adapting pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from orchestra.experiments.measures import score
from orchestra.experiments.summary import ArmSummary, WorkloadSummary

#: Prices of a sleep-time token against one of the primary, relative to the price list.
RATIOS = (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)
#: An adaptive arm may use this much more than the fixed one that it is held against.
ALLOWANCE = 1.1
#: Freshness that nobody would notice.
TOLERANCE = 0.005


@dataclass(frozen=True, slots=True)
class AdaptiveVerdict:
    """How an adaptive arm compares with the recommended fixed one, and with one of about its own cost.

    ``reaches``: it is as fresh as the recommended one (within the interval) at no more than its tokens plus 10 %.
    ``pays``: the same against ``peer``, the fixed arm with the fewest tokens that allow for its own.
    """

    arm: str
    against: str
    reaches: bool
    peer: str
    pays: bool
    text: str


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The arm to take for a workload (``None``: no fixed arm was played), and the reason in words.

    ``by_ratio``: the arm for each price ratio.
    """

    workload: str
    arm: str | None
    text: str
    by_ratio: Mapping[float, str]
    adaptive: tuple[AdaptiveVerdict, ...]


def recommend(workload: WorkloadSummary, *, worth: float) -> Recommendation:
    """The fixed arm with the best score. With prices of 0 the tokens decide nothing and the freshest wins."""
    every = [one for one in workload.of_kind("fixed", "off") if one.freshness is not None]
    # The gold consolidator is a bound, not a choice.
    fixed = [one for one in every if one.arm.consolidator != "gold"] or every
    if not fixed:
        return Recommendation(workload.name, None, "No fixed frequency was played, so none is recommended.", {}, ())
    best = max(fixed, key=lambda one: _score(one, worth))
    by_ratio = {ratio: max(fixed, key=lambda one: _score(one, worth * ratio)).arm.name for ratio in RATIOS}
    verdicts = tuple(
        _verdict(one, best, every, worth) for one in workload.of_kind("trigger") if "adaptive" in one.arm.name
    )
    near = [one for one in fixed if _alike(one, best)]
    text = " ".join([_reason(best, near, worth), _equals(best, near), _sensitivity(by_ratio)])
    return Recommendation(workload.name, best.arm.name, text.replace("  ", " "), by_ratio, verdicts)


def _score(arm: ArmSummary, worth: float) -> float:
    fresh = arm.freshness.value if arm.freshness else 0.0
    return score(fresh, sleep=arm.money_sleep, primary=arm.money_primary, worth=worth)


def _reason(best: ArmSummary, fixed: Sequence[ArmSummary], worth: float) -> str:
    share = best.money_sleep / best.money_primary if best.money_primary else 0.0
    text = f"Take {best.arm.name}: freshness {_number(best)} for {share:.0%} on top of what the answers cost."
    order = sorted(fixed, key=lambda one: one.tokens_sleep)
    at = order.index(best)
    if at + 1 < len(order):
        more = order[at + 1]
        extra = (more.money_sleep - best.money_sleep) / best.money_primary if best.money_primary else 0.0
        gain = _points(more, best)
        text += f" Next oftener, {more.arm.name}, would change it by {gain:+.3f} for another {extra:.0%}:"
        text += f" less than the {worth * extra:.3f} that you ask for (worth {worth:g})."
    if at > 0:
        less = order[at - 1]
        saved = (best.money_sleep - less.money_sleep) / best.money_primary if best.money_primary else 0.0
        text += f" Next rarer, {less.arm.name}, would save {saved:.0%} and change it by {_points(less, best):+.3f}."
    return text


def _points(one: ArmSummary, other: ArmSummary) -> float:
    return (one.freshness.value if one.freshness else 0.0) - (other.freshness.value if other.freshness else 0.0)


def _gap(one: ArmSummary, other: ArmSummary) -> str:
    """How much fresher one arm is, with the interval of the difference over the same questions."""
    found = one.difference(other)
    return f"{found.value:+.3f} ({found.low:+.3f} to {found.high:+.3f})" if found else "unknown"


def _equals(best: ArmSummary, fixed: Sequence[ArmSummary]) -> str:
    same = []
    for one in fixed:
        gap = one.difference(best)
        if one is not best and gap is not None and gap.low <= 0 <= gap.high:
            same.append(one.arm.name)
    return f"These questions cannot tell its freshness from that of {', '.join(same)}." if same else ""


def _sensitivity(by_ratio: Mapping[float, str]) -> str:
    if len(set(by_ratio.values())) == 1:
        return "It stays the choice when a sleep-time token costs from 0.1 to 4 times what the price list says."
    parts: list[tuple[str, list[float]]] = []
    for ratio, name in by_ratio.items():
        if not parts or parts[-1][0] != name:
            parts.append((name, []))
        parts[-1][1].append(ratio)
    told = [f"{name} at {_span(ratios)}" for name, ratios in parts]
    return f"With a sleep-time token at other prices (times the price list): {'; '.join(told)}."


def _span(ratios: Sequence[float]) -> str:
    return f"{ratios[0]:g}" if len(ratios) == 1 else f"{ratios[0]:g} to {ratios[-1]:g}"


def _verdict(arm: ArmSummary, best: ArmSummary, fixed: Sequence[ArmSummary], worth: float) -> AdaptiveVerdict:
    same = [one for one in fixed if _alike(one, arm)]
    held = best if _alike(best, arm) else max(same or fixed, key=lambda one: _score(one, worth))
    reaches = _fresh_enough(arm, held) and arm.tokens_sleep <= ALLOWANCE * held.tokens_sleep
    near = [one for one in same or fixed if ALLOWANCE * one.tokens_sleep >= arm.tokens_sleep]
    peer = min(near, key=lambda one: one.tokens_sleep) if near else held
    pays = bool(near) and _fresh_enough(arm, peer)
    relation = arm.tokens_sleep / held.tokens_sleep - 1 if held.tokens_sleep else 0.0
    text = (
        f"{arm.arm.name} {'reaches' if reaches else 'does not reach'} {held.arm.name} within 10 % of its tokens:"
        f" freshness {_gap(arm, held)}, tokens {relation:+.0%}."
    )
    if not reaches:
        text += (
            f" Against {peer.arm.name}, the rarest that may cost what it does ({peer.tokens_sleep:,.0f} tokens to"
            f" {arm.tokens_sleep:,.0f}): freshness {_gap(arm, peer)}."
        )
    return AdaptiveVerdict(arm.arm.name, held.arm.name, reaches, peer.arm.name, pays, text)


def _alike(one: ArmSummary, other: ArmSummary) -> bool:
    """Whether they differ only in how often they sleep; a block that stays empty has no size."""
    asleep = {(arm.arm.consolidator, arm.arm.block_limit) for arm in (one, other) if arm.arm.kind != "off"}
    return len(asleep) <= 1 and one.arm.window == other.arm.window


def _fresh_enough(arm: ArmSummary, other: ArmSummary) -> bool:
    gap = arm.difference(other)
    return gap is not None and gap.high >= -TOLERANCE


def _number(arm: ArmSummary) -> str:
    found = arm.freshness
    return f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})" if found else "unknown"

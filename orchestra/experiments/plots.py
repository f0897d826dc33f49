"""The plots of a report, as PNG."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from orchestra.experiments.intervals import Estimate
from orchestra.experiments.recommendation import Recommendation
from orchestra.experiments.summary import ArmSummary, WorkloadSummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#1b6ca8", "#d1495b", "#3a8f6b", "#c98a1b", "#7a5ea8", "#5b6770", "#b04a8b", "#2f9ab0")
_GREY = "#8a939b"


def can_plot() -> bool:
    """Whether matplotlib is here (extra ``tune``)."""
    return importlib.util.find_spec("matplotlib") is not None


def plots(workload: WorkloadSummary, advice: Recommendation) -> dict[str, bytes]:
    """PNG images by name. The same summary gives the same picture."""
    drawn: Mapping[str, Callable[[Axes, WorkloadSummary, Recommendation], None]] = {
        "freshness": _freshness,
        "recall": _recall,
        "staleness": _staleness,
        "cost": _cost,
    }
    tall = max(4.8, 1.2 + 0.26 * len(workload.arms))
    return {
        name: _png(lambda axes, draw=draw: draw(axes, workload, advice), tall if name == "cost" else 4.8)  # type: ignore[misc]
        for name, draw in drawn.items()
    }


def _png(draw: Callable[[Axes], None], height: float) -> bytes:
    import matplotlib as mpl

    mpl.use("agg")
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        "font.size": 11,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e6e9ec",
        "axes.axisbelow": True,
        "axes.titlelocation": "left",
        "axes.titlesize": 12,
        "axes.titleweight": "bold",
    }
    with mpl.rc_context(style):
        figure = Figure(figsize=(8, height), layout="constrained")
        draw(figure.add_subplot())
        out = io.BytesIO()
        figure.savefig(out, format="png", dpi=120, metadata={"Software": None})
    return out.getvalue()


def _freshness(axes: Axes, workload: WorkloadSummary, advice: Recommendation) -> None:
    """Freshness against the tokens of sleeping, with the front and the recommended arm."""
    asleep = [one for one in workload.of_kind("fixed", "off", "trigger") if one.freshness is not None]
    for group, arms in enumerate(_groups([one for one in asleep if one.arm.kind in ("fixed", "off")])):
        colour = _COLOURS[group % len(_COLOURS)]
        _errors(axes, [one.tokens_sleep for one in arms], arms, colour, label=_group_name(arms[0], asleep), line=True)
        for one in arms:
            if one.arm.every is not None:
                spot = (one.tokens_sleep, one.freshness.value if one.freshness else 0.0)
                axes.annotate(f"{one.arm.every}", spot, (5, -12), textcoords="offset points", fontsize=10, color=colour)
    others = [one for one in asleep if one.arm.kind == "trigger"]
    kinds = [_kind(arms[0]) for arms in _groups([one for one in asleep if one.arm.kind in ("fixed", "off")])]
    shapes = dict(zip(dict.fromkeys(one.arm.trigger.label for one in others), "sDv^P*Xh" * 4, strict=False))
    for number, one in enumerate(others):
        # The colour tells its kind, as it does for the lines; the shape tells the trigger.
        group = kinds.index(_kind(one)) if len(kinds) > 1 and _kind(one) in kinds else 4 + number
        colour = _COLOURS[group % len(_COLOURS)]
        _errors(axes, [one.tokens_sleep], [one], colour, label=one.arm.name, marker=shapes[one.arm.trigger.label])
    front = _front(asleep)
    axes.step(
        [one.tokens_sleep for one in front],
        [one.freshness.value if one.freshness else 0.0 for one in front],
        where="post", color=_GREY, linestyle=":", linewidth=1.2, label="Pareto front", zorder=1,
    )  # fmt: skip
    for one in workload.of_kind("baseline"):
        if one.freshness is not None:
            axes.axhline(one.freshness.value, color=_GREY, linewidth=0.8, linestyle="--", zorder=0)
    lines = sorted((one.freshness.value, one.arm.name) for one in workload.of_kind("baseline") if one.freshness)
    _right_labels(axes, lines)
    best = next((one for one in asleep if one.arm.name == advice.arm), None)
    if best is not None and best.freshness is not None:
        ring = [best.tokens_sleep], [best.freshness.value]
        label = f"recommended: {best.arm.name}"
        axes.scatter(*ring, s=200, facecolors="none", edgecolors="black", zorder=5, label=label)
    axes.set_ylim(-0.03, 1.06)
    axes.set_xlim(left=0)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value / 1000:g}k" if value else "0")
    axes.set_xlabel("tokens of the sleep-time agent for one conversation")
    axes.set_ylabel("freshness")
    axes.set_title(f"{workload.name}: what more frequent passes buy (numbers: turns between passes)")
    if len(axes.get_legend_handles_labels()[1]) > 8:
        axes.legend(frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    else:
        axes.legend(frameon=False, fontsize=9, loc="lower right")


def _recall(axes: Axes, workload: WorkloadSummary, advice: Recommendation) -> None:
    """Evidence recall by lag: a line for each fixed arm of the recommended kind, and the baselines."""
    places = list(next(iter(workload.arms)).recall)
    ticks = range(len(places))
    fixed = _group_of(advice, workload)
    shown = [*fixed, *(one for one in workload.of_kind("baseline"))]
    shades = _shades(len(fixed))
    for i, one in enumerate(shown):
        values = [found.value if (found := one.recall[place]) is not None else float("nan") for place in places]
        chosen = one.arm.name == advice.arm
        if one.arm.kind == "baseline":
            axes.plot(ticks, values, color=_GREY, linestyle=("--", ":", "-.")[i % 3], linewidth=1.4, label=one.arm.name)
        else:
            name = f"{one.arm.name} (recommended)" if chosen else one.arm.name
            axes.plot(ticks, values, color=shades[i], marker="o", ms=4, linewidth=3 if chosen else 1.5, label=name)
    axes.set_xticks(list(ticks), [place.removeprefix("lag ") for place in places])
    axes.set_ylim(-0.03, 1.06)
    axes.set_xlabel("turns after the fact was last stated")
    axes.set_ylabel("share of the evidence in memory")
    axes.set_title(f"{workload.name}: how soon memory has what was said")
    axes.legend(frameon=False, fontsize=9, bbox_to_anchor=(1.01, 1), loc="upper left")


def _staleness(axes: Axes, workload: WorkloadSummary, advice: Recommendation) -> None:
    """Mean staleness by N beside a perfect consolidator's; for the recommended kind the share that never came."""
    for group, arms in enumerate(_groups(workload.of_kind("fixed"))):
        found = [(one.arm.every or 0, one.staleness) for one in arms if one.staleness is not None]
        colour = _COLOURS[group % len(_COLOURS)]
        _bars(axes, found, colour, _group_name(arms[0], workload.of_kind("fixed")) or "mean")
        if not any(one is arms[0] for one in _group_of(advice, workload)):
            continue
        for one in arms:
            if one.never is None or one.staleness is None:
                continue
            spot, share = (one.arm.every or 0, one.staleness.high), one.never.value
            axes.annotate(f"{share:.0%}", spot, (0, 5), textcoords="offset points", fontsize=9,
                          color=colour, ha="center")  # fmt: skip
    every_n = sorted({one.arm.every or 0 for one in workload.of_kind("fixed")})
    axes.plot(every_n, [(n - 1) / 2 for n in every_n], color=_GREY, linestyle="--", label="perfect: (N - 1) / 2")
    axes.set_xticks(every_n)
    axes.tick_params(axis="x", labelsize=9)
    axes.set_xlabel("N, turns between passes")
    axes.set_ylabel("turns")
    axes.set_ylim(bottom=0)
    axes.margins(y=0.15)
    axes.set_title(f"{workload.name}: turns until a fact is in memory (percent: facts that never came)")
    axes.legend(frameon=False, fontsize=9, loc="upper left")


def _cost(axes: Axes, workload: WorkloadSummary, advice: Recommendation) -> None:
    """Money of sleeping and of answering, for each arm."""
    arms = list(workload.arms)
    ticks = range(len(arms))
    sleep, primary = [one.money_sleep * 1000 for one in arms], [one.money_primary * 1000 for one in arms]
    axes.barh(ticks, primary, color="#c5ced6", label="answers")
    axes.barh(ticks, sleep, left=primary, color=_COLOURS[0], label="sleep")
    axes.set_yticks(list(ticks), [f"▸ {one.arm.name}" if one.arm.name == advice.arm else one.arm.name for one in arms])
    axes.tick_params(axis="y", labelsize=9)
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.set_xlabel("money for 1000 conversations, by the price list")
    axes.set_title(f"{workload.name}: what each arm costs")
    axes.legend(frameon=False, fontsize=9, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))


def _errors(
    axes: Axes, x: Sequence[float], arms: Sequence[ArmSummary], colour: str, *, label: str, line: bool = False,
    marker: str = "o",
) -> None:  # fmt: skip
    found = [one.freshness for one in arms if one.freshness is not None]
    _draw(axes, x, found, colour, label, "-" if line else "none", marker)


def _bars(axes: Axes, found: Sequence[tuple[int, Estimate]], colour: str, label: str) -> None:
    _draw(axes, [x for x, _ in found], [one for _, one in found], colour, label, "-", "o")


def _draw(
    axes: Axes, x: Sequence[float], found: Sequence[Estimate], colour: str, label: str, line: str, marker: str
) -> None:
    values = [one.value for one in found]
    # An estimate may lie a hair outside of its own percentiles.
    errors = [[max(0.0, one.value - one.low) for one in found], [max(0.0, one.high - one.value) for one in found]]
    axes.errorbar(x, values, yerr=errors, color=colour, linestyle=line, marker=marker, markersize=5, capsize=2,
                  linewidth=1.5, elinewidth=0.9, label=label or None)  # fmt: skip


def _groups(arms: Sequence[ArmSummary]) -> list[list[ArmSummary]]:
    """Arms that differ only in how often they sleep, by tokens."""
    out: dict[tuple[object, ...], list[ArmSummary]] = {}
    for one in arms:
        out.setdefault(_kind(one), []).append(one)
    return [sorted(group, key=lambda one: one.tokens_sleep) for group in out.values()]


def _kind(one: ArmSummary) -> tuple[object, ...]:
    return one.arm.consolidator, one.arm.block_limit, one.arm.window


def _group_name(arm: ArmSummary, all_: Sequence[ArmSummary]) -> str:
    """What tells a group from the others."""
    parts: list[str] = []
    if len({one.arm.consolidator for one in all_}) > 1:
        parts.append(arm.arm.consolidator)
    if len({one.arm.block_limit for one in all_}) > 1:
        parts.append(f"{arm.arm.block_limit} chars")
    if len({one.arm.window for one in all_}) > 1:
        parts.append(f"window {arm.arm.window}")
    return ", ".join(parts) or "every N turns"


def _group_of(advice: Recommendation, workload: WorkloadSummary) -> list[ArmSummary]:
    """The fixed arms of the recommended one's kind; of the first kind when none is recommended."""
    groups = _groups(workload.of_kind("fixed"))
    mine = (group for group in groups if any(one.arm.name == advice.arm for one in group))
    return next(mine, groups[0] if groups else [])


def _front(arms: Sequence[ArmSummary]) -> list[ArmSummary]:
    """The arms that no other beats in both freshness and tokens."""
    out: list[ArmSummary] = []
    for one in sorted(arms, key=lambda one: (one.tokens_sleep, -(one.freshness.value if one.freshness else 0.0))):
        if not out or (one.freshness and out[-1].freshness and one.freshness.value > out[-1].freshness.value):
            out.append(one)
    return out


def _shades(count: int) -> list[tuple[float, float, float, float]]:
    """From rare to frequent."""
    import matplotlib as mpl

    scale = mpl.colormaps["viridis"]
    return [scale(0.05 + 0.85 * i / max(1, count - 1)) for i in range(count)]


def _right_labels(axes: Axes, lines: Sequence[tuple[float, str]]) -> None:
    """Names at the right end of horizontal lines; those of lines that are close stand together."""
    groups: list[tuple[float, list[str]]] = []
    for value, name in lines:
        if groups and value - groups[-1][0] < 0.05:
            groups[-1][1].append(name)
        else:
            groups.append((value, [name]))
    for value, names in groups:
        axes.annotate(", ".join(names), (1.0, value), (0, 4), xycoords=("axes fraction", "data"),
                      textcoords="offset points", fontsize=9, color="#5b6770", ha="right")  # fmt: skip

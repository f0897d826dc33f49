"""The report of an experiment: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping, Sequence
from html import escape

from orchestra.experiments.experiment import Experiment
from orchestra.experiments.intervals import Estimate
from orchestra.experiments.recommendation import Recommendation
from orchestra.experiments.summary import ArmSummary, WorkloadSummary

_STYLE = """
body{font:15px/1.55 system-ui,sans-serif;color:#1f2933;max-width:74rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.6rem;margin-bottom:.2rem}h2{margin-top:2.6rem;border-top:1px solid #d9dee3;padding-top:1.2rem}
.advice{background:#eef5fb;border-left:4px solid #1b6ca8;padding:.7rem 1rem;margin:1rem 0}
.note{color:#5b6770}table{border-collapse:collapse;font-size:13px;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.28rem .5rem;text-align:right;border-bottom:1px solid #e6e9ec;white-space:nowrap}
th:first-child,td:first-child{text-align:left}tr.best td{background:#eef5fb;font-weight:600}
tr.baseline td{color:#5b6770;font-style:italic}
th{color:#5b6770;font-weight:600;vertical-align:bottom;white-space:normal;line-height:1.25}
.range{color:#7b8794;font-weight:400}.plots{display:grid;grid-template-columns:repeat(auto-fit,minmax(30rem,1fr));gap:1rem}
figure{margin:0}img{width:100%;border:1px solid #e6e9ec}code{background:#f2f4f6;padding:0 .25rem}
"""
_CAPTIONS = {
    "freshness": "Each point is an arm; up is fresher, left is cheaper. The dotted line: arms that no other beats.",
    "recall": "Asked so many turns after a fact was last stated. At the end frequencies look much more alike.",
    "staleness": "Bars are 95 % intervals. Facts that never came (percent) are not in the mean.",
    "cost": "What sleeping costs beside what the answers cost, by the price list of the experiment.",
}
_READING = """
<h2>How to read this</h2>
<ul>
<li><b>Freshness</b>: the mean over turns of the share of currently true facts that memory states correctly (new value
there, old ones gone). Where the data has no values, the share of a question's evidence among the sources of the
block's lines. Search and full context are held to their evidence.</li>
<li><b>Recall at lag L</b>: the share of a question's evidence that the block's lines name as sources, L turns after the
last of it was said.</li>
<li><b>Staleness</b>: turns until a line carries a fact, of the facts that were ever carried; <b>never</b> is the
rest.</li>
<li><b>Intervals</b> are from a paired bootstrap: every arm is resampled over the same questions.</li>
<li><b>Tokens</b> of sleeping are what one request per pass would read and write, by the same estimate for every arm;
with <code>llm</code> they are what the provider counted.</li>
</ul>
"""


def report(
    experiment: Experiment,
    workloads: Sequence[WorkloadSummary],
    advice: Sequence[Recommendation],
    images: Mapping[str, Mapping[str, bytes]],
    *,
    versions: Mapping[str, str],
    notes: Sequence[str] = (),
) -> str:
    """The HTML text. ``images``: PNG by workload and plot. The same arguments give the same text."""
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    parts = [
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>",
        f"<title>{escape(experiment.name)}</title><style>{_STYLE}</style>",
        f"<h1>{escape(experiment.name)}</h1><p class=note>How often should memory sleep? {escape(used)}.</p>",
        *(f"<p class=note>{escape(note)}</p>" for note in notes),
    ]
    for workload, one in zip(workloads, advice, strict=True):
        parts.append(f"<h2>{escape(workload.name)}</h2>")
        parts.append(f"<p class=note>{workload.size}.</p>")
        parts.append(f"<div class=advice>{escape(one.text)}</div>")
        if one.adaptive:
            parts.append("<ul>" + "".join(f"<li>{escape(verdict.text)}</li>" for verdict in one.adaptive) + "</ul>")
        parts.append(_table(workload, one.arm))
        parts.append(_pictures(workload.name, images.get(workload.name, {})))
        if workload.defects:
            told = "; ".join(f"{what}: {count}" for what, count in workload.defects.items())
            parts.append(f"<p class=note>Faults of the data that were met and handled: {escape(told)}.</p>")
    return "\n".join([*parts, _READING]) + "</html>\n"


def shared_writers_report(
    experiment: Experiment, rows: Sequence[Mapping[str, object]], versions: Mapping[str, str]
) -> str:
    """The HTML text for many writers of one block."""
    used = ", ".join(f"{name} {version}" for name, version in versions.items())
    names = list(rows[0])
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in names)
    body = "".join("<tr>" + "".join(f"<td>{escape(_cell(row[name]))}</td>" for name in names) + "</tr>" for row in rows)
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{escape(experiment.name)}</title>"
        f"<style>{_STYLE}</style><h1>{escape(experiment.name)}</h1>"
        "<p class=note>Agents that write one block while their sleep-time agents tidy it, on the real runtime."
        f" {escape(used)}.</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        "<p><b>Lost updates</b>: lines that an agent wrote and that are gone although nothing else of their slot stands"
        " in their place. It must be 0. Retries (passes that were merged with edits made meanwhile), conflicts, times"
        " and freshness depend on the machine.</p>"
        "</html>\n"
    )


def _cell(value: object) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _table(workload: WorkloadSummary, best: str | None) -> str:
    lags = list(workload.arms[0].recall)
    heads = [
        "arm",
        "freshness",
        "tokens asleep",
        "passes",
        "of these idle",
        "bill",
        *(f"recall, {lag}" for lag in lags),
    ]
    heads += ["staleness, turns", "p95", "never", "updates right after a last pass"]
    body = "".join(_row(one, best, lags) for one in workload.arms)
    head = "".join(f"<th>{escape(name)}</th>" for name in heads)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(one: ArmSummary, best: str | None, lags: Iterable[str]) -> str:
    style = "best" if one.arm.name == best else one.arm.kind
    bill = f"+{one.money_sleep / one.money_primary:.0%}" if one.money_primary else ""
    cells = [
        escape(one.arm.name),
        _range(one.freshness),
        f"{one.tokens_sleep:,.0f}",
        f"{one.passes:.0f}",
        f"{one.idle_passes:.0f}",
        bill,
        *(_plain(one.recall[lag]) for lag in lags),
        _range(one.staleness, 1),
        "" if one.staleness_p95 is None else f"{one.staleness_p95:.0f}",
        _plain(one.never),
        _plain(one.updated),
    ]
    return f"<tr class={style}>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def _range(found: Estimate | None, digits: int = 3) -> str:
    if found is None:
        return ""
    return f"{found.value:.{digits}f} <span class=range>{found.low:.{digits}f}–{found.high:.{digits}f}</span>"


def _plain(found: Estimate | None) -> str:
    return "" if found is None else f"{found.value:.2f}"


def _pictures(name: str, images: Mapping[str, bytes]) -> str:
    figures = []
    for plot, image in images.items():
        data = base64.b64encode(image).decode()
        text = escape(_CAPTIONS.get(plot, ""))
        figures.append(
            f"<figure><img alt='{escape(plot)} of {escape(name)}' src='data:image/png;base64,{data}'>"
            f"<figcaption class=note>{text}</figcaption></figure>"
        )
    return f"<div class=plots>{''.join(figures)}</div>" if figures else ""

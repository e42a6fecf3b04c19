"""Fig. 7 once more: what the six one-way joins do in the simulator, beside what the formulas say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from watersmeet.cost.site import Work
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm
from watersmeet.plot.chart import Line, Table
from watersmeet_lab.papers.claim import Claim, spread
from watersmeet_lab.papers.tracker import Tracker
from watersmeet_lab.semijoin.one_way import Sweep
from watersmeet_lab.semijoin.simulated import Simulated

A = Algorithm
# Work by the letter of the figure, the number of the place, and the algorithm.
Observed = Mapping[tuple[str, int], Mapping[Algorithm, Work]]

# What "the same" is taken to mean: windows hold their rows for a tick more than the formulas have it.
_SAME = 0.1
# Rows per tick are whole numbers, and seconds of measuring few.
_ROUNDING = 0.01


def observed(found: Mapping[str, Sweep], simulated: Simulated, tracker: Tracker) -> Observed:
    """Run every algorithm at three places of every figure."""
    places = [(letter, place) for letter, sweep in found.items() for place in _places(sweep)]
    return {
        (letter, place): {each: simulated.work(found[letter].joins[place], each) for each in PUBLISHED}
        for letter, place in tracker.each(places)
    }


def _places(sweep: Sweep) -> tuple[int, int, int]:
    last = len(sweep.values) - 1
    return 0, last // 2, last


def measured_lines(found: Mapping[str, Sweep], measured: Observed) -> dict[str, list[Line]]:
    """The measured figures, by the title of their panel."""
    lines: dict[str, list[Line]] = {}
    for letter, sweep in found.items():
        places = _places(sweep)
        xs = tuple(sweep.values[place] for place in places)
        lines[sweep.heading] = [
            Line(each.value, xs, tuple(measured[letter, place][each].total for place in places))
            for each in PUBLISHED
        ]
    return lines


def measured_table(found: Mapping[str, Sweep], measured: Observed) -> Table:
    """Formula and measurement in the default setting, with keys that filter and keys that do not."""
    chosen = {"f1 = f2 = 0.1": ("a", 1), "f2 = 0.02": ("c", 0), "f2 = 0.2": ("c", 2)}
    head = ["algorithm"]
    for title in chosen:
        head += [f"{title}: transmission", "measured", "processing", "measured"]
    rows = []
    for each in PUBLISHED:
        row = [each.value]
        for letter, number in chosen.values():
            place = _places(found[letter])[number]
            formula, run = found[letter].work[each][place], measured[letter, place][each]
            row += [f"{formula.transmission:.3f}", f"{run.transmission:.3f}"]
            row += [f"{formula.processing:.4f}", f"{run.processing:.4f}"]
        rows.append(tuple(row))
    return Table("fig7_measured", tuple(head), tuple(rows))


def measured_claims(found: Mapping[str, Sweep], measured: Observed) -> tuple[Claim, ...]:
    """What the simulator confirms, and where it differs from the formulas."""

    def pairs(each: Algorithm) -> Iterator[tuple[Work, Work]]:
        for (letter, place), works in measured.items():
            yield found[letter].work[each][place], works[each]

    def cheaper(one: Algorithm, other: Algorithm) -> int:
        return sum(works[one].total < works[other].total for works in measured.values())

    same = {
        each: max(spread((f.total, m.total)) - 1 for f, m in pairs(each))
        for each in (A.SP_S, A.SP_D, A.SM_D2)
    }
    less = [f.transmission - m.transmission for f, m in pairs(A.SM_S1)]
    told_once = max(m.transmission / f.transmission for f, m in pairs(A.SM_D1))
    hashed = [m.processing / f.processing for f, m in pairs(A.SM_S2)]
    last, middle = _places(found["c"])[2], _places(found["c"])[1]
    levelled = measured["c", last][A.SM_S2].total / measured["c", middle][A.SM_S2].total - 1
    places = len(measured)
    s, d = cheaper(A.SM_S2, A.SM_S1), cheaper(A.SM_D1, A.SM_D2)
    return (
        Claim(
            "SP-S, SP-D and SM-D2 cost what their formulas say (within 10%).",
            ", ".join(f"{each.value} at most {gap:.0%} apart" for each, gap in same.items()),
            max(same.values()) <= _SAME,
            origin="measured",
        ),
        Claim(
            "SM-S1 sends less than its formula: the count of expired rows travels with the next answer.",
            f"{min(less):.2f} to {max(less):.2f} s less",
            min(less) > 0,
            origin="measured",
        ),
        Claim(
            "SM-S2 processes less than its formula: keys are looked up by hash, not compared one by one.",
            f"{min(hashed):.0%} to {max(hashed):.0%} of it",
            max(hashed) < 1,
            origin="measured",
        ),
        Claim(
            "SM-D1 sends no more than its formula: a key is told of once as long as it lives.",
            f"at most {told_once:.1%} of it",
            told_once <= 1 + _ROUNDING,
            origin="measured",
        ),
        Claim(
            "(c) SM-S2 is nearly constant from f2 = f1 on: a key is asked for once, not at every interval.",
            f"it changes by {levelled:+.0%} from f2 = 0.1 to 0.2",
            abs(levelled) <= _SAME,
            origin="measured",
        ),
        Claim(
            "SM-S1 is less efficient than SM-S2, and SM-D2 than SM-D1.",
            f"SM-S2 is cheaper than SM-S1 at {s} of {places} places, SM-D1 than SM-D2 at {d}",
            s == d == places,
            origin="measured",
        ),
    )

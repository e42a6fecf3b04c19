"""Fig. 7: the six one-way join algorithms, one parameter varied at a time (Sect. 5.3.1).

Both streams have 250 attributes of five bytes, ten keys, 300 rows/s and windows of 3 s. The first stays as it
is, the second is varied, or the network is. The paper's plots did not survive; where the text does not give a
range we chose one around the default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from watersmeet.cost.semijoin import FORMULAS, OneWayJoin
from watersmeet.cost.site import Setting, SiteStream, Work
from watersmeet.plan.sites.algorithm import PUBLISHED, Algorithm
from watersmeet.plot.chart import Chart, Line, Panel
from watersmeet_lab.semijoin.setting import LINK, stream

FIRST = stream(0, attributes=250, key_fraction=0.1, rate=300, window=3.0)
DEFAULT_JOIN = OneWayJoin(FIRST, replace(FIRST, node=1), LINK, Setting(tick=0.1))

_SEMIJOINS = (Algorithm.SM_S1, Algorithm.SM_S2, Algorithm.SM_D1, Algorithm.SM_D2)

# Where semijoins filter: four of five rows of the second stream have no partner.
FILTERING = replace(DEFAULT_JOIN, second=replace(DEFAULT_JOIN.second, distinct=50))


@dataclass(frozen=True, slots=True)
class Sweep:
    """What all algorithms cost while one parameter varies.

    Attributes:
        name: The letter of the figure.
        title: What is varied.
        x_label: The same with its unit.
        values: The places.
        joins: What is joined at each place.
        work: Per algorithm what it costs by its formula, place by place.
        log_x: Whether the places multiply.
    """

    name: str
    title: str
    x_label: str
    values: tuple[float, ...]
    joins: tuple[OneWayJoin, ...]
    work: Mapping[Algorithm, tuple[Work, ...]]
    log_x: bool = False

    def totals(self, algorithm: Algorithm) -> tuple[float, ...]:
        """Transmission and processing."""
        return tuple(work.total for work in self.work[algorithm])

    @property
    def heading(self) -> str:
        """The title of the figure."""
        return f"({self.name}) {self.title}"

    def panel(self) -> Panel:
        """The figure."""
        lines = tuple(Line(each.value, self.values, self.totals(each)) for each in PUBLISHED)
        y_label = "work per second of arrivals (s)"
        return Panel(self.heading, self.x_label, y_label, lines, log_x=self.log_x)


def swept(
    name: str,
    title: str,
    x_label: str,
    values: Sequence[float],
    change: Callable[[float], OneWayJoin],
    *,
    log_x: bool = False,
) -> Sweep:
    """Price every algorithm of the paper at every value."""
    joins = [change(value) for value in values]
    work = {each: tuple(FORMULAS[each](join) for join in joins) for each in PUBLISHED}
    return Sweep(
        name=name,
        title=title,
        x_label=x_label,
        values=tuple(values),
        joins=tuple(joins),
        work=work,
        log_x=log_x,
    )


def sweeps() -> dict[str, Sweep]:
    """Fig. 7 (a) to (g), and (f) once more where semijoins filter."""
    varied = (
        ("a", "size of a row", "bytes of a row of S2", _steps(250, 2250, 8), _second(_full)),
        ("b", "rate", "rows/s of S2", _steps(100, 500, 8), _second(_rate)),
        ("c", "key fraction", "f2, one over the keys of S2", _steps(0.02, 0.2, 9), _second(_key_fraction)),
        ("d", "window", "window of S2 (ms)", _steps(1000, 5000, 8), _second(_window)),
        ("e", "latency", "latency (ms)", _steps(5, 45, 8), _latency),
        ("f", "bandwidth", "bandwidth (Kbps)", _BANDWIDTHS, _bandwidth(DEFAULT_JOIN)),
        ("g", "execution interval", "execution interval (ms)", _steps(100, 500, 8), _tick),
        ("f'", "bandwidth, f2 = 0.02", "bandwidth (Kbps)", _BANDWIDTHS, _bandwidth(FILTERING)),
    )
    return {given[0]: swept(*given, log_x=given[0][0] == "f") for given in varied}


def chart(found: Mapping[str, Sweep]) -> Chart:
    """All of Fig. 7."""
    caption = "Work of the six one-way join algorithms while one parameter varies"
    return Chart("fig7", caption, tuple(sweep.panel() for sweep in found.values()))


def crossing(sweep: Sweep, one: Algorithm, other: Algorithm) -> float | None:
    """Where two curves meet, between the places that were tried."""
    gaps = [a - b for a, b in zip(sweep.totals(one), sweep.totals(other), strict=True)]
    for at in range(1, len(gaps)):
        if gaps[at - 1] <= 0 <= gaps[at] and gaps[at] > gaps[at - 1]:
            left, right = sweep.values[at - 1], sweep.values[at]
            return left + (right - left) * -gaps[at - 1] / (gaps[at] - gaps[at - 1])
    return None


def advantage(sweep: Sweep) -> tuple[float, ...]:
    """How many seconds the best semijoin saves over the best simple join."""
    simple = zip(*(sweep.totals(each) for each in (Algorithm.SP_S, Algorithm.SP_D)), strict=True)
    semi = zip(*(sweep.totals(each) for each in _SEMIJOINS), strict=True)
    return tuple(min(ours) - min(theirs) for ours, theirs in zip(simple, semi, strict=True))


_BANDWIDTHS = (256.0, 512.0, 1024.0, 2048.0, 4096.0)


def _steps(low: float, high: float, count: int) -> tuple[float, ...]:
    return tuple(round(low + (high - low) * number / count, 9) for number in range(count + 1))


def _second(change: Callable[[SiteStream, float], SiteStream]) -> Callable[[float], OneWayJoin]:
    """Vary the second stream."""
    return lambda value: replace(DEFAULT_JOIN, second=change(DEFAULT_JOIN.second, value))


def _full(stream: SiteStream, size: float) -> SiteStream:
    return replace(stream, full=size)


def _rate(stream: SiteStream, rate: float) -> SiteStream:
    return replace(stream, rate=rate)


def _key_fraction(stream: SiteStream, fraction: float) -> SiteStream:
    return replace(stream, distinct=1 / fraction)


def _window(stream: SiteStream, milliseconds: float) -> SiteStream:
    return replace(stream, window=milliseconds / 1000)


def _latency(milliseconds: float) -> OneWayJoin:
    return replace(DEFAULT_JOIN, link=replace(LINK, latency=milliseconds / 1000))


def _bandwidth(join: OneWayJoin) -> Callable[[float], OneWayJoin]:
    return lambda kbps: replace(join, link=replace(LINK, bandwidth=kbps * 1000 / 8))


def _tick(milliseconds: float) -> OneWayJoin:
    return replace(DEFAULT_JOIN, setting=replace(DEFAULT_JOIN.setting, tick=milliseconds / 1000))

"""The streams of a file that says what to simulate: made up, or replayed from files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from watersmeet.jobs.settings import Table
from watersmeet.jobs.simulate.values import known_site, made, seconds
from watersmeet.jobs.windows import read_window
from watersmeet.sim.distribution import Values
from watersmeet.sim.replay import Replayed
from watersmeet.sim.scenario import SimStream
from watersmeet.sim.workload import Generated


def read_streams(table: Table, sites: Sequence[str], folder: Path) -> tuple[SimStream, ...]:
    """The streams; what is wrong with them is noted."""
    found = []
    for name in table.names():
        one = table.table(name)
        site, window = one.text("site", needed=True), read_window(one)
        if site is not None:
            known_site(one, site, sites)
        feed: Generated | Replayed | None
        file = one.text("file")
        lateness = seconds(one, "lateness") or 0.0
        if file is not None:
            time = one.text("time", needed=True) or ""
            feed = made(one, lambda f=file, t=time, late=lateness: Replayed(folder / f, t, late))  # type: ignore[misc]
        else:
            feed = _generated(one, lateness)
        one.refuse_others()
        if site is not None and feed is not None:
            found.append(SimStream(name, site, window, feed))
    if table.given and len(table.names()) < 2:
        table.wrong(f"a join needs at least two streams, not {len(table.names())}")
    return tuple(found)


def _generated(one: Table, lateness: float) -> Generated | None:
    rate, payload = one.raw("rate"), one.raw("payload")
    arrivals, disorder = one.text("arrivals"), seconds(one, "disorder") or 0.0
    columns = one.table("columns", needed=True)
    values = {name: _values(columns.table(name)) for name in columns.names()}
    if type(rate) not in (int, float):
        one.wrong(f"rate must be a number of rows per second, not {rate!r}; or name a file")
        return None
    if payload is not None and type(payload) is not int:
        one.wrong(f"payload must be a number of bytes, not {payload!r}")
        return None
    if not values or None in values.values():
        return None
    known = {name: value for name, value in values.items() if value is not None}
    return made(
        one,
        lambda: Generated(
            rate=rate,
            columns=known,
            payload=payload or 0,
            arrivals=arrivals or "steady",
            lateness=lateness,
            disorder=disorder,
        ),
    )


def _values(one: Table) -> Values | None:
    count, kind = one.number("values"), one.text("distribution")
    shares, theta, h = one.raw("shares"), one.raw("theta"), one.raw("h")
    hot_spots, alike = one.text("hot_spots"), one.raw("alike")
    one.refuse_others()
    if shares is not None and not (
        isinstance(shares, list) and all(type(share) in (int, float) for share in shares)
    ):
        one.wrong(f"shares must be a list of numbers, not {shares!r}")
        return None
    for name, value in (("theta", theta), ("h", h)):
        if value is not None and type(value) not in (int, float):
            one.wrong(f"{name} must be a number, not {value!r}")
            return None
    if count is None and shares is None:
        one.wrong('"values" is missing: how many different ones there are.')
        return None
    given = {"theta": theta, "h": h, "hot_spots": hot_spots, "alike": alike}
    given |= {"shares": None if shares is None else tuple(shares)}
    given |= {"distribution": kind or (None if shares is None else "given")}
    chosen = {name: value for name, value in given.items() if value is not None}
    return made(one, lambda: Values(len(shares or ()) if count is None else count, **chosen))

"""Job files whose streams arrive at several sites: what is read, and what is refused.

Would catch: a site or a link that is silently ignored, sites that could never talk.
"""

from pathlib import Path

import pytest

from watersmeet.jobs.job import Job, read_job
from watersmeet.jobs.settings import InvalidJob

STREAMS = """
[streams.orders]
format = "json"
path = "orders"
schema = "id BIGINT, ts TIMESTAMP"
time = "ts"
window = "10 minutes"
site = "tokyo"

[streams.payments]
format = "json"
path = "payments"
schema = "id BIGINT, ts TIMESTAMP"
time = "ts"
window = "10 minutes"
site = "oslo"

[query]
on = "id"

[sink]
format = "parquet"
path = "out"
"""
PLANNING = """
[planning.sites]
method = "sequences"
optimizer = "greedy"

[network]
latency = "20 ms"
links = [{ between = ["tokyo", "oslo"], price = 0.09, bandwidth = "10 Mbps" }]
"""
RUN = """
[run]
checkpoint = "checkpoint"
mailbox = "mail"
"""


def read(tmp_path: Path, text: str) -> Job:
    (tmp_path / "job.toml").write_text(text)
    return read_job(tmp_path / "job.toml")


def test_sites_links_and_the_mailbox_are_read(tmp_path: Path) -> None:
    job = read(tmp_path, STREAMS + PLANNING + RUN)
    assert job.sites == ["oslo", "tokyo"]
    assert job.mailbox == str(tmp_path / "mail")
    assert job.network is not None
    link = job.network.between("oslo", "tokyo")
    assert link is not None
    assert (link.latency.total_seconds(), link.price, link.bandwidth) == (0.02, 0.09, 1_250_000)
    assert (job.planning.sites.method, job.planning.sites.optimizer) == ("sequences", "greedy")


@pytest.mark.parametrize(
    ("text", "mistake"),
    [
        (STREAMS, r'\[run\] "mailbox" is missing'),
        (STREAMS + '[run]\nmailbox = "mail"', r'\[run\] "checkpoint" is missing'),
        (
            STREAMS + PLANNING.replace('between = ["tokyo", "oslo"], ', "") + RUN,
            "every link must say between",
        ),
        (STREAMS + PLANNING.replace("20 ms", "-20 ms") + RUN, "latency of every link is negative"),
        (STREAMS + PLANNING.replace("10 Mbps", "ten") + RUN, "bandwidth of the link .* cannot be read"),
        (STREAMS + PLANNING.replace("latency", "delay") + RUN, 'unknown setting "delay"'),
        (
            STREAMS + PLANNING.replace('"sequences"', '"chain"') + RUN,
            r'\[planning.sites\] there is no method "chain"',
        ),
    ],
)
def test_a_mistake_is_named(text: str, mistake: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidJob, match=mistake):
        read(tmp_path, text)

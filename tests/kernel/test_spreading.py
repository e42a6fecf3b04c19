"""The phases of a hot key, one after the other.

Would catch: a phase that goes on a microsecond too early, a dealt input that changes while others' rows are
still in all buckets, what was decided and is not kept.
"""

from itertools import count

from harness.kernel import columns_of
from oracles.reference import Row
from watersmeet.kernel.encoding import decode, encode
from watersmeet.kernel.hot_keys import key_figures
from watersmeet.kernel.spreading import DEAL, GATHER, REPLICATE, REST, KeySpreader, Route
from watersmeet.kernel.window import StoredWindow
from watersmeet.plan.hot_rule import HotRule

RULE = HotRule(rows=5, share=0.2, times=2, cool_batches=2)
# Windows of the inputs; the first is dealt out.
LENGTHS = (100, 50)


class OneBucket:
    """A spreader and its windows, which let go of rows as those of a join do."""

    def __init__(self, may_deal: tuple[int, ...] = (0, 1)) -> None:
        names = count()
        self.windows = [StoredWindow(length, 4, lambda: str(next(names))) for length in LENGTHS]
        self.spreader = KeySpreader(0, 1, may_deal, RULE)

    def batch(self, watermark: int, *times: list[int]) -> str:
        """New rows of the hot key by input; returns the phase it is in then."""
        for window, some in zip(self.windows, times, strict=False):
            others = [Row((7,), max(some, default=watermark + 1), 0)] * 2
            window.insert(columns_of([*(Row((1,), ts, ts) for ts in some), *others]))
        for window in self.windows:
            window.expire(watermark)
        self.spreader.step(watermark, self.windows, [key_figures(window.runs) for window in self.windows])
        kept = decode(encode(self.spreader.save()))
        self.spreader = KeySpreader(0, 1, self.spreader.may_deal, self.spreader.rule)
        self.spreader.load(kept)
        return next((one.phase for one in self.spreader.keys.values()), "")

    @property
    def route(self) -> Route | None:
        (route,) = self.spreader.routes or (None,)
        return route


def test_a_key_goes_through_all_phases_and_each_waits_for_the_watermark() -> None:
    bucket = OneBucket()
    key = int(columns_of([Row((1,), 0, 0)]).keys.hashes[0])
    assert bucket.batch(0, [1, 2], [3]) == ""
    assert bucket.batch(0, list(range(10, 20)), [15, 20]) == REPLICATE
    assert bucket.route == (key, 0, False)
    # Others' rows of the batch in which it was found end at 70; later ones go to all buckets.
    assert bucket.batch(69, list(range(70, 80)), [90]) == REPLICATE
    assert bucket.batch(70, [], []) == DEAL
    assert bucket.route == (key, 0, True)
    bucket.spreader.dealt({key: 200}, bucket.windows)
    bucket.spreader.dealt({key: 150}, bucket.windows)
    assert bucket.batch(180, [], [190]) == DEAL
    assert bucket.batch(181, [], [230]) == GATHER
    assert bucket.route == (key, 0, False)
    assert bucket.batch(299, [], [340]) == GATHER
    assert bucket.batch(300, [], []) == REST
    assert bucket.route is None
    # The last row that all buckets have got ends at 390.
    assert bucket.batch(389, [], [395]) == REST
    # Now the other input has more rows, but all buckets have some of it until 395 + 50.
    assert bucket.batch(389, [], list(range(391, 399))) == REST
    assert bucket.route is None
    # Then it is another hot key, of which the other input is dealt out.
    assert bucket.batch(448, [], list(range(450, 460))) == REPLICATE
    assert bucket.route == (key, 1, False)


def test_a_key_with_far_more_rows_elsewhere_is_left_alone() -> None:
    bucket = OneBucket(may_deal=(0,))
    assert bucket.batch(0, list(range(10, 20)), list(range(10, 60))) == ""
    assert bucket.batch(60, list(range(61, 71)), list(range(61, 71))) == REPLICATE
    assert bucket.batch(175, list(range(180, 190)), []) == DEAL
    assert bucket.batch(176, [], list(range(177, 289))) == DEAL
    assert bucket.batch(177, [], []) == GATHER, "it has cooled for two batches"


def test_a_key_that_was_at_rest_long_enough_is_forgotten() -> None:
    bucket = OneBucket()
    assert bucket.batch(0, list(range(10, 20)), [15]) == REPLICATE
    assert bucket.batch(120, [], [130]) == DEAL
    bucket.spreader.rule = None
    assert bucket.batch(121, [], []) == GATHER
    assert bucket.batch(121, [], []) == REST
    assert bucket.batch(179, [], []) == REST
    assert bucket.batch(180, [], []) == ""
    assert bucket.spreader.save() == {}


def test_the_only_key_of_a_bucket_and_keys_of_others_are_left_alone() -> None:
    bucket = OneBucket()
    rows = columns_of([Row((1,), ts, ts) for ts in range(10, 30)])
    bucket.windows[0].insert(rows)
    bucket.spreader.step(0, bucket.windows, [key_figures(window.runs) for window in bucket.windows])
    assert not bucket.spreader.keys
    bucket.windows[0].insert(columns_of([Row((7,), 10, 0)]))
    # Of two buckets, the one to which it does not belong.
    bucket.spreader.buckets = 2
    bucket.spreader.number = 1 - int(rows.keys.hashes[0] % 2)
    bucket.spreader.step(0, bucket.windows, [key_figures(window.runs) for window in bucket.windows])
    assert not bucket.spreader.keys


def test_rows_that_may_not_be_dealt_out_neither_are_nor_make_a_key_hot() -> None:
    bucket = OneBucket(may_deal=(1,))
    assert bucket.batch(0, list(range(10, 40)), [15]) == ""
    assert bucket.batch(0, [], list(range(10, 25))) == REPLICATE
    assert bucket.route is not None
    assert bucket.route.dealt == 1
    # The copied input stays hot for longer than the other one.
    assert bucket.batch(100, list(range(110, 140)), []) == REPLICATE
    assert bucket.batch(101, [], []) == REST

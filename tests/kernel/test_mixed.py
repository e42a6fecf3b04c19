"""Keys of a window kept current elsewhere (Tran & Lee 2010, Algorithm 9).

Would catch: a key that is gone and comes back with its old mark, rows dropped from the wrong end, numbers
of keys that differ between the two sides.
"""

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.kernel.sites.mixed import KeyCounts, MixedWindow


def test_example_4_of_the_paper() -> None:
    far, near = KeyCounts(), MixedWindow()
    far.change(list("caae"), [])
    near.add("cae")
    c, a, e = (far.serials[key] for key in "cae")
    far.pull([c, a])
    # Rows are numbered 0: <c,y>, 1: <a,x>, 2: <a,y>, then 3: <a,z>.
    near.known([c, a], "caa", [0, 1, 2])

    update = far.change(list("daf"), [c, a])

    assert [list("daf")[position] for position in update.new] == ["d", "f"]
    assert update.following == [1]
    assert update.counts == {c: 0, a: 2, far.serials["d"]: 1, far.serials["f"]: 1}
    assert {key: far.counts[serial] for key, serial in far.serials.items()} == {
        "a": 2,
        "e": 1,
        "d": 1,
        "f": 1,
    }
    assert far.pulled == {a}

    near.add("df")
    near.follow("a", [3])
    near.count(update.counts.items())
    assert list(near.serials) == ["a", "e", "d", "f"]
    assert near.lists == {a: [2, 3]}
    assert e not in near.lists


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from("abcde"), max_size=4),
            st.integers(0, 5),
            st.sets(st.sampled_from("abcde")),
        )
    )
)
def test_both_sides_agree(history: list[tuple[list[str], int, set[str]]]) -> None:
    """Rows come, the oldest go, keys are pulled: both have the same keys, and all rows of those pulled."""
    far, near = KeyCounts(), MixedWindow()
    window: list[tuple[int, str, int]] = []
    came = 0
    for inserted, removed, pulled in history:
        gone, window = window[:removed], window[removed:]
        update = far.change(inserted, [serial for _, _, serial in gone])
        rows = [(came + i, key, update.serials[i]) for i, key in enumerate(inserted)]
        came += len(rows)
        window += rows
        near.add(inserted[position] for position in update.new)
        near.follow([inserted[p] for p in update.following], [rows[p][0] for p in update.following])
        near.count(update.counts.items())
        asked = [near.serials[key] for key in sorted(pulled) if key in near.serials]
        asked = [serial for serial in asked if serial not in near.lists]
        present = far.pull(asked)
        answer = [(number, key) for number, key, serial in window if serial in present]
        near.known(asked, [key for _, key in answer], [number for number, _ in answer])

        assert list(near.serials) == list(far.serials) == list(dict.fromkeys(near.serials))
        assert set(near.serials) == {key for _, key, _ in window}
        for serial, numbers in near.lists.items():
            assert numbers == [number for number, _, s in window if s == serial]
        assert set(near.lists) == far.pulled

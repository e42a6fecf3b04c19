"""The demo of the cameras: its images, its distance, its answer and its picture.

Would catch: images that depend on anything but the seed, a distance that takes two scenes for one or misses
one, a wrong answer that passes, a picture that is not written.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from watersmeet.cli import main
from watersmeet.demo.images.cameras import APART, CAMERAS, DELAY, SCENE, Options, feeds
from watersmeet.demo.images.reference import triples
from watersmeet.demo.images.scenario import Images, images
from watersmeet.demo.images.scenes import SIDE
from watersmeet.demo.images.similar import NEAR, distances, similar
from watersmeet.demo.scenario import ROW, InvalidScenario, behind_us, times_us
from watersmeet.query.duration import to_us

SMALL = Options(rate=4, seconds=20, batches=2)


@pytest.fixture(scope="module")
def scenario(tmp_path_factory: pytest.TempPathFactory) -> Images:
    return images(SMALL, tmp_path_factory.mktemp("images") / "picture.png")


@pytest.fixture(scope="module")
def answer(scenario: Images) -> pa.Table:
    """The right one, as the join would give it."""
    rows = np.array(triples(scenario.feeds, to_us(scenario.window), scenario.compared))
    columns = {
        feed.name: pa.array(feed.rows.take(rows[:, place]).to_pylist(), pa.struct(list(feed.rows.schema)))
        for place, feed in enumerate(scenario.feeds)
    }
    return pa.table(columns | {"result_time": scenario.feeds[0].rows["ts"].take(rows[:, 0])})


def test_cameras_send_as_much_as_was_asked(scenario: Images) -> None:
    assert [feed.name for feed in scenario.feeds] == list(CAMERAS)
    for feed in scenario.feeds:
        assert feed.rows.num_rows == 80
        assert {len(image.as_py()) for image in feed.rows["image"]} == {3 * SIDE * SIDE}
        assert (np.diff(feed.arrival_us) >= 0).all()
        assert 0 < behind_us(times_us(feed.rows, "ts")).max() <= to_us(DELAY)


def test_the_seed_decides() -> None:
    one, same, other = (feeds(Options(rate=1, seconds=10, seed=seed))[0].rows for seed in (1, 1, 2))
    assert one.equals(same)
    assert not one.equals(other)


def test_a_scene_is_seen_by_all_by_two_or_by_one_and_never_twice_by_a_camera(scenario: Images) -> None:
    sent = [feed.rows[SCENE].to_pylist() for feed in scenario.feeds]
    assert all(len(set(scenes)) == len(scenes) for scenes in sent)
    seen_by = np.bincount(np.concatenate(sent))
    assert np.bincount(seen_by).tolist() == [0, 3 * 48, 3 * 8, 16]
    times: dict[int, list[int]] = {}
    for feed in scenario.feeds:
        for scene, time in zip(feed.rows[SCENE].to_pylist(), times_us(feed.rows, "ts"), strict=True):
            times.setdefault(scene, []).append(int(time))
    assert max(max(some) - min(some) for some in times.values()) <= to_us(APART)


@pytest.mark.parametrize(
    "options", [{"rate": 0}, {"seconds": 0}, {"seed": -1}, {"batches": 0}, {"rate": 1_000, "seconds": 1_000}]
)
def test_what_cannot_be_shown_is_refused(options: dict[str, int]) -> None:
    with pytest.raises(InvalidScenario):
        Options(**options)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_distance_tells_scenes_apart(seed: int) -> None:
    """All pairs, whenever they were taken: more than the join asks about."""
    one, other, _ = feeds(Options(rate=5, seconds=20, seed=seed))
    left, right = (
        np.array([list(image.as_py()) for image in feed.rows["image"]], np.uint8) for feed in (one, other)
    )
    first, second = (numbers.ravel() for numbers in np.indices((len(left), len(right))))
    apart = distances(left[first], right[second])
    same = one.rows[SCENE].to_numpy()[first] == other.rows[SCENE].to_numpy()[second]
    assert same.sum() == 30
    assert apart[same].max() < NEAR < apart[~same].min()


def test_the_distance_of_an_image_to_itself_and_to_an_empty_one() -> None:
    image = np.random.default_rng(1).integers(0, 256, (1, 3 * SIDE * SIDE)).astype(np.uint8)
    assert abs(distances(image, image)[0]) < 1e-5
    assert distances(image, np.zeros_like(image))[0] == pytest.approx(1)
    assert similar(image, image).tolist() == [True]
    assert similar(np.zeros_like(image), np.zeros_like(image)).tolist() == [False]


def test_the_right_answer_passes_in_any_order(scenario: Images, answer: pa.Table) -> None:
    assert len(answer) == 16
    assert [one.holds for one in scenario.check(answer)] == [True] * 3
    assert all(one.holds for one in scenario.check(answer.take(list(range(len(answer)))[::-1])))


def test_wrong_answers_are_seen(scenario: Images, answer: pa.Table) -> None:
    assert [one.holds for one in scenario.check(answer.slice(1))] == [True, False, False]
    twice = pa.concat_tables([answer, answer.slice(0, 1)])
    assert [one.holds for one in scenario.check(twice)] == [True, False, True]
    rows = answer.to_pylist()
    rows[0]["east"] = rows[1]["east"]
    mixed = pa.Table.from_pylist(rows, answer.schema)
    assert [one.holds for one in scenario.check(mixed)] == [True, False, False]
    rows[0]["east"] = {**rows[1]["east"], ROW: 0}
    made_up = pa.Table.from_pylist(rows, answer.schema)
    assert not scenario.check(made_up)[0].holds
    assert not any(one.holds for one in scenario.check(answer.slice(0, 0))[1:])


@pytest.mark.parametrize("results", [0, 1, 16])
def test_the_picture(scenario: Images, answer: pa.Table, results: int) -> None:
    path = scenario.keepsake(answer.slice(0, results))
    assert path == scenario.out.resolve()
    width, height = size_of(path)
    assert 800 < width < 2_000
    assert (300 if results < 3 else 900) < height < 2_000


def size_of(path: Path) -> tuple[int, int]:
    """Width and height of a PNG file, from its first bytes."""
    start = path.read_bytes()[:24]
    assert start[:8] == b"\x89PNG\r\n\x1a\n"
    return int.from_bytes(start[16:20], "big"), int.from_bytes(start[20:24], "big")


def test_a_picture_without_a_place_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", "images", "--out", str(tmp_path)]) == 2
    assert "it is a folder" in capsys.readouterr().err
    assert main(["demo", "images", "--out", str(tmp_path / "none" / "picture.png")]) == 2
    assert "there is no folder" in capsys.readouterr().err


def test_without_matplotlib_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("watersmeet.extras.find_spec", lambda _: None)
    assert main(["demo", "images"]) == 1
    shown = capsys.readouterr().err
    assert shown.startswith("watersmeet: the package matplotlib is not installed\ndetail: ")
    assert 'hint: pip install "watersmeet[plot]"' in shown


@pytest.mark.slow
def test_the_demo(command: Callable[..., str], tmp_path: Path) -> None:
    """In the session of the tests, as the generated streams are."""
    path = tmp_path / "picture.png"
    shown = command(
        *("demo", "images", "--rate", "3", "--seconds", "20", "--batches", "2", "--seed", "4"),
        *("--out", str(path)),
    )
    assert "12 results from 180 rows" in shown
    assert "pairs asked" in shown
    assert "similar(north.image, east.image)  20 us" in shown
    assert "100.0% show one scene" in shown
    assert shown.count("\nok  ") == 3
    assert f"The picture: {path}" in shown
    assert size_of(path)[0] > 800

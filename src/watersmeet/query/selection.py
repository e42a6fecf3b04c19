"""Which columns a result has, and what they are called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Member
from watersmeet.query.shared_key import names
from watersmeet.query.sql import SqlItem
from watersmeet.query.stream import RESULT_TIME, Stream
from watersmeet.query.syntax import mentioned, read_tree


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result: an expression over ``stream.column``, and its name; None leaves it to Spark."""

    text: str
    name: str | None


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns of a flat result, and per stream what they are made of."""

    outputs: tuple[Output, ...]
    kept: tuple[tuple[str, ...], ...]


def select_columns(streams: Sequence[Stream], select: Sequence[str]) -> Selection:
    """The columns of a list such as ``["a.x", "b.*"]``, and the result time."""
    by_name = {stream.name: index for index, stream in enumerate(streams)}
    chosen: list[tuple[int, str]] = []
    for text in names(select):
        owner, dot, column = text.partition(".")
        if not dot or owner not in by_name:
            raise InvalidQuery(
                f'cannot tell which stream "{text}" belongs to',
                "a selected column is written stream.column.",
                f"the streams are {choices(by_name)}.",
            )
        index = by_name[owner]
        found = streams[index].column_names if column == "*" else (streams[index].column(column).name,)
        chosen += [(index, name) for name in found]
    for index, name in chosen:
        if chosen.count((index, name)) > 1:
            raise InvalidQuery(
                f'"{streams[index].name}.{name}" is selected twice', "", "list every column once."
            )
    outputs = [Output(Member.of_column(streams[index], name).text, name) for index, name in chosen]
    kept = _by_stream(streams, chosen)
    return Selection(_told_apart([*outputs, Output(RESULT_TIME, RESULT_TIME)]), kept)


def select_items(streams: Sequence[Stream], items: Sequence[SqlItem]) -> Selection | None:
    """The columns of a SELECT list; None for ``*``, which is one struct per stream."""
    if [item.text for item in items] == ["*"]:
        return None
    outputs: list[Output] = []
    columns: list[tuple[int, str]] = []
    for item in items:
        if item.text.lower() == RESULT_TIME:
            outputs.append(Output(RESULT_TIME, item.name or RESULT_TIME))
            continue
        if item.text.endswith(".*"):
            owner = item.text.removesuffix(".*").strip().lower()
            found = [i for i, stream in enumerate(streams) if stream.name.lower() == owner]
            if not found:
                raise InvalidQuery(
                    f'"{item.text}" names no stream of the query',
                    "",
                    f"the streams are {choices(stream.name for stream in streams)}.",
                )
            every = [(found[0], name) for name in streams[found[0]].column_names]
            outputs += [Output(Member.of_column(streams[i], name).text, name) for i, name in every]
            columns += every
            continue
        tree = read_tree(item.text)
        mentions = mentioned(tree, streams, item.text)
        alone = len(mentions) == 1 and tree.key == "column" and len(list(tree.find_all(type(tree)))) == 1
        outputs.append(Output(item.text, item.name or (mentions[0][1] if alone else None)))
        columns += mentions
    return Selection(_told_apart(outputs), _by_stream(streams, list(dict.fromkeys(columns))))


def kept_columns(streams: Sequence[Stream], chosen: Selection | None) -> tuple[tuple[str, ...], ...]:
    """Per stream the columns a result needs."""
    return tuple(stream.column_names for stream in streams) if chosen is None else chosen.kept


def _told_apart(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """A name that several columns share is told apart by the stream's name."""
    taken = [output.name.lower() for output in outputs if output.name]
    return tuple(
        Output(output.text, output.text.replace("`", "").replace(".", "_"))
        if output.name and taken.count(output.name.lower()) > 1 and output.text != RESULT_TIME
        else output
        for output in outputs
    )


def _by_stream(streams: Sequence[Stream], columns: Sequence[tuple[int, str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(name for i, name in columns if i == position) for position in range(len(streams)))

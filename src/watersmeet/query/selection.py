"""Which columns a result has, and what they are called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sqlglot import exp

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.attribute import Member
from watersmeet.query.shared_key import names
from watersmeet.query.sql import SqlItem
from watersmeet.query.stream import ADDED, Stream, added_columns
from watersmeet.query.syntax import is_column, mentioned, read_tree


@dataclass(frozen=True, slots=True)
class Output:
    """A column of the result: an expression over ``stream.column``, and its name; None leaves it to Spark.

    `chosen` names were given by the user and stay as they are.
    """

    text: str
    name: str | None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Selection:
    """The columns of a flat result, and per stream what they are made of."""

    outputs: tuple[Output, ...]
    kept: tuple[tuple[str, ...], ...]


def select_columns(streams: Sequence[Stream], select: Sequence[str]) -> Selection:
    """The columns of a list such as ``["a.x", "b.*"]``, and what a join adds."""
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
    return Selection(_told_apart([*outputs, *(Output(name, name) for name in added_columns(streams))]), kept)


def select_items(streams: Sequence[Stream], items: Sequence[SqlItem]) -> Selection | None:
    """The columns of a SELECT list; None for ``*``, which is one struct per stream."""
    if [item.text for item in items] == ["*"]:
        return None
    outputs: list[Output] = []
    columns: list[tuple[int, str]] = []
    for item in items:
        if (name := item.text.lower()) in added_columns(streams):
            outputs.append(Output(name, item.name or name))
        elif item.text.endswith("*"):
            every = _every_column(streams, item)
            outputs += [Output(Member.of_column(streams[i], name).text, name) for i, name in every]
            columns += every
        else:
            tree = read_tree(item.text)
            if tree is None:
                raise InvalidQuery(
                    f'cannot read "{item.text}" in the SELECT list',
                    "",
                    "write columns and expressions, with AS.",
                )
            _refuse_aggregate(tree, item)
            mentions = mentioned(tree, streams, item.text)
            only = mentions[0][1] if is_column(tree) else None
            outputs.append(Output(item.text, item.name or only, chosen=item.name is not None))
            columns += mentions
    return Selection(_told_apart(outputs), _by_stream(streams, list(dict.fromkeys(columns))))


def _every_column(streams: Sequence[Stream], item: SqlItem) -> list[tuple[int, str]]:
    owner = item.text.removesuffix("*").strip().removesuffix(".").strip("` ").lower()
    found = [number for number, stream in enumerate(streams) if stream.name.lower() == owner]
    if not found:
        raise InvalidQuery(
            f'"{item.text}" names no stream of the query',
            "a star that stands alone must be the whole list." if item.text == "*" else "",
            f"write stream.*; the streams are {choices(stream.name for stream in streams)}.",
        )
    return [(found[0], name) for name in streams[found[0]].column_names]


def _refuse_aggregate(tree: exp.Expression, item: SqlItem) -> None:
    if tree.find(exp.AggFunc, exp.Window) is not None:
        raise InvalidQuery(
            f'"{item.text}" needs more than one result',
            "a join returns its results one by one.",
            "aggregate the DataFrame that comes back.",
        )


def kept_columns(streams: Sequence[Stream], chosen: Selection | None) -> tuple[tuple[str, ...], ...]:
    """Per stream the columns a result needs."""
    return tuple(stream.column_names for stream in streams) if chosen is None else chosen.kept


def refuse_unstorable(streams: Sequence[Stream], used: Iterable[tuple[int, str]]) -> None:
    """Refuse a column whose values cannot be kept, where a result or a condition needs them."""
    for number, name in used:
        column = streams[number].column(name)
        if column.not_stored:
            raise InvalidQuery(
                f'column "{name}" of stream "{streams[number].name}" cannot be kept',
                f"its type is {column.type}; {column.not_stored}.",
                "convert it in its DataFrame, or list the columns you need and leave it out.",
            )


def _told_apart(outputs: Sequence[Output]) -> tuple[Output, ...]:
    """A name that several columns share is told apart by the stream's name."""
    taken = [output.name.lower() for output in outputs if output.name]

    def renamed(output: Output) -> Output:
        shared = output.name is not None and taken.count(output.name.lower()) > 1
        if not shared or output.chosen or output.text in ADDED:
            return output
        return Output(output.text, output.text.replace("`", "").replace(".", "_", 1))

    apart = tuple(map(renamed, outputs))
    names_given = [output.name.lower() for output in apart if output.name]
    for name in names_given:
        if names_given.count(name) > 1:
            raise InvalidQuery(
                f'two columns of the result would be called "{name}"',
                "",
                "rename one of them: with AS in SQL, otherwise in its DataFrame.",
            )
    return apart


def _by_stream(streams: Sequence[Stream], columns: Sequence[tuple[int, str]]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(name for i, name in columns if i == position) for position in range(len(streams)))

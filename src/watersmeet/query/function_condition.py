"""Python functions as conditions of a join: the columns they are given, and what makes no sense."""

from __future__ import annotations

from collections.abc import Sequence

from watersmeet.errors import InvalidPredicate
from watersmeet.query.condition import Condition
from watersmeet.query.expression import Field, FunctionCall
from watersmeet.query.function import Function
from watersmeet.query.stream import Stream
from watersmeet.query.syntax import is_column, mentioned, read_tree


def function_condition(streams: Sequence[Stream], function: Function) -> Condition:
    """A function's condition, with its columns found."""
    arguments = []
    for text in function.columns:
        tree = read_tree(text)
        if tree is None or not is_column(tree):
            raise _no_column(function, text)
        found = mentioned(tree, streams, text)
        if len(found) != 1:
            raise _no_column(function, text)
        ((stream, column),) = found
        arguments.append(Field(stream, column, streams[stream].column(column).type))
    linked = frozenset(argument.stream for argument in arguments)
    if len(linked) < 2:
        raise InvalidPredicate(
            f"predicate {function.text} is no condition between streams",
            "it is given columns of one stream." if linked else "it is given no columns.",
            "filter a single stream before the join.",
        )
    return Condition(function.text, FunctionCall(function, tuple(arguments)), linked)


def _no_column(function: Function, text: str) -> InvalidPredicate:
    return InvalidPredicate(
        f'"{text}" is not a column',
        f"predicate {function.text} is given it.",
        'write "stream.column", with backticks around odd names, and compute other values before the join.',
    )


def refuse_alike(functions: Sequence[Function]) -> None:
    """Statistics and metrics know functions by their text."""
    for number, function in enumerate(functions):
        if any(other.text == function.text for other in functions[:number]):
            raise InvalidPredicate(
                f"two predicates are called {function.text}",
                "they could not be told apart in plans and metrics.",
                'give one of them another name: wm.predicate(..., name="...").',
            )

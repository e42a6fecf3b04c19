"""Reading SQL conditions: text becomes conjuncts with their syntax trees, and names become columns.

The text is read by sqlglot and never executed. What is left to Spark is handed on as it was written:
writing a tree out again as text would be one more place to change its meaning. Whether a tree is what Spark
makes of the text is asked of Spark, see `query.spelling`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.stream import Stream

_OPENING = (TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.CASE)
_CLOSING = (TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.END)
_COMPARISONS = (exp.Predicate, exp.Not)
_QUOTES = ("'", '"', "`")
_COMMENT = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`[^`]*`|--[^\n]*|/\*.*?\*/""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Conjunct:
    """One part of a condition that must be true, as written and as read."""

    text: str
    tree: exp.Expression


def read_conjuncts(text: str) -> Iterator[Conjunct]:
    """Split a condition at the ANDs on its top level.

    >>> [part.text for part in read_conjuncts("a.x = b.x AND b.v BETWEEN 1 AND 2")]
    ['a.x = b.x', 'b.v BETWEEN 1 AND 2']
    """
    text = without_comments(text)
    tokens = _tokens(text)
    start = 0
    for token in _top_level_ands(tokens):
        yield _conjunct(text, text[start : token.start])
        start = token.end + 1
    yield _conjunct(text, text[start:])


def sides(conjunct: Conjunct) -> tuple[str, str] | None:
    """The two texts an equality compares; None for anything else."""
    tree = conjunct.tree
    # Comparisons in a row have an order of their own in Spark.
    if (
        not isinstance(tree, exp.EQ)
        or isinstance(tree.this, _COMPARISONS)
        or isinstance(tree.expression, _COMPARISONS)
    ):
        return None
    tokens = _tokens(conjunct.text)
    equals = [token for token, depth in depths(tokens) if depth == 0 and token.token_type == TokenType.EQ]
    if len(equals) != 1:
        return None
    return conjunct.text[: equals[0].start].strip(), conjunct.text[equals[0].end + 1 :].strip()


def words(text: str) -> list[str]:
    """The words of a text outside quotes, in capitals."""
    quoted = (TokenType.STRING, TokenType.IDENTIFIER)
    return [token.text.upper() for token in _tokens(text) if token.token_type not in quoted]


def mentioned(tree: exp.Expression, streams: Sequence[Stream], text: str) -> list[tuple[int, str]]:
    """Every (stream, column) an expression mentions; refuses names that nobody has, and stars."""
    if tree.find(exp.Star) is not None:
        raise InvalidQuery(
            f'"{text}" has a star',
            "which columns it stands for depends on what else the query keeps.",
            "name the columns.",
        )
    return [resolve(column, streams, text) for column in tree.find_all(exp.Column)]


def is_column(tree: exp.Expression) -> bool:
    """Whether an expression is a column and nothing more."""
    return isinstance(tree, exp.Column) and len(tree.parts) == 2 and not isinstance(tree.this, exp.Star)


def read_tree(text: str) -> exp.Expression | None:
    """The syntax tree of one expression; None for what is not a single value."""
    try:
        return _parse(text, text)
    except InvalidQuery:
        return None


def resolve(column: exp.Column, streams: Sequence[Stream], text: str) -> tuple[int, str]:
    """The stream and the column a name means."""
    parts = [part.name for part in column.parts]
    by_name = {stream.name.lower(): index for index, stream in enumerate(streams)}
    index = by_name.get(parts[0].lower())
    if len(parts) < 2 or index is None:
        raise InvalidQuery(
            f'cannot tell which stream "{".".join(parts)}" belongs to',
            f"{pointed(text, column)}\na column is written stream.column.",
            f"the streams are {choices(stream.name for stream in streams)}.",
        )
    for name in streams[index].column_names:
        if name.lower() == parts[1].lower():
            return index, name
    raise InvalidQuery(
        f'stream "{streams[index].name}" has no column "{parts[1]}"',
        pointed(text, column),
        f"its columns are {choices(streams[index].column_names)}.",
    )


def pointed(text: str, node: exp.Expression) -> str:
    """The text with a mark under the place a node was read from."""
    starts = [part.meta["start"] for part in node.find_all(exp.Identifier) if "start" in part.meta]
    return point_at(text, min(starts)) if starts else text


def point_at(text: str, place: int) -> str:
    """The line of a text in which a place lies, with a mark under it.

    >>> print(point_at("a.x = b.y", 6))
    here:
        a.x = b.y
              ^
    """
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    return f"here:\n    {text[start : len(text) if end < 0 else end]}\n    {' ' * (place - start)}^"


def _tokens(text: str) -> list[Token]:
    try:
        return sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidQuery(
            f'cannot read the condition "{text}"', f"{error}.", "write it as in a WHERE clause of Spark SQL."
        ) from None


def _top_level_ands(tokens: Sequence[Token]) -> Iterator[Token]:
    """The ANDs between conjuncts: outside parentheses and CASE, and not the one of a BETWEEN."""
    if any(depth == 0 and token.token_type == TokenType.OR for token, depth in depths(tokens)):
        return
    betweens = 0
    for token, depth in depths(tokens):
        if depth:
            continue
        if token.token_type == TokenType.BETWEEN:
            betweens += 1
        elif token.token_type == TokenType.AND and betweens:
            betweens -= 1
        elif token.token_type == TokenType.AND:
            yield token


def depths(tokens: Sequence[Token]) -> Iterator[tuple[Token, int]]:
    """Every token with the number of parentheses, brackets and CASEs around it."""
    depth = 0
    before = None
    for token in tokens:
        # After a dot it is the name of a column, after AS a name that is given.
        named = before is not None and before.token_type in (TokenType.DOT, TokenType.ALIAS)
        before = token
        if token.token_type in _OPENING and not named:
            depth += 1
        yield token, depth
        if token.token_type in _CLOSING and not named:
            depth -= 1


def without_comments(text: str) -> str:
    """The text with spaces for comments, so that every place stays where it is.

    >>> without_comments("a.x = b.x -- more")
    'a.x = b.x        '
    """
    return _COMMENT.sub(
        lambda found: found[0] if found[0][0] in _QUOTES else re.sub(r"[^\n]", " ", found[0]), text
    )


def _conjunct(whole: str, part: str) -> Conjunct:
    return Conjunct(part.strip(), _parse(part.strip(), whole))


def _parse(text: str, whole: str) -> exp.Expression:
    try:
        parsed = sqlglot.parse(text, dialect="spark")
    except SqlglotError as error:
        raise _unreadable(whole, text, error) from None
    tree = parsed[0] if len(parsed) == 1 else None
    is_value = isinstance(tree, (exp.Condition, exp.Interval))
    if not isinstance(tree, exp.Expression) or not is_value:
        raise InvalidQuery(
            f'"{whole}" is not a condition',
            "",
            "write it as in a WHERE clause: orders.id = payments.order_id.",
        )
    return tree


def _unreadable(whole: str, text: str, error: SqlglotError) -> InvalidQuery:
    place = len(whole)
    reason = str(error).split("\n")[0]
    for entry in getattr(error, "errors", [])[:1]:
        reason = str(entry.get("description") or reason)
        lines = text.split("\n")
        line, column = int(entry.get("line") or 1), int(entry.get("col") or 1)
        inside = sum(len(before) + 1 for before in lines[: line - 1]) + column - 1
        place = max(0, whole.find(text)) + inside
    return InvalidQuery(
        "cannot read a condition",
        f"{point_at(whole, min(place, len(whole)))}\n{reason.split(' for <class')[0]}.",
        "write it as in a WHERE clause of Spark SQL.",
    )

"""Queries in SQL: a SELECT over streams, with windows in brackets as CQL writes them.

    SELECT o.amount, c.url
    FROM orders [RANGE 10 MINUTES] o, clicks [ROWS 1000] c [LATENESS 30 SECONDS]
    WHERE o.user = c.user AND c.ts <= o.ts

This file knows the clauses around the conditions; the conditions themselves are read by `query.syntax`, the
same way as those of `wm.join`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from watersmeet.errors import InvalidQuery
from watersmeet.query.duration import parse_duration
from watersmeet.query.syntax import depths, point_at, without_comments
from watersmeet.query.window import KINDS
from watersmeet.query.window_kind import Window

# What may stand in brackets.
_WINDOWS = {kind.keyword.upper(): kind for kind in KINDS if kind.in_sql}
_LENGTHS = {"LATENESS": "[LATENESS 30 SECONDS]", "IDLE": "[IDLE 5 MINUTES]"}
_SETTINGS = (*_WINDOWS, *_LENGTHS, "TIME")
_HINT = "write SELECT ... FROM orders [RANGE 10 MINUTES] o, clicks [ROWS 1000] c WHERE o.id = c.id."
# What a SELECT may hold that a join does not.
_OTHER_CLAUSES = (
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.UNION,
    TokenType.INTERSECT,
    TokenType.EXCEPT,
    TokenType.LEFT,
    TokenType.RIGHT,
    TokenType.FULL,
    TokenType.NATURAL,
    TokenType.DISTINCT,
)

_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
# A name after one of these can only be an alias.
_BEFORE_ALIAS = (*_NAMES, TokenType.R_PAREN, TokenType.NUMBER, TokenType.STRING, TokenType.END)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SqlStream:
    """A stream as the FROM clause describes it; what it leaves out is None."""

    source: str
    name: str
    window: Window | None
    lateness: str | None
    idle: str | None
    time: str | None
    place: int


@dataclass(frozen=True, slots=True)
class SqlItem:
    """One thing to return: its text, and the name it is given."""

    text: str
    name: str | None


@dataclass(frozen=True, slots=True)
class SqlJoin:
    """The parts of a query."""

    text: str
    items: tuple[SqlItem, ...]
    streams: tuple[SqlStream, ...]
    conditions: tuple[str, ...]
    cross: bool


def read_sql(text: str) -> SqlJoin:
    """Take a query apart.

    >>> query = read_sql("SELECT a.x FROM s [RANGE 1 HOUR] a, t [ROWS 5] WHERE a.x = t.x")
    >>> [stream.name for stream in query.streams], query.conditions
    (['a', 't'], ('a.x = t.x',))
    """
    plain = without_comments(text)
    tokens = _tokens(plain)
    for token, depth in depths(tokens):
        if depth == 0 and token.token_type in _OTHER_CLAUSES:
            raise _wrong(
                text,
                token,
                f"{token.text.upper()} is not part of a join",
                "apply it to the DataFrame that comes back.",
            )
    select, from_, where = _clauses(text, tokens)
    items = tuple(_items(plain, select))
    streams, conditions, cross = _sources(plain, from_)
    if where:
        conditions.append(_slice(plain, where))
    elif any(token.token_type == TokenType.WHERE for token in tokens):
        raise _wrong(text, tokens[-1], "WHERE is followed by nothing", "write a condition, or leave it out.")
    return SqlJoin(text, items, tuple(streams), tuple(conditions), cross)


def _tokens(text: str) -> list[Token]:
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidQuery("cannot read the query", f"{error}.", _HINT) from None
    return tokens[:-1] if tokens and tokens[-1].token_type == TokenType.SEMICOLON else tokens


def _clauses(text: str, tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token]]:
    """The tokens after SELECT, FROM and WHERE."""
    starts = {}
    for position, (token, depth) in enumerate(depths(tokens)):
        if depth == 0 and token.token_type in (TokenType.SELECT, TokenType.FROM, TokenType.WHERE):
            if token.token_type in starts:
                raise _wrong(text, token, f"{token.text.upper()} comes twice", _HINT)
            starts[token.token_type] = position
    if starts.get(TokenType.SELECT) != 0 or TokenType.FROM not in starts:
        raise InvalidQuery("the query is not a SELECT ... FROM ...", point_at(text, 0), _HINT)
    from_, where = starts[TokenType.FROM], starts.get(TokenType.WHERE, len(tokens))
    if where < from_:
        raise _wrong(text, tokens[where], "WHERE comes before FROM", _HINT)
    return tokens[1:from_], tokens[from_ + 1 : where], tokens[where + 1 :]


def _items(text: str, tokens: list[Token]) -> Iterator[SqlItem]:
    end = 0
    for part in _split(tokens, (TokenType.COMMA,)):
        if not part:
            place = next((token.start for token in tokens if token.start > end), len("SELECT"))
            raise InvalidQuery(
                "the SELECT list has a gap", point_at(text, place), "put a column between commas."
            )
        end = part[-1].end
        if len(part) > 2 and part[-2].token_type == TokenType.ALIAS:
            yield SqlItem(_slice(text, part[:-2]), part[-1].text)
        elif len(part) > 1 and part[-1].token_type in _NAMES and part[-2].token_type in _BEFORE_ALIAS:
            yield SqlItem(_slice(text, part[:-1]), part[-1].text)
        else:
            yield SqlItem(_slice(text, part), None)


def _sources(text: str, tokens: list[Token]) -> tuple[list[SqlStream], list[str], bool]:
    """The streams, the conditions after ON, and whether CROSS JOIN was asked for."""
    streams, conditions = [], []
    cross = any(token.token_type == TokenType.CROSS for token in tokens)
    kept = [token for token in tokens if token.token_type not in (TokenType.CROSS, TokenType.INNER)]
    for part in _split(kept, (TokenType.COMMA, TokenType.JOIN)):
        source, *on = _split(part, (TokenType.ON,))
        streams.append(_stream(text, source))
        conditions += [_slice(text, condition) for condition in on]
    return streams, conditions, cross


def _stream(text: str, tokens: list[Token]) -> SqlStream:
    if not tokens or not (tokens[0].token_type in _NAMES or _NAME.fullmatch(tokens[0].text)):
        place = tokens[0].start if tokens else len(text)
        raise InvalidQuery("the name of a stream is missing", point_at(text, place), _HINT)
    source, alias = tokens[0], tokens[0]
    found: dict[str, str | Window] = {}
    rest = iter(tokens[1:])
    alias_follows = False
    for token in rest:
        if token.token_type == TokenType.L_BRACKET:
            inside = []
            for other in rest:
                if other.token_type == TokenType.R_BRACKET:
                    break
                inside.append(other)
            what, value = _setting(text, token, inside)
            if what in found:
                raise _wrong(
                    text, token, f'stream "{source.text}" has two of these settings', "leave one out."
                )
            found[what] = value
        elif token.token_type != TokenType.ALIAS or alias_follows:
            if alias is not source or not (token.token_type in _NAMES or _NAME.fullmatch(token.text)):
                raise _wrong(text, token, f'cannot read "{token.text}" after stream "{source.text}"', _HINT)
            alias = token
        alias_follows = token.token_type == TokenType.ALIAS
    window = found.get("window")
    lateness, idle, time = (
        given if isinstance(given := found.get(what), str) else None for what in ("lateness", "idle", "time")
    )
    return SqlStream(
        source=source.text,
        name=alias.text,
        window=None if isinstance(window, str) else window,
        lateness=lateness,
        idle=idle,
        time=time,
        place=source.start,
    )


def _setting(text: str, bracket: Token, tokens: list[Token]) -> tuple[str, str | Window]:
    """What stands in brackets: which setting, and its value."""
    kind = tokens[0].text.upper() if tokens else ""
    value = _slice(text, tokens[1:]) if len(tokens) > 1 else ""
    try:
        if kind in _WINDOWS:
            return "window", _WINDOWS[kind].from_sql(value)
        if kind in _LENGTHS:
            parse_duration(value)
            return kind.lower(), value
    except ValueError as error:
        how = _WINDOWS[kind].in_sql if kind in _WINDOWS else f"for example {_LENGTHS[kind]}"
        raise _wrong(text, bracket, f"{error}", f"write {how}.") from None
    if kind == "TIME" and len(tokens) == 2:
        return "time", tokens[1].text
    raise _wrong(text, bracket, f'cannot read "[{kind}"', f"in brackets stand {', '.join(_SETTINGS)}.")


def _split(tokens: Sequence[Token], at: tuple[TokenType, ...]) -> list[list[Token]]:
    parts: list[list[Token]] = [[]]
    for token, depth in depths(tokens):
        if depth == 0 and token.token_type in at:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _slice(text: str, tokens: Sequence[Token]) -> str:
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def _wrong(text: str, token: Token, fact: str, hint: str) -> InvalidQuery:
    return InvalidQuery(fact, point_at(text, token.start), hint)

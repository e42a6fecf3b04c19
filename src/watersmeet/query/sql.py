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
from dataclasses import dataclass, replace

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from watersmeet.errors import InvalidQuery
from watersmeet.query.duration import parse_duration
from watersmeet.query.sql_exists import without_exists
from watersmeet.query.sql_tokens import HINT, keywords, split, text_of, tokens_of, wrong
from watersmeet.query.syntax import point_at, without_comments
from watersmeet.query.window import KINDS
from watersmeet.query.window_kind import Window

# What may stand in brackets.
_WINDOWS = {kind.keyword.upper(): kind for kind in KINDS if kind.in_sql}
_LENGTHS = {"LATENESS": "[LATENESS 30 SECONDS]", "IDLE": "[IDLE 5 MINUTES]"}
_SETTINGS = (*_WINDOWS, *_LENGTHS, "TIME")
_USING_HINT = "write FROM orders [RANGE 10 MINUTES] JOIN clicks [ROWS 1000] USING (id)."
# What a SELECT may hold that a join does not.
_OTHER_CLAUSES = (
    TokenType.GROUP_BY,
    TokenType.HAVING,
    TokenType.ORDER_BY,
    TokenType.LIMIT,
    TokenType.UNION,
    TokenType.INTERSECT,
    TokenType.EXCEPT,
    TokenType.DISTINCT,
)

_IN_SELECT = [TokenType.IN, TokenType.L_PAREN, TokenType.SELECT]
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_PARENTHESES = (TokenType.L_PAREN, TokenType.R_PAREN)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True, slots=True)
class SqlStream:
    """A stream as the FROM clause describes it; what it leaves out is None. `how` is the word before JOIN."""

    source: str
    name: str
    window: Window | None
    lateness: str | None
    idle: str | None
    time: str | None
    place: int
    how: str = "inner"
    inside_exists: bool = False


@dataclass(frozen=True, slots=True)
class SqlCondition:
    """A condition, and the stream behind whose ON it stands; None for one of WHERE."""

    text: str
    stream: int | None = None


@dataclass(frozen=True, slots=True)
class SqlUsing:
    """Columns that a stream shares with those it is joined to, from the first of them on."""

    first: int
    stream: int
    columns: tuple[str, ...]
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
    conditions: tuple[SqlCondition, ...]
    cross: bool
    using: tuple[SqlUsing, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """The conditions alone."""
        return tuple(condition.text for condition in self.conditions)


def read_sql(text: str) -> SqlJoin:
    """Take a query apart.

    >>> query = read_sql("SELECT a.x FROM s [RANGE 1 HOUR] a, t [ROWS 5] WHERE a.x = t.x")
    >>> [stream.name for stream in query.streams], query.texts
    (['a', 't'], ('a.x = t.x',))
    """
    plain = without_comments(text)
    tokens = tokens_of(plain)
    for position, token in keywords(tokens):
        if [one.token_type for one in tokens[position : position + 3]] == _IN_SELECT:
            raise wrong(
                text,
                token,
                "IN with a SELECT is not part of a join",
                "write WHERE [NOT] EXISTS (SELECT 1 FROM payments [RANGE 1 HOUR] p WHERE p.id = o.id).",
            )
        if token.token_type == TokenType.NATURAL:
            raise wrong(text, token, "NATURAL says no columns", _USING_HINT)
        if token.token_type in _OTHER_CLAUSES:
            raise wrong(
                text,
                token,
                f"{token.text.upper()} is not part of a join",
                "apply it to the DataFrame that comes back.",
            )
    select, from_, where = _clauses(text, tokens)
    items = tuple(_items(plain, select))
    streams, conditions, using, cross = _sources(plain, from_)
    texts, exists = without_exists(plain, where)
    if exists is not None:
        _refuse_other_joins(text, streams)
        inside = _inside(text, exists.token, read_sql(exists.text))
        conditions += [SqlCondition(one, 1) for one in inside.texts]
        streams += [replace(one, how=exists.how, inside_exists=True) for one in inside.streams]
        cross = cross or inside.cross
    if not texts and exists is None and any(one.token_type == TokenType.WHERE for _, one in keywords(tokens)):
        raise wrong(text, tokens[-1], "WHERE is followed by nothing", "write a condition, or leave it out.")
    conditions += [SqlCondition(one) for one in texts]
    return SqlJoin(text, items, tuple(streams), tuple(conditions), cross, tuple(using))


def _clauses(text: str, tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token]]:
    """The tokens after SELECT, FROM and WHERE."""
    starts = {}
    for position, token in keywords(tokens):
        if token.token_type in (TokenType.SELECT, TokenType.FROM, TokenType.WHERE):
            if token.token_type in starts:
                raise wrong(text, token, f"{token.text.upper()} comes twice", HINT)
            starts[token.token_type] = position
    if starts.get(TokenType.SELECT) != 0 or TokenType.FROM not in starts:
        raise InvalidQuery("the query is not a SELECT ... FROM ...", point_at(text, 0), HINT)
    from_, where = starts[TokenType.FROM], starts.get(TokenType.WHERE, len(tokens))
    if where < from_:
        raise wrong(text, tokens[where], "WHERE comes before FROM", HINT)
    return tokens[1:from_], tokens[from_ + 1 : where], tokens[where + 1 :]


def _items(text: str, tokens: list[Token]) -> Iterator[SqlItem]:
    end = 0
    for part in split(tokens, (TokenType.COMMA,)):
        if not part:
            place = next((token.start for token in tokens if token.start > end), len("SELECT"))
            raise InvalidQuery(
                "the SELECT list has a gap", point_at(text, place), "put a column between commas."
            )
        end = part[-1].end
        if not _ends_with_alias(text_of(text, part)):
            yield SqlItem(text_of(text, part), None)
        else:
            value = part[:-2] if part[-2].token_type == TokenType.ALIAS else part[:-1]
            yield SqlItem(text_of(text, value), part[-1].text)


def _ends_with_alias(item: str) -> bool:
    """Whether the last word names the item; in ``INTERVAL 10 MINUTES`` it does not."""
    try:
        parsed = sqlglot.parse_one(f"SELECT {item}", dialect="spark")
    except SqlglotError:
        return False
    return isinstance(parsed, exp.Select) and isinstance(parsed.expressions[-1], exp.Alias)


def _inside(text: str, exists: Token, query: SqlJoin) -> SqlJoin:
    """What stands inside EXISTS, if it can: streams that are joined, and whatever is selected of them."""
    if any(stream.how != "inner" for stream in query.streams) or query.using:
        raise wrong(
            text,
            exists,
            "inside EXISTS streams are joined by JOIN ... ON",
            "leave out LEFT, RIGHT, FULL, SEMI, ANTI and USING there.",
        )
    for item in query.items:
        if _calls(item.text):
            raise wrong(
                text,
                exists,
                f"EXISTS selects {item.text}",
                "it asks whether there are rows, and an aggregate has one even of nothing: write SELECT 1.",
            )
    return query


def _calls(item: str) -> bool:
    """Whether a function is called, which may be an aggregate."""
    try:
        parsed = sqlglot.parse_one(f"SELECT {item}", dialect="spark")
    except SqlglotError:
        return False
    return parsed.find(exp.Func) is not None


def _refuse_other_joins(text: str, streams: Sequence[SqlStream]) -> None:
    if len(streams) > 1:
        raise InvalidQuery(
            "EXISTS decides about one stream",
            f"{point_at(text, streams[1].place)}\nhere it would decide about {len(streams)} of them.",
            "leave one stream in FROM, and join the others inside EXISTS.",
        )


# The words before JOIN, and what they ask for.
_HOW = {
    (): "inner",
    (TokenType.INNER,): "inner",
    (TokenType.CROSS,): "inner",
    (TokenType.LEFT,): "left",
    (TokenType.RIGHT,): "right",
    (TokenType.FULL,): "full",
    (TokenType.SEMI,): "semi",
    (TokenType.LEFT, TokenType.SEMI): "semi",
    (TokenType.ANTI,): "anti",
    (TokenType.LEFT, TokenType.ANTI): "anti",
}
_HOW |= {(*words, TokenType.OUTER): how for words, how in _HOW.items() if how in ("left", "right", "full")}
_JOIN_WORDS = {word for words in _HOW for word in words}


def _joins(text: str, tokens: list[Token]) -> tuple[list[Token], dict[int, str]]:
    """The tokens without the words before JOIN, and what these ask for, by where JOIN stands."""
    words_at = {position: token.token_type for position, token in keywords(tokens)}
    dropped: set[int] = set()
    asked: dict[int, str] = {}
    for position, kind in words_at.items():
        if kind != TokenType.JOIN:
            continue
        first = position
        while words_at.get(first - 1) in _JOIN_WORDS:
            first -= 1
        words = tuple(words_at[n] for n in range(first, position))
        if words not in _HOW:
            raise wrong(
                text,
                tokens[first],
                "cannot read what stands before JOIN",
                "write JOIN, LEFT JOIN, RIGHT JOIN, FULL JOIN, LEFT SEMI JOIN, LEFT ANTI JOIN or CROSS JOIN.",
            )
        dropped.update(range(first, position))
        asked[position] = _HOW[words]
    kept = [position for position in range(len(tokens)) if position not in dropped]
    return [tokens[n] for n in kept], {kept.index(n): how for n, how in asked.items()}


def _sources(
    text: str, tokens: list[Token]
) -> tuple[list[SqlStream], list[SqlCondition], list[SqlUsing], bool]:
    """The streams, the conditions after ON, the columns after USING, and whether CROSS JOIN was asked for."""
    streams: list[SqlStream] = []
    conditions: list[SqlCondition] = []
    using: list[SqlUsing] = []
    cross = any(token.token_type == TokenType.CROSS for _, token in keywords(tokens))
    kept, asked = _joins(text, tokens)
    hows = iter(asked.values())
    for relation in split(kept, (TokenType.COMMA,)):
        first = len(streams)
        for number, part in enumerate(split(relation, (TokenType.JOIN,))):
            joined, *on = split(part, (TokenType.ON,))
            source, *shared = split(joined, (TokenType.USING,))
            if shared and (on or len(shared) > 1 or first == len(streams)):
                raise wrong(text, joined[0], "USING stands once after JOIN, in place of ON", _USING_HINT)
            if len(on) > 1:
                raise wrong(
                    text,
                    on[1][0] if on[1] else joined[0],
                    "two ON stand behind one stream",
                    "write ON right behind the stream that it joins: a LEFT JOIN b ON ... LEFT JOIN c ON ...",
                )
            streams.append(replace(_stream(text, source), how=next(hows) if number else "inner"))
            if shared:
                using.append(SqlUsing(first, len(streams) - 1, *_using(text, source, shared[0])))
            conditions += [SqlCondition(text_of(text, condition), len(streams) - 1) for condition in on]
    return streams, conditions, using, cross


def _using(text: str, source: list[Token], tokens: list[Token]) -> tuple[tuple[str, ...], int]:
    """The columns in parentheses after USING, and where they stand."""
    place = (tokens or source)[0].start
    inside = tokens[1:-1]
    names = [token.text for token in inside[::2]]
    commas = all(token.token_type == TokenType.COMMA for token in inside[1::2])
    in_parentheses = len(tokens) > 2 and (tokens[0].token_type, tokens[-1].token_type) == _PARENTHESES
    if not in_parentheses or not commas or len(inside) % 2 == 0:
        raise InvalidQuery("cannot read what follows USING", point_at(text, place), _USING_HINT)
    return tuple(names), place


def _stream(text: str, tokens: list[Token]) -> SqlStream:
    if not tokens or not (tokens[0].token_type in _NAMES or _NAME.fullmatch(tokens[0].text)):
        place = tokens[0].start if tokens else len(text)
        raise InvalidQuery("the name of a stream is missing", point_at(text, place), HINT)
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
                raise wrong(
                    text, token, f'stream "{source.text}" has two of these settings', "leave one out."
                )
            found[what] = value
        elif token.token_type != TokenType.ALIAS or alias_follows:
            if alias is not source or not (token.token_type in _NAMES or _NAME.fullmatch(token.text)):
                raise wrong(text, token, f'cannot read "{token.text}" after stream "{source.text}"', HINT)
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
    value = text_of(text, tokens[1:]) if len(tokens) > 1 else ""
    try:
        if kind in _WINDOWS:
            return "window", _WINDOWS[kind].from_sql(value)
        if kind in _LENGTHS:
            parse_duration(value)
            return kind.lower(), value
    except ValueError as error:
        how = _WINDOWS[kind].in_sql if kind in _WINDOWS else f"for example {_LENGTHS[kind]}"
        raise wrong(text, bracket, f"{error}", f"write {how}.") from None
    if kind == "TIME" and len(tokens) == 2:
        return "time", tokens[1].text
    raise wrong(text, bracket, f'cannot read "[{kind}"', f"in brackets stand {', '.join(_SETTINGS)}.")

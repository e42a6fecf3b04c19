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
from watersmeet.query.syntax import depths, point_at, without_comments
from watersmeet.query.window import KINDS
from watersmeet.query.window_kind import Window

# What may stand in brackets.
_WINDOWS = {kind.keyword.upper(): kind for kind in KINDS if kind.in_sql}
_LENGTHS = {"LATENESS": "[LATENESS 30 SECONDS]", "IDLE": "[IDLE 5 MINUTES]"}
_SETTINGS = (*_WINDOWS, *_LENGTHS, "TIME")
_HINT = "write SELECT ... FROM orders [RANGE 10 MINUTES] o, clicks [ROWS 1000] c WHERE o.id = c.id."
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
    TokenType.NATURAL,
    TokenType.DISTINCT,
)

_IN_SELECT = [TokenType.IN, TokenType.L_PAREN, TokenType.SELECT]
_NAMES = (TokenType.VAR, TokenType.IDENTIFIER)
_PARENTHESES = (TokenType.L_PAREN, TokenType.R_PAREN)
# Words of joins that functions have as well.
_FUNCTIONS = (TokenType.LEFT, TokenType.RIGHT)
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
    tokens = _tokens(plain)
    for position, token in _keywords(tokens):
        if [one.token_type for one in tokens[position : position + 3]] == _IN_SELECT:
            raise _wrong(
                text,
                token,
                "IN with a SELECT is not part of a join",
                "write WHERE [NOT] EXISTS (SELECT 1 FROM payments [RANGE 1 HOUR] p WHERE p.id = o.id).",
            )
        if token.token_type in _OTHER_CLAUSES:
            raise _wrong(
                text,
                token,
                f"{token.text.upper()} is not part of a join",
                "apply it to the DataFrame that comes back.",
            )
    select, from_, where = _clauses(text, tokens)
    items = tuple(_items(plain, select))
    streams, conditions, using, cross = _sources(plain, from_)
    where, existing = _without_exists(plain, where)
    if existing is not None:
        _refuse_other_joins(text, streams)
        conditions += [SqlCondition(one, 1) for one in existing.texts]
        streams += [replace(one, how=existing.how) for one in existing.streams]
        cross = cross or existing.cross
    if where:
        conditions.append(SqlCondition(_slice(plain, where)))
    elif existing is None and any(token.token_type == TokenType.WHERE for token in tokens):
        raise _wrong(text, tokens[-1], "WHERE is followed by nothing", "write a condition, or leave it out.")
    return SqlJoin(text, items, tuple(streams), tuple(conditions), cross, tuple(using))


def _tokens(text: str) -> list[Token]:
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidQuery("cannot read the query", f"{error}.", _HINT) from None
    return tokens[:-1] if tokens and tokens[-1].token_type == TokenType.SEMICOLON else tokens


def _clauses(text: str, tokens: list[Token]) -> tuple[list[Token], list[Token], list[Token]]:
    """The tokens after SELECT, FROM and WHERE."""
    starts = {}
    for position, token in _keywords(tokens):
        if token.token_type in (TokenType.SELECT, TokenType.FROM, TokenType.WHERE):
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
        if not _ends_with_alias(_slice(text, part)):
            yield SqlItem(_slice(text, part), None)
        else:
            value = part[:-2] if part[-2].token_type == TokenType.ALIAS else part[:-1]
            yield SqlItem(_slice(text, value), part[-1].text)


def _ends_with_alias(item: str) -> bool:
    """Whether the last word names the item; in ``INTERVAL 10 MINUTES`` it does not."""
    try:
        parsed = sqlglot.parse_one(f"SELECT {item}", dialect="spark")
    except SqlglotError:
        return False
    return isinstance(parsed, exp.Select) and isinstance(parsed.expressions[-1], exp.Alias)


@dataclass(frozen=True, slots=True)
class _Exists:
    """What stands in the parentheses after [NOT] EXISTS."""

    how: str
    streams: tuple[SqlStream, ...]
    texts: tuple[str, ...]
    cross: bool


def _without_exists(text: str, where: list[Token]) -> tuple[list[Token], _Exists | None]:
    """The condition of WHERE without [NOT] EXISTS (...), and that apart."""
    found = [position for position, token in _keywords(where) if token.token_type == TokenType.EXISTS]
    if not found:
        return where, None
    first = found[0]
    depth, last = 0, first
    for last in range(first + 1, len(where)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(where[last].token_type, 0)
        if depth == 0:
            break
    negated = first > 0 and where[first - 1].token_type == TokenType.NOT
    begin = first - negated
    around = [where[begin - 1]] * (begin > 0) + where[last + 1 : last + 2]
    if len(found) > 1 or any(token.token_type != TokenType.AND for token in around):
        raise _wrong(
            text,
            where[found[-1]],
            "EXISTS stands once, and is connected by AND",
            "write WHERE NOT EXISTS (SELECT 1 FROM payments [RANGE 1 HOUR] p WHERE p.id = o.id).",
        )
    inner = read_sql(_slice(text, where[first + 2 : last]))
    if any(stream.how != "inner" for stream in inner.streams) or inner.using:
        raise _wrong(
            text,
            where[first],
            "inside EXISTS streams are joined by JOIN ... ON",
            "leave out LEFT, RIGHT, FULL, SEMI, ANTI and USING there.",
        )
    rest = [*where[: max(0, begin - 1)], *where[last + 1 :]] if begin else where[last + 2 :]
    return rest, _Exists("anti" if negated else "semi", inner.streams, inner.texts, inner.cross)


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
    keywords = {position: token.token_type for position, token in _keywords(tokens)}
    dropped: set[int] = set()
    asked: dict[int, str] = {}
    for position, kind in keywords.items():
        if kind != TokenType.JOIN:
            continue
        first = position
        while keywords.get(first - 1) in _JOIN_WORDS:
            first -= 1
        words = tuple(keywords[n] for n in range(first, position))
        if words not in _HOW:
            raise _wrong(text, tokens[first], "cannot read what stands before JOIN", "write LEFT JOIN.")
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
    cross = any(token.token_type == TokenType.CROSS for _, token in _keywords(tokens))
    kept, asked = _joins(text, tokens)
    hows = iter(asked.values())
    for relation in _split(kept, (TokenType.COMMA,)):
        first = len(streams)
        for number, part in enumerate(_split(relation, (TokenType.JOIN,))):
            joined, *on = _split(part, (TokenType.ON,))
            source, *shared = _split(joined, (TokenType.USING,))
            if shared and (on or first == len(streams)):
                raise _wrong(text, joined[0], "USING stands after JOIN, in place of ON", _USING_HINT)
            streams.append(replace(_stream(text, source), how=next(hows) if number else "inner"))
            if shared:
                using.append(SqlUsing(first, len(streams) - 1, *_using(text, source, shared[0])))
            conditions += [SqlCondition(_slice(text, condition), len(streams) - 1) for condition in on]
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
    ends = [position for position, token in _keywords(tokens) if token.token_type in at]
    starts = [0, *(position + 1 for position in ends)]
    return [list(tokens[start:end]) for start, end in zip(starts, [*ends, len(tokens)], strict=True)]


def _keywords(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """The words outside parentheses that stand for themselves, and where.

    None of them is a column (``a.left``), a function (``left(a.s, 1)``), or part of ``IS DISTINCT FROM``.
    """
    kinds = [token.token_type for token in tokens]
    for position, (token, depth) in enumerate(depths(tokens)):
        before, after = kinds[max(0, position - 3) : position], kinds[position + 1 : position + 2]
        column = before[-1:] == [TokenType.DOT]
        function = token.token_type in _FUNCTIONS and after == [TokenType.L_PAREN]
        operator = TokenType.IS in before and (
            (token.token_type == TokenType.DISTINCT and before[-1] in (TokenType.IS, TokenType.NOT))
            or (token.token_type == TokenType.FROM and before[-1] == TokenType.DISTINCT)
        )
        if depth == 0 and not (column or function or operator):
            yield position, token


def _slice(text: str, tokens: Sequence[Token]) -> str:
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def _wrong(text: str, token: Token, fact: str, hint: str) -> InvalidQuery:
    return InvalidQuery(fact, point_at(text, token.start), hint)

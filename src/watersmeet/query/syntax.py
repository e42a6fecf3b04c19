"""Reading SQL conditions: text becomes conjuncts, and those the kernel understands become expressions.

The text is read by sqlglot and never executed. What is left to Spark is handed on as it was written:
writing a tree out again as text would be one more place to change its meaning.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from watersmeet.errors import InvalidQuery, choices
from watersmeet.query.duration import parse_duration, to_us
from watersmeet.query.expression import Call, Constant, Expression, Field, NotCompiled, call
from watersmeet.query.stream import Stream

_OPERATORS: dict[type[exp.Expression], str] = {
    exp.And: "and",
    exp.Or: "or",
    exp.Not: "not",
    exp.EQ: "=",
    exp.NEQ: "!=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "<=>",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.Neg: "negate",
    exp.Abs: "abs",
}
# What Spark's ANSI setting changes: overflow and division by zero are errors with it, values without it.
_ARITHMETIC = ("+", "-", "*", "/", "%", "negate", "abs")
# Types of columns the kernel computes with; an interval of days and seconds has many spellings.
_COLUMN_TYPES = (
    "boolean",
    "string",
    "date",
    "timestamp",
    "tinyint",
    "smallint",
    "int",
    "bigint",
    "float",
    "double",
)


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
    tokens = _tokens(text)
    start = 0
    for token in _top_level_ands(tokens):
        yield _conjunct(text, text[start : token.start])
        start = token.end + 1
    yield _conjunct(text, text[start:])


def sides(conjunct: Conjunct) -> tuple[str, str] | None:
    """The two texts an equality compares; None for anything else."""
    if not isinstance(conjunct.tree, exp.EQ):
        return None
    depth = 0
    for token in _tokens(conjunct.text):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0 and token.token_type == TokenType.EQ:
            return conjunct.text[: token.start].strip(), conjunct.text[token.end + 1 :].strip()
    return None


def mentioned(tree: exp.Expression, streams: Sequence[Stream], text: str) -> list[tuple[int, str]]:
    """Every (stream, column) an expression mentions; refuses names that nobody has."""
    columns = [column for column in tree.find_all(exp.Column) if not isinstance(column.this, exp.Star)]
    return [_resolve(column, streams, text) for column in columns]


def is_column(tree: exp.Expression) -> bool:
    """Whether an expression is a column and nothing more."""
    return isinstance(tree, exp.Column) and len(tree.parts) == 2


def read_tree(text: str) -> exp.Expression:
    """The syntax tree of one expression."""
    return _parse(text, text)


def compile_tree(tree: exp.Expression, streams: Sequence[Stream], text: str, *, ansi: bool) -> Expression:
    """The typed expression of a syntax tree.

    Raises:
        NotCompiled: It is outside the part of SQL the kernel evaluates.
    """

    def read(node: exp.Expression) -> Expression:
        if isinstance(node, exp.Paren):
            return read(node.this)
        if isinstance(node, exp.Column):
            return _field(node, streams, text)
        if isinstance(node, (exp.Literal, exp.Boolean, exp.Interval)):
            return _constant(node)
        if isinstance(node, exp.Cast) and isinstance(node.this, exp.Literal) and not node.this.is_string:
            return _suffixed(node)
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return call("isnull", read(node.this))
        if isinstance(node, exp.Between):
            value = read(node.this)
            return call(
                "and", call(">=", value, read(node.args["low"])), call("<=", value, read(node.args["high"]))
            )
        if isinstance(node, (exp.Greatest, exp.Least)):
            function = "greatest" if isinstance(node, exp.Greatest) else "least"
            return call(function, *[read(part) for part in (node.this, *node.expressions)])
        if isinstance(node, exp.In) and node.expressions:
            value = read(node.this)
            return _any([call("=", value, read(option)) for option in node.expressions])
        operator = _OPERATORS.get(type(node))
        if operator is None:
            raise NotCompiled(f"{node.key.upper()}")
        made = call(operator, *[read(part) for part in (node.this, node.args.get("expression")) if part])
        if not ansi and operator in _ARITHMETIC and made.type not in ("timestamp", "interval"):
            raise NotCompiled("arithmetic while spark.sql.ansi.enabled is false")
        return made

    return read(tree)


def _any(options: list[Call]) -> Call:
    found = options[0]
    for option in options[1:]:
        found = call("or", found, option)
    return found


def _field(column: exp.Column, streams: Sequence[Stream], text: str) -> Field:
    stream, name = _resolve(column, streams, text)
    if len(column.parts) > 2:
        raise NotCompiled("a field inside a column")
    kind = streams[stream].column(name).type
    if kind.startswith("interval") and not ("year" in kind or "month" in kind):
        kind = "interval"
    elif kind not in _COLUMN_TYPES:
        raise NotCompiled(f"a column of type {kind}")
    return Field(stream, name, kind)


def _constant(node: exp.Expression) -> Expression:
    if isinstance(node, exp.Boolean):
        return Constant(bool(node.this), "boolean")
    if isinstance(node, exp.Interval):
        return _interval(node)
    if node.is_string:
        return Constant(node.this, "string")
    text = node.this
    if not text.isdigit():
        # With an exponent it is a double, with a point alone a decimal.
        return Constant(float(text), "double" if "e" in text.lower() else "decimal")
    value = int(text)
    for kind, limit in (("int", 1 << 31), ("bigint", 1 << 63)):
        if value < limit:
            return Constant(value, kind)
    raise NotCompiled("a number beyond bigint")


def _suffixed(node: exp.Cast) -> Constant:
    """A number that says its type, such as 1L or 2.5D."""
    text = node.this.this
    if node.to.is_type("double"):
        return Constant(float(text), "double")
    if node.to.is_type("bigint") and text.isdigit() and int(text) < 1 << 63:
        return Constant(int(text), "bigint")
    raise NotCompiled(f"a conversion to {node.to.sql()}")


def _interval(node: exp.Interval) -> Constant:
    unit = "" if node.unit is None else str(node.unit.this)
    if node.this is None or isinstance(node.unit, exp.IntervalSpan) or not isinstance(node.this, exp.Literal):
        raise NotCompiled("an interval from one unit to another")
    try:
        return Constant(to_us(parse_duration(f"{node.this.this} {unit}".strip())), "interval")
    except ValueError as error:
        raise NotCompiled(str(error)) from None


def _resolve(column: exp.Column, streams: Sequence[Stream], text: str) -> tuple[int, str]:
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
    """Every token with the number of parentheses and CASEs around it."""
    depth = 0
    for token in tokens:
        if token.token_type in (TokenType.L_PAREN, TokenType.CASE):
            depth += 1
        yield token, depth
        if token.token_type in (TokenType.R_PAREN, TokenType.END):
            depth -= 1


def _conjunct(whole: str, part: str) -> Conjunct:
    return Conjunct(part.strip(), _parse(part.strip(), whole))


def _parse(text: str, whole: str) -> exp.Expression:
    try:
        parsed = sqlglot.parse(text, dialect="spark")
    except SqlglotError as error:
        raise _unreadable(whole, text, error) from None
    tree = parsed[0] if len(parsed) == 1 else None
    if not isinstance(tree, exp.Expression) or not isinstance(tree, exp.Condition):
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

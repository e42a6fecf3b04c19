"""[NOT] EXISTS (SELECT ...) in WHERE: it is taken out, and the rest of WHERE is what stands around it.

    WHERE o.amount > 5 AND NOT EXISTS (SELECT 1 FROM payments p WHERE p.id = o.id) AND o.country = 'NO'
          ------------     ---------------------------------------------------         ---------------

That is the same only where all of WHERE is connected by AND.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from watersmeet.query.sql_tokens import keywords, text_of, wrong

_SUBQUERY = [TokenType.EXISTS, TokenType.L_PAREN, TokenType.SELECT]
_HINT = "write WHERE NOT EXISTS (SELECT 1 FROM payments [RANGE 1 HOUR] p WHERE p.id = o.id)."


@dataclass(frozen=True, slots=True)
class Exists:
    """What stands in the parentheses, where, and the kind of join it asks for."""

    text: str
    token: Token
    how: str


def without_exists(text: str, where: Sequence[Token]) -> tuple[list[str], Exists | None]:
    """The conditions of WHERE without [NOT] EXISTS (...), and that apart."""
    found = [n for n in range(len(where)) if [t.token_type for t in where[n : n + 3]] == _SUBQUERY]
    if not found:
        return [text_of(text, where)] if where else [], None
    first, outside = found[0], dict(keywords(where))
    if first not in outside:
        raise wrong(text, where[first], "EXISTS stands inside parentheses, or inside CASE", _HINT)
    last = _closing(where, first + 1)
    if last is None or where[-1].token_type == TokenType.AND:
        raise wrong(text, where[-1], "the condition ends too early", _HINT)
    if any(token.token_type == TokenType.SEMICOLON for token in where[first:last]):
        raise wrong(text, where[first], "EXISTS holds a semicolon", "leave it out.")
    negated = first > 0 and where[first - 1].token_type == TokenType.NOT
    begin = first - negated
    around = [where[begin - 1]] * (begin > 0) + list(where[last + 1 : last + 2])
    alone = all(token.token_type == TokenType.AND for token in around)
    # OR binds less than AND.
    others = [token for token in outside.values() if token.token_type == TokenType.OR]
    if len([n for n in found if n in outside]) > 1 or others or not alone:
        raise wrong(
            text,
            others[0] if others else where[found[-1]],
            "EXISTS stands once, and is connected with the rest of WHERE by AND",
            f"put what OR connects in parentheses, or {_HINT}" if others else _HINT,
        )
    rest = [where[: max(0, begin - 1)], where[last + 2 :]]
    inside = text_of(text, where[first + 2 : last])
    exists = Exists(inside, where[first], "anti" if negated else "semi")
    return [text_of(text, one) for one in rest if one], exists


def _closing(tokens: Sequence[Token], opening: int) -> int | None:
    """Where the parenthesis ends that begins at a place; None if it does not."""
    depth = 0
    for position in range(opening, len(tokens)):
        depth += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(tokens[position].token_type, 0)
        if depth == 0:
            return position
    return None

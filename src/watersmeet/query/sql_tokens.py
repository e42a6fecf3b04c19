"""A query in SQL as tokens: where its words stand, and the texts between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import sqlglot
from sqlglot.errors import SqlglotError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from watersmeet.errors import InvalidQuery
from watersmeet.query.syntax import depths, point_at

HINT = "write SELECT ... FROM orders [RANGE 10 MINUTES] o, clicks [ROWS 1000] c WHERE o.id = c.id."
# Words of joins that functions have as well.
_FUNCTIONS = (TokenType.LEFT, TokenType.RIGHT)


def tokens_of(text: str) -> list[Token]:
    """The tokens of a query, without the semicolon at its end."""
    try:
        tokens = sqlglot.tokenize(text, dialect="spark")
    except SqlglotError as error:
        raise InvalidQuery("cannot read the query", f"{error}.", HINT) from None
    return tokens[:-1] if tokens and tokens[-1].token_type == TokenType.SEMICOLON else tokens


def split(tokens: Sequence[Token], at: tuple[TokenType, ...]) -> list[list[Token]]:
    """The tokens between words of some kinds."""
    ends = [position for position, token in keywords(tokens) if token.token_type in at]
    starts = [0, *(position + 1 for position in ends)]
    return [list(tokens[start:end]) for start, end in zip(starts, [*ends, len(tokens)], strict=True)]


def keywords(tokens: Sequence[Token]) -> Iterator[tuple[int, Token]]:
    """The words outside parentheses that stand for themselves, and where.

    None of them is a column (``a.left``), a name that is given (``AS limit``), a function (``left(a.s, 1)``),
    or part of ``IS DISTINCT FROM``.
    """
    kinds = [token.token_type for token in tokens]
    for position, (token, depth) in enumerate(depths(tokens)):
        before, after = kinds[max(0, position - 3) : position], kinds[position + 1 : position + 2]
        name = before[-1:] in ([TokenType.DOT], [TokenType.ALIAS])
        function = token.token_type in _FUNCTIONS and after == [TokenType.L_PAREN]
        operator = TokenType.IS in before and (
            (token.token_type == TokenType.DISTINCT and before[-1] in (TokenType.IS, TokenType.NOT))
            or (token.token_type == TokenType.FROM and before[-1] == TokenType.DISTINCT)
        )
        if depth == 0 and not (name or function or operator):
            yield position, token


def text_of(text: str, tokens: Sequence[Token]) -> str:
    """What stands from the first to the last of some tokens."""
    return text[tokens[0].start : tokens[-1].end + 1] if tokens else ""


def wrong(text: str, token: Token, fact: str, hint: str) -> InvalidQuery:
    """An error that points at a token."""
    return InvalidQuery(fact, point_at(text, token.start), hint)

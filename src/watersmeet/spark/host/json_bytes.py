"""Lines of JSON as texts in which Spark finds what it finds in their bytes.

Of files Spark's parser reads bytes, and `from_json` gives it a text. Where bytes are UTF-8 that is the
same. Of others the parser takes some for signs, which stand in the text as escapes, and refuses some, for
which the text has a sign that it refuses as well. It goes on behind what it has refused, so that is gone.
"""

from __future__ import annotations

import re

import pyarrow as pa

from watersmeet.errors import UnreadableFile

# What a file, or a line, of UTF-8 may begin with.
MARK = b"\xef\xbb\xbf"
# Signs beyond ASCII as the parser takes them, also those written longer than need be; or what it has read up
# to the byte that does not fit.
_SIGN = re.compile(
    rb"(?s)(?P<sign>[\xc0-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf7][\x80-\xbf]{3})"
    rb"|[\xc0-\xdf].?|[\xe0-\xef][\x80-\xbf]?.?|[\xf0-\xf7][\x80-\xbf]{0,2}.?|[\x80-\xff]"
)
_REFUSED = b"\x01"
# Signs of two or four bytes, which the parser knows by the first ones of a line.
_WIDE = re.compile(
    rb"(?s)(?:\xff\xfe)?[{\[ \t]\x00.\x00|(?:\xfe\xff)?\x00[{\[ \t]\x00"
    rb"|\xff\xfe\x00\x00|\x00\x00(?:\xfe\xff\x00\x00|\x00[{\[ \t])"
)
# Half a pair of signs, which it refuses in texts that somebody needs, and takes in others.
_HALF = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")


def as_texts(path: str, lines: pa.BinaryArray, hint: str) -> pa.BinaryArray:
    """Lines of a file as such texts.

    Raises:
        UnreadableFile: There is none; `hint` says what to do.
    """
    data = lines.buffers()[2]
    if not len(lines) or re.search(rb"[\x00\x80-\xff]", data) is None:
        return lines
    return pa.array([_text_of(path, line, hint) for line in lines.to_pylist()], pa.binary())


def _text_of(path: str, line: bytes, hint: str) -> bytes:
    line = line.removeprefix(MARK)
    if _WIDE.match(line) or _HALF.search(line):
        raise UnreadableFile(f"the file {path} is not in UTF-8", f"it has the line {line[:20]!r}.", hint)
    return line if _is_utf8(line) else _SIGN.sub(_as_read, line)


def _is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True


def _as_read(found: re.Match[bytes]) -> bytes:
    sign = found["sign"]
    if sign is None:
        return _REFUSED
    if _is_utf8(sign):
        return sign
    before = found.string[: found.start()]
    if (len(before) - len(before.rstrip(b"\\"))) % 2:
        # Behind a backslash an escape would not be one.
        return _REFUSED
    bits = sign[0] & (0x1F, 0x0F, 0x07)[len(sign) - 2]
    for byte in sign[1:]:
        bits = bits << 6 | byte & 0x3F
    if len(sign) < 4:
        return b"\\u%04x" % bits
    bits -= 0x10000
    return b"\\u%04x\\u%04x" % ((0xD800 | bits >> 10) & 0xFFFF, 0xDC00 | bits & 0x3FF)

"""A server's reading of request bodies, for the tests in this folder: see reader.go for what is asked and answered.

Forms are read with Werkzeug where it is installed; JSON needs nothing but Python.
"""

import io
import json
import platform
import struct
import sys
from decimal import Decimal

try:
    from importlib.metadata import version

    from werkzeug.formparser import FormDataParser
    from werkzeug.http import parse_options_header

    WERKZEUG = version("werkzeug")
except ImportError:
    WERKZEUG = None

NAMES = [
    "model",
    "stream",
    "n",
    "best_of",
    "max_tokens",
    "max_completion_tokens",
    "max_output_tokens",
    "size",
    "quality",
    "partial_images",
    "previous_response_id",
    "background",
]


def plain(value):
    """A number as its digits, so that none is changed on its way to the test."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, (int, float, Decimal)):
        return {"number": str(value).replace("inf", "Infinity")}
    return {"kind": type(value).__name__}


def fields_of(body, fold=lambda name: name):
    if not isinstance(body, dict):
        raise ValueError("not an object")
    fields = {name: plain(body.get(fold(name))) for name in NAMES}
    options = body.get(fold("stream_options"))
    if isinstance(options, dict):
        fields["include_usage"] = plain(options.get(fold("include_usage")))
    return fields


def first_of_each(pairs):
    """As readers do that search a body for a member."""
    members = {}
    for name, value in pairs:
        members.setdefault(name, value)
    return members


def case_folded(pairs):
    return {name.casefold(): value for name, value in pairs}


def attempt(reader, read):
    try:
        return {"reader": reader, "fields": read()}
    except (ValueError, RecursionError, OverflowError, LookupError, TypeError, AssertionError) as error:
        return {"reader": reader, "error": f"{type(error).__name__}: {error}"[:200]}


def read_json(body):
    return [
        attempt("python json", lambda: fields_of(json.loads(body))),
        attempt("python decimals", lambda: fields_of(json.loads(body, parse_float=Decimal))),
        attempt("python first member", lambda: fields_of(json.loads(body, object_pairs_hook=first_of_each))),
        attempt("python case folded", lambda: fields_of(json.loads(body, object_pairs_hook=case_folded), str.casefold)),
    ]


def werkzeug_form(content_type, body, fold=lambda name: name):
    mimetype, options = parse_options_header(content_type)
    parser = FormDataParser(silent=False, max_form_memory_size=None, max_form_parts=None)
    _, form, files = parser.parse(io.BytesIO(body), mimetype, len(body), options)
    fields = {}
    for name, value in form.items(multi=True):
        fields.setdefault(fold(str(name)), []).append(value)
    for name, _ in files.items(multi=True):
        key = "file:" + fold(str(name))
        fields[key] = fields.get(key, 0) + 1
    return fields


def read_form(content_type, body):
    if WERKZEUG is None:
        return []
    return [
        attempt("werkzeug", lambda: werkzeug_form(content_type, body)),
        attempt("werkzeug case folded", lambda: werkzeug_form(content_type, body, lambda name: name.strip().casefold())),
    ]


def readable(value):
    """A value that JSON of every reader can state: no number counts."""
    if isinstance(value, dict):
        return {name: readable(member) for name, member in value.items()}
    if isinstance(value, list):
        return [readable(item) for item in value]
    return value if isinstance(value, (str, bool)) or value is None else 0


def read_values(body):
    def attempt_value(reader, **hooks):
        return attempt(reader, lambda: {"value": readable(json.loads(body, **hooks))})

    return [
        attempt_value("python json"),
        attempt_value("python first member", object_pairs_hook=first_of_each),
        attempt_value("python case folded", object_pairs_hook=case_folded),
    ]


def block(source):
    (size,) = struct.unpack(">I", source.read(4))
    return source.read(size)


def answer(value):
    text = json.dumps(value).encode()
    sys.stdout.buffer.write(struct.pack(">I", len(text)) + text)
    sys.stdout.buffer.flush()


def main():
    source = sys.stdin.buffer
    werkzeug = "no Werkzeug" if WERKZEUG is None else f"Werkzeug {WERKZEUG}"
    answer(f"Python {platform.python_version()}, {werkzeug}")
    while kind := source.read(1):
        content_type = block(source).decode("latin-1")
        body = block(source)
        if kind == b"J":
            answer(read_json(body))
        elif kind == b"V":
            answer(read_values(body))
        else:
            answer(read_form(content_type, body))


main()

"""Arguments at the edge: the JSON schema a model sees, and the way from its raw text to typed values."""

import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from wayline.tools.base import Arguments, InvalidArguments

#: how many faults one error names; a model mends a few at a time
FAULTS = 5

A = TypeVar("A", bound=Arguments)

_SURROGATE = re.compile("[\ud800-\udfff]")
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def parameters(arguments: type[Arguments]) -> dict[str, Any]:
    """The JSON schema of `arguments` in few bytes: no titles, no defaults, no `$defs`, and an optional
    argument is simply one that is not required. A model that refers to itself is not supported."""
    schema = arguments.model_json_schema()
    compact = _compact(schema, schema.get("$defs", {}))
    compact.pop("description", None)
    return compact


def _compact(schema: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    """One schema node, with what it refers to put in its place."""
    if "$ref" in schema:
        named = definitions[schema["$ref"].removeprefix("#/$defs/")]
        node = {key: value for key, value in named.items() if key != "description"} | dict(schema)
        return _compact({key: value for key, value in node.items() if key != "$ref"}, definitions)
    kept = {key: value for key, value in schema.items() if key not in ("title", "default", "$defs")}
    choices = [choice for choice in kept.get("anyOf", ()) if choice != {"type": "null"}]
    if len(choices) == 1:
        del kept["anyOf"]
        return _compact(choices[0], definitions) | kept
    if choices:
        kept["anyOf"] = [_compact(choice, definitions) for choice in choices]
    if "properties" in kept:
        kept["properties"] = {name: _compact(node, definitions) for name, node in kept["properties"].items()}
    if isinstance(kept.get("items"), dict):
        kept["items"] = _compact(kept["items"], definitions)
    return kept


def parse(model: type[A], raw: str) -> A:
    """The typed arguments of a raw JSON string; an empty one stands for no arguments.

    Lone surrogates, raw or escaped, become U+FFFD. Raises `InvalidArguments`, whose text names the
    position of a syntax error or the path of each fault.
    """
    try:
        return model.model_validate_json(_sound(raw.strip() or "{}"))
    except ValidationError as error:
        raise InvalidArguments(_mend(error, model)) from error


def without_surrogates(text: str) -> str:
    """`text` with each lone surrogate as U+FFFD, so that it can be encoded."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def _sound(raw: str) -> str:
    raw = without_surrogates(raw)
    if not _SURROGATE_ESCAPE.search(raw):
        return raw
    try:
        whole = json.dumps(json.loads(raw), ensure_ascii=False)
    except (ValueError, RecursionError):
        return raw  # not JSON: the validation says where
    return without_surrogates(whole)


def _mend(error: ValidationError, model: type[Arguments]) -> str:
    """What the model must change, fault by fault."""
    faults = error.errors(include_url=False, include_input=False)
    if faults[0]["type"] == "json_invalid":
        reason = faults[0]["ctx"]["error"] if "ctx" in faults[0] else faults[0]["msg"]
        return f"The arguments are not valid JSON: {reason}. Send one JSON object."
    lines = [f"- {_path(fault['loc'])}: {_reason(fault['type'], fault['msg'])}" for fault in faults[:FAULTS]]
    if len(faults) > FAULTS:
        lines.append(f"- and {len(faults) - FAULTS} more")
    known = ", ".join(model.model_fields)
    return "\n".join(["The arguments do not fit:", *lines, f"Arguments of this tool: {known}."])


def _reason(kind: str, message: str) -> str:
    match kind:
        case "missing":
            return "required, but missing"
        case "extra_forbidden":
            return "not known here; leave it out"
        case _:
            return message


def _path(location: tuple[int | str, ...]) -> str:
    """`("todos", 0, "status")` as `todos[0].status`."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return "".join(parts).removeprefix(".") or "arguments"

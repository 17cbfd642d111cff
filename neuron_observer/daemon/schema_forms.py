"""Words and forms that JSON schemas are written with (JSON Schema 2020-12)."""

from __future__ import annotations

from enum import Enum
from typing import Any, TypeAlias, get_args

from neuron_observer.daemon.changes import ID

Schema: TypeAlias = "dict[str, Any]"

TEXT: Schema = {"type": "string"}
FLAG: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
COUNT: Schema = {"type": "integer", "minimum": 0}
NUMBER: Schema = {"type": "number"}
SECONDS: Schema = {"type": "number", "minimum": 0}
SCALAR: Schema = {"type": ["number", "string"]}
INSTANT: Schema = {"type": "string", "format": "date-time"}
ENTRY_ID: Schema = {"type": "string", "pattern": f"^{ID}$"}


def record(optional: Schema | None = None, /, **fields: Schema) -> Schema:
    """An object: fields that are always there, and those that may be."""
    return {
        "type": "object",
        "properties": {**fields, **(optional or {})},
        "required": list(fields),
    }


def rows(of: Schema) -> Schema:
    """An array."""
    return {"type": "array", "items": of}


def by_name(of: Schema) -> Schema:
    """An object whose names are data."""
    return {"type": "object", "additionalProperties": of}


def words(of: Any) -> Schema:
    """One of the words of an enum or a Literal."""
    is_enum = isinstance(of, type) and issubclass(of, Enum)
    return {"type": "string", "enum": [one.value for one in of] if is_enum else [*get_args(of)]}


def or_null(of: Schema) -> Schema:
    """The same, or null."""
    if set(of) == {"type"} and isinstance(of["type"], str):
        return {"type": [of["type"], "null"]}
    return {"anyOf": [of, {"type": "null"}]}


def ref(name: str) -> Schema:
    """Another component."""
    return {"$ref": f"#/components/schemas/{name}"}


def schema(told: str) -> Schema:
    """The name and major number of a document."""
    return {"type": "string", "const": told}

"""What a person sees of a transcript: its scenes. They hold text, never JSON, and all of it is foreign.

Each scene has the line of the step it was made of, the session it belongs to where the step says so, and an
aside: what else the step says. `staging` makes them; `show` and `page` present them.
"""

from typing import Literal

import msgspec


class Words(msgspec.Struct, frozen=True):
    """Text as it is."""

    text: str


class Listing(msgspec.Struct, frozen=True):
    """Text whose lines stay as they are: what a file holds."""

    text: str


class Diff(msgspec.Struct, frozen=True):
    """A change of a file; `old` None for a new one, or for one whose old text the step leaves open."""

    path: str
    old: str | None
    new: str


class Output(msgspec.Struct, frozen=True):
    """What a terminal of the client printed, and how the command ended."""

    text: str
    end: str


class Attachment(msgspec.Struct, frozen=True):
    """An image, a link, an embedded file, a live terminal: what it is and its name."""

    kind: str
    name: str


class Json(msgspec.Struct, frozen=True):
    """What has no better form; `label` says what it is."""

    label: str
    text: str


Card = Words | Listing | Diff | Output | Attachment | Json


class Base(msgspec.Struct, frozen=True, kw_only=True):
    """What all scenes have."""

    line: int
    session: str = ""
    aside: str = ""


class Opening(Base, frozen=True, kw_only=True):
    """What the transcript is about, and what it needs around it."""

    name: str
    about: str
    facts: tuple[tuple[str, str], ...]


class Said(Base, frozen=True, kw_only=True):
    """Words of a person, of the agent, or its thoughts. `request` names the prompt; `again`: the agent
    sends a person's words back."""

    who: Literal["person", "agent", "thought"]
    cards: tuple[Card, ...]
    request: str = ""
    again: bool = False


class Entry(msgspec.Struct, frozen=True):
    """A line of a plan. `change` is "new", or what its status was, or empty."""

    content: str
    status: str
    priority: str
    change: str = ""


class Plan(Base, frozen=True, kw_only=True):
    """The whole plan, compared with the one before it in its session; `gone` are entries it lost.

    `same`: nothing changed. Of the first plan nothing is marked.
    """

    entries: tuple[Entry, ...]
    gone: tuple[str, ...] = ()
    same: bool = False


class ToolCall(Base, frozen=True, kw_only=True):
    """A tool call begins (`fresh`) or gets on. Title and kind are those last heard of."""

    call: str
    title: str
    kind: str
    status: str
    fresh: bool
    locations: tuple[str, ...] = ()
    cards: tuple[Card, ...] = ()


class Update(Base, frozen=True, kw_only=True):
    """Another update: a title, a mode, usage."""

    kind: str
    text: str


class Option(msgspec.Struct, frozen=True):
    """A way to answer."""

    id: str
    name: str
    kind: str


class Reply(msgspec.Struct, frozen=True):
    """What the client says to a question; `line` 0 when no step says it but `meta.client`."""

    line: int
    text: str
    refused: bool = False
    cards: tuple[Card, ...] = ()


class Question(Base, frozen=True, kw_only=True):
    """The agent asks the client: for permission, for a file, for a terminal."""

    method: str
    subject: str
    options: tuple[Option, ...] = ()
    cards: tuple[Card, ...] = ()
    reply: Reply | None = None


class Replied(Base, frozen=True, kw_only=True):
    """The client answers a question after other things have happened."""

    method: str
    subject: str
    reply: Reply


class Request(Base, frozen=True, kw_only=True):
    """The client asks the agent, or tells it something: then `request` is empty."""

    method: str
    request: str
    text: str


class Answered(Base, frozen=True, kw_only=True):
    """The agent's answer: a result, the stop reason of a turn, or an error."""

    method: str
    request: str
    outcome: Literal["result", "stopped", "error"]
    text: str


class Frame(Base, frozen=True, kw_only=True):
    """A frame of the agent that is none of the others."""

    text: str


class Forbidden(Base, frozen=True, kw_only=True):
    """A frame that must not come: until the answer to `until`, or at all."""

    text: str
    until: str


class LogLook(Base, frozen=True, kw_only=True):
    """An event that the session's log must have; `times` None for once or more."""

    event: str
    text: str
    times: int | None


class FileLook(Base, frozen=True, kw_only=True):
    """What a file of the workspace must hold; None: it must not be there."""

    path: str
    text: str | None


class Process(Base, frozen=True, kw_only=True):
    """What happens to the agent's process."""

    event: Literal["restart", "kill", "eof"]


class Raw(Base, frozen=True, kw_only=True):
    """A line that is sent as it is."""

    text: str


class Note(Base, frozen=True, kw_only=True):
    """Words for the reader."""

    text: str


class AnyOrder(Base, frozen=True, kw_only=True):
    """Scenes that come in any order."""

    scenes: "tuple[Scene, ...]"


Scene = (
    Opening
    | Said
    | Plan
    | ToolCall
    | Update
    | Question
    | Replied
    | Request
    | Answered
    | Frame
    | Forbidden
    | LogLook
    | FileLook
    | Process
    | Raw
    | Note
    | AnyOrder
)

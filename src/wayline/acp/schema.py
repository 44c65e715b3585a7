"""The messages of ACP version 1 that we take and send, as typed data.

What we take is decoded in one pass; a member that the schema marks `x-deserialize-default-on-error`
is left raw here and read leniently where it matters. What we send is built by us and not validated
again; the tests hold every frame against the models of `agent-client-protocol`.
"""

from typing import Annotated, Any, Literal

import msgspec

from wayline.log.events import TodoStatus
from wayline.tools.cards import ToolKind

LATEST_VERSION = 1


class Params(msgspec.Struct, frozen=True, rename="camel"):
    """Base of the parameters we take; members we do not know are ignored."""


class Initialize(Params, frozen=True):
    """`initialize`."""

    protocol_version: Annotated[int, msgspec.Meta(ge=0, le=65535)]


class Authenticate(Params, frozen=True):
    """`authenticate`."""

    method_id: str


class NewSession(Params, frozen=True):
    """`session/new`."""

    cwd: str
    mcp_servers: msgspec.Raw = msgspec.Raw(b"[]")
    additional_directories: msgspec.Raw = msgspec.Raw(b"[]")


class LoadSession(NewSession, frozen=True, kw_only=True):
    """`session/load`."""

    session_id: str


class ListSessions(Params, frozen=True):
    """`session/list`; `cursor` is one we gave."""

    cwd: str | None = None
    cursor: str | None = None


class OfSession(Params, frozen=True):
    """Whatever names a session and nothing else."""

    session_id: str


class SetMode(OfSession, frozen=True):
    """`session/set_mode`."""

    mode_id: str


class SetConfigOption(OfSession, frozen=True):
    """`session/set_config_option`."""

    config_id: str
    value: str | bool


class PromptBlock(msgspec.Struct, frozen=True, rename="camel", tag_field="type"):
    """Base of the content blocks of a prompt."""


class PromptText(PromptBlock, frozen=True, tag="text"):
    """Text the person typed."""

    text: str


class PromptImage(PromptBlock, frozen=True, tag="image"):
    """An image, base64."""

    data: str
    mime_type: str


class PromptAudio(PromptBlock, frozen=True, tag="audio"):
    """Sound, base64; not taken."""

    data: str
    mime_type: str


class ResourceLink(PromptBlock, frozen=True, tag="resource_link"):
    """A reference to something the agent can look up."""

    name: str
    uri: str


class EmbeddedContents(msgspec.Struct, frozen=True, rename="camel"):
    """The contents of an embedded resource: `text`, or `blob` in base64."""

    uri: str
    text: str | None = None
    blob: str | None = None


class EmbeddedResource(PromptBlock, frozen=True, tag="resource"):
    """A resource with its contents."""

    resource: EmbeddedContents


class Prompt(OfSession, frozen=True):
    """`session/prompt`."""

    prompt: list[PromptText | PromptImage | PromptAudio | ResourceLink | EmbeddedResource]


class Outcome(Params, frozen=True):
    """What the person chose: `selected` with an option, or `cancelled`."""

    outcome: Literal["selected", "cancelled"]
    option_id: str | None = None


class PermissionAnswer(Params, frozen=True):
    """The answer to `session/request_permission`."""

    outcome: Outcome


class Sent(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """Base of plain objects we send; members at their default are left out."""


class TextContent(Sent, frozen=True, tag_field="type", tag="text"):
    """Text as a content block."""

    text: str


class ImageContent(Sent, frozen=True, tag_field="type", tag="image"):
    """An image as a content block, base64."""

    data: str
    mime_type: str


class ContentCard(Sent, frozen=True, tag_field="type", tag="content"):
    """A content block on a tool card."""

    content: TextContent | ImageContent


class Diff(msgspec.Struct, frozen=True, rename="camel", tag_field="type", tag="diff"):
    """A change of a file; `old_text` is null for a new one."""

    path: str
    old_text: str | None
    new_text: str


class ToolLocation(Sent, frozen=True):
    """A place in a file; `line` is 0-based."""

    path: str
    line: int | None = None


CardContent = ContentCard | Diff
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


class Update(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True, tag_field="sessionUpdate"):
    """Base of the updates of a session."""


class MessageChunk(Update, frozen=True):
    """Base of the three chunks of a conversation; `message_id` changes with each message."""

    content: TextContent | ImageContent
    message_id: str


class UserMessageChunk(MessageChunk, frozen=True, tag="user_message_chunk"):
    """What the person wrote, on load."""


class AgentMessageChunk(MessageChunk, frozen=True, tag="agent_message_chunk"):
    """What the model says."""


class AgentThoughtChunk(MessageChunk, frozen=True, tag="agent_thought_chunk"):
    """What the model thinks."""


class ToolCallBegun(Update, frozen=True, tag="tool_call"):
    """A call opens; `raw_input` is the parsed arguments."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    content: tuple[CardContent, ...] = ()
    locations: tuple[ToolLocation, ...] = ()
    raw_input: Any = None


class ToolCallChanged(Update, frozen=True, tag="tool_call_update"):
    """A call goes on or ends; `content`, when there, replaces all cards."""

    tool_call_id: str
    status: ToolStatus | None = None
    content: tuple[CardContent, ...] | None = None
    raw_output: Any = None


class PlanEntry(msgspec.Struct, frozen=True):
    """One task as editors show it."""

    content: str
    priority: Literal["high", "medium", "low"]
    status: TodoStatus


class Plan(msgspec.Struct, frozen=True, tag_field="sessionUpdate", tag="plan"):
    """The whole task list."""

    entries: tuple[PlanEntry, ...]


class UsageChanged(msgspec.Struct, frozen=True, tag_field="sessionUpdate", tag="usage_update"):
    """Tokens in the context, and how many fit."""

    used: int
    size: int


class SessionInfoChanged(Update, frozen=True, tag="session_info_update"):
    """The session's title and when it last changed (RFC 3339)."""

    title: str
    updated_at: str


class ModeChanged(Update, frozen=True, tag="current_mode_update"):
    """The mode from here on."""

    current_mode_id: str


class OptionsChanged(Update, frozen=True, tag="config_option_update"):
    """All options with their values."""

    config_options: list[dict[str, Any]]


class CommandsChanged(
    msgspec.Struct, frozen=True, rename="camel", tag_field="sessionUpdate", tag="available_commands_update"
):
    """The slash commands there are."""

    available_commands: tuple[dict[str, Any], ...]


AnyUpdate = (
    UserMessageChunk
    | AgentMessageChunk
    | AgentThoughtChunk
    | ToolCallBegun
    | ToolCallChanged
    | Plan
    | UsageChanged
    | SessionInfoChanged
    | ModeChanged
    | OptionsChanged
    | CommandsChanged
)


class SessionUpdate(msgspec.Struct, frozen=True, rename="camel"):
    """Parameters of `session/update`."""

    session_id: str
    update: AnyUpdate


class PermissionOption(msgspec.Struct, frozen=True, rename="camel"):
    """One answer the person can give."""

    option_id: str
    name: str
    kind: Literal["allow_once", "allow_always", "reject_once", "reject_always"]


class AskedCall(Sent, frozen=True):
    """The call a permission is asked for."""

    tool_call_id: str
    title: str
    kind: ToolKind
    status: ToolStatus
    content: tuple[CardContent, ...] = ()
    locations: tuple[ToolLocation, ...] = ()
    raw_input: Any = None


class PermissionRequest(msgspec.Struct, frozen=True, rename="camel"):
    """Parameters of `session/request_permission`."""

    session_id: str
    tool_call: AskedCall
    options: tuple[PermissionOption, ...]

"""What may run without asking: the four modes, and what each does with an access.

`decide` is pure; who asks the person, and how, is somebody else's business.
"""

from pathlib import Path
from typing import Literal

import msgspec

Mode = Literal["ask", "accept-edits", "plan", "full"]
MODES: dict[Mode, tuple[str, str]] = {
    "ask": ("Ask", "Reading is free; changing files and running commands is asked about"),
    "accept-edits": ("Accept edits", "Files inside the workspace may be changed; commands are asked about"),
    "plan": ("Plan", "Nothing may be changed or run"),
    "full": ("Full access", "Nothing is asked about"),
}

Effect = Literal["none", "read", "write", "run"]
Decision = Literal["allow", "ask", "deny"]


class Access(msgspec.Struct, frozen=True):
    """What a call wants: its effect, the files it touches (absolute, links resolved), and `grant`, the
    text that an answer "for this session" is remembered by; without one, an answer holds for one call.

    `trusted` marks files that may be read wherever they lie, such as a spilled result.
    """

    effect: Effect
    paths: tuple[Path, ...] = ()
    grant: str = ""
    trusted: bool = False


NOTHING = Access("none")

#: folders in whose files a change can make commands run or rules change, so that it is never free
GUARDED = frozenset({".git", ".wayline"})


def decide(mode: Mode, access: Access, workspace: Path, grants: frozenset[str]) -> Decision:
    """Whether a call may run now, must be asked about, or may not run at all.

    `workspace` is absolute with links resolved; `grants` are the accesses the person allowed for this
    session.
    """
    if mode == "full" or access.effect == "none":
        return "allow"
    if mode == "plan" and access.effect in ("write", "run"):
        return "deny"
    if access.grant and access.grant in grants:
        return "allow"
    inside = all(path.is_relative_to(workspace) for path in access.paths)
    if access.effect == "read":
        return "allow" if inside or access.trusted else "ask"
    if access.effect == "write" and inside and mode == "accept-edits":
        guarded = any(GUARDED.intersection(path.relative_to(workspace).parts) for path in access.paths)
        return "ask" if guarded else "allow"
    return "ask"

"""What the agent's side of a connection needs of the rest of the program."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from wayline.acp.options import ModelChoice
from wayline.log.events import TurnEndReason
from wayline.loop.base import Asker, Cancellation, Prompt
from wayline.permissions.modes import Mode
from wayline.sessions.registry import Registry
from wayline.sessions.session import Session
from wayline.tools.cards import Presenter


class Services(Protocol):
    """What the agent needs of the rest of the program."""

    registry: Registry
    default_mode: Mode
    default_model: str
    #: seconds a question waits for the person
    patience: float

    @property
    def presenter(self) -> Presenter:
        """Whoever knows how calls are shown."""

    def models(self) -> Sequence[ModelChoice]:
        """The models a person can choose from."""

    def window(self, model: str) -> int | None:
        """The model's context window in tokens, when known."""

    def takes_images(self, model: str) -> bool:
        """Whether the model can be sent images."""

    def missing_credentials(self, model: str) -> str | None:
        """What to set so that the model can be used; None when it can. Reads the environment anew."""

    def preload(self) -> None:
        """Begin to load what the first prompt needs, in the background."""

    async def load_tools(self) -> None:
        """Return when tools can be presented and run."""

    async def run_turn(
        self,
        session: Session,
        model: str,
        mode: Callable[[], Mode],
        asker: Asker,
        said: Prompt,
        cancellation: Cancellation,
    ) -> TurnEndReason:
        """Run one turn to its end. Raises `LogError`."""

    def workspace_warnings(self, cwd: Path) -> Sequence[str]:
        """Lines for stderr about what of a workspace is being ignored."""

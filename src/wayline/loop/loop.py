"""The agent loop: a turn is steps, a step is one model request and the tools it called.

Everything that happens is appended to the log and nothing is said elsewhere. Whatever ends a turn
early (a cancel, a failing model, a full disk) leaves a log in which every step and call is closed.
"""

import logging
from contextlib import aclosing

import anyio
import anyio.lowlevel
import msgspec

from wayline.log.codec import LogError
from wayline.log.content import ContentBlock, Reasoning, Text, ToolCall
from wayline.log.events import (
    USER,
    AssistantChunk,
    AssistantMessage,
    ContextMessage,
    LlmRetry,
    Notice,
    SessionTitle,
    Source,
    Sources,
    Span,
    StepEnd,
    StepStart,
    Trigger,
    TurnEnd,
    TurnEndReason,
    TurnStart,
    UserMessage,
)
from wayline.log.recovery import AFTER_CANCEL, AFTER_FAILURE, Wording, close_step, repair
from wayline.loop import request, retry
from wayline.loop.base import Cancellation, Prompt, TurnLog
from wayline.loop.dispatch import Dispatcher
from wayline.loop.parts import Parts
from wayline.models.assembler import Assembler, assemble
from wayline.models.base import ModelError, ModelRequest, Unavailable
from wayline.projections.meta import first_words

logger = logging.getLogger(__name__)

CUT_OFF = "Your answer was cut off by a failing connection. Go on from where it stopped; do not repeat it."
#: how an answer ends that is whole
FINISHED = ("stop", "tool-calls")
#: Each update of a call repeats its id, and lines stay small.
LONGEST_ID = 256
#: Calls of an answer that did not end as it should are not run.
NOT_RUN = Wording(
    ("ABORTED_BEFORE_DISPATCH", "The answer ended before its time, so this call was not run."),
    ("ABORTED_BEFORE_DISPATCH", "The answer ended before its time, so this call was not run."),
)


class StepReply(msgspec.Struct, frozen=True):
    """One step's answer; `finish` is None when the stream was cut."""

    content: tuple[ContentBlock, ...]
    finish: str | None

    @property
    def calls(self) -> list[ToolCall]:
        """The calls it asks for, in order."""
        return [block for block in self.content if isinstance(block, ToolCall)]


class Turn:
    """One run of the loop, from a prompt to a `turn/end`; `cancellation` ends it as `aborted`."""

    def __init__(self, log: TurnLog, parts: Parts, cancellation: Cancellation) -> None:
        self._log = log
        self._model = parts.model
        self._limits = parts.limits
        self._cancellation = cancellation
        self._specs = request.tool_specs(parts.tools)
        self._system = request.system_prompt(log, parts.tools)
        self._number = 0
        self._step = 0
        self._failures = 0
        self._silent_step = 0
        self._dispatcher = Dispatcher(log, parts, cancellation.cancel)

    async def run(self, prompt: Prompt) -> TurnEndReason:
        """Run to the end, whatever it is. Raises `LogError` when not even the end could be written."""
        self._open(prompt)
        reason: TurnEndReason | None = None
        with self._cancellation.scope:
            reason = await self._guarded()
        if reason is None:
            self._close_step(AFTER_CANCEL)
            reason = TurnEndReason("aborted", self._cancellation.why)
        self._log.append(TurnEnd(self._number, reason))
        await self._log.checkpoint()
        return reason

    def _open(self, prompt: Prompt) -> None:
        # A turn whose end could not be written, on a full disk say, is closed before the next one opens.
        for payload in repair(self._log.turn_events, self._log.open_deltas, assemble):
            self._log.append(payload)
        self._number = self._log.state.meta.turns + 1
        self._log.append(TurnStart(self._number, Trigger("message", USER)))
        untitled = self._log.state.meta.title is None
        self._log.append(UserMessage(prompt.content, USER))
        if untitled and (title := first_words(prompt.content)):
            self._log.append(SessionTitle(title, Source("prompt")))
        for notice in prompt.notices:
            self._log.append(Notice(notice))

    async def _guarded(self) -> TurnEndReason:
        """The steps, with every failure turned into the reason it ends for."""
        try:
            return await self._steps()
        except ModelError as error:
            failure, code = str(error), error.code
        except LogError as error:
            failure, code = str(error), "STORAGE"
        except Exception as error:
            logger.exception("turn %d of session %s crashed", self._number, self._log.id)
            failure, code = f"{type(error).__name__}: {error}", "INTERNAL"
        self._close_step(AFTER_FAILURE)
        return TurnEndReason("error", step=self._step, message=failure, code=code)

    async def _steps(self) -> TurnEndReason:
        for step in range(1, self._limits.steps + 1):
            # A prompt cancelled while it waited must not begin a request.
            await anyio.lowlevel.checkpoint()
            await self._log.wait_for_followers(self._limits.followers_behind)
            self._step = step
            self._log.append(StepStart(self._number, step))
            reply = await self._ask_model()
            if reply.finish in FINISHED:
                await self._dispatcher.run(self._number, step, reply.calls)
                self._log.append(StepEnd(self._number, step))
                if not reply.calls:
                    return TurnEndReason("completed")
                continue
            self._close_step(NOT_RUN)
            if reply.finish is not None:
                return TurnEndReason("refusal" if reply.finish == "refusal" else "max-tokens")
            self._log.append(ContextMessage((Text(CUT_OFF),), Source("retry")))
        return TurnEndReason("max-turn-requests")

    async def _ask_model(self) -> StepReply:
        """One answer, whole or cut; failed attempts that gave nothing are made again."""
        while True:
            asked = self._request()
            await self._log.checkpoint()
            try:
                reply = await self._stream(asked)
            except Unavailable as error:
                pause = self._pause_after(error)
                self._log.append(
                    LlmRetry(self._number, self._step, self._failures, round(pause * 1000), str(error))
                )
                await anyio.sleep(pause)
                continue
            if reply.finish is not None:
                self._failures = 0
            return reply

    def _request(self) -> ModelRequest:
        header = request.header(self._model, self._system, self._specs, self._log.state.meta.header)
        if header is not None:
            self._log.append(header)
        return ModelRequest(
            session_id=self._log.id,
            system=self._system,
            messages=self._log.state.messages.history,
            tools=self._specs,
            ordinal=self._log.state.meta.requests - 1,
            turn=self._number,
            step=self._step,
            workspace=str(self._log.cwd),
        )

    async def _stream(self, asked: ModelRequest) -> StepReply:
        """Write the answer down as it comes.

        Raises `ModelError` when it fails before anything came; one that is cut later is kept. One of
        reasoning alone is asked for once more, since thinking costs as much as an answer.
        """
        assembler, first = Assembler(), -1
        cut: Unavailable | None = None
        try:
            async with aclosing(self._model.stream(asked)) as chunks:
                async for chunk in chunks:
                    event = self._log.append(AssistantChunk(self._number, self._step, chunk))
                    assembler.feed(chunk)
                    first = event.seq if first < 0 else first
        except Unavailable as error:
            cut = error
        reply = assembler.reply()
        content = self._with_own_ids(reply.content)
        finished = cut is None and reply.finish in FINISHED
        if not content and (cut is not None or finished):
            raise cut or Unavailable("the model gave an empty answer")
        silent = finished and _says_nothing(content)
        if silent and self._may_ask_once_more():
            raise Unavailable("the model gave no answer")
        self._log.append(
            AssistantMessage(self._number, self._step, content, reply.usage, interrupted=cut is not None),
            sources=self._sources(first),
        )
        if cut is not None:
            pause = self._pause_after(cut)
            self._log.append(Notice(f"The answer was cut off ({cut}); asking again."))
            await anyio.sleep(pause)
        if silent:
            self._log.append(Notice("The model gave no answer."))
        return StepReply(content, None if cut is not None else reply.finish)

    def _may_ask_once_more(self) -> bool:
        """Whether the step's first answer without words may be asked for again."""
        first, self._silent_step = self._silent_step != self._step, self._step
        return first and self._failures + 1 < self._limits.tries

    def _sources(self, first: int) -> Sources | None:
        """The deltas a message was made of; a mode set in between is none of them."""
        seqs = [event.seq for event in self._log.open_deltas if event.seq >= first]
        if not seqs:
            return None
        whole_run = seqs[-1] - seqs[0] + 1 == len(seqs)
        return Span(seqs[0], seqs[-1]) if whole_run else tuple(seqs)

    def _pause_after(self, error: Unavailable) -> float:
        """Seconds until the next attempt. Raises the error when there were enough."""
        self._failures += 1
        if self._failures >= self._limits.tries:
            raise error
        return retry.delay(self._limits, self._failures, error)

    def _with_own_ids(self, content: tuple[ContentBlock, ...]) -> tuple[ContentBlock, ...]:
        """The blocks with call ids that no earlier call of the session has: some servers repeat theirs."""
        taken: set[str] = set()
        blocks: list[ContentBlock] = []
        for index, block in enumerate(content):
            if isinstance(block, ToolCall):
                own_id = block.id
                if not 0 < len(own_id) <= LONGEST_ID or own_id in taken or own_id in self._log.call_ids:
                    own_id = f"call_{self._number}_{self._step}_{index}"
                taken.add(own_id)
                blocks.append(ToolCall(own_id, block.name, block.arguments))
            else:
                blocks.append(block)
        return tuple(blocks)

    def _close_step(self, wording: Wording) -> None:
        for payload in close_step(self._log.turn_events, self._log.open_deltas, assemble, wording):
            self._log.append(payload)


def _says_nothing(content: tuple[ContentBlock, ...]) -> bool:
    """Whether there are neither words for the person nor calls."""
    return all(
        isinstance(block, Reasoning) or (isinstance(block, Text) and not block.text.strip())
        for block in content
    )

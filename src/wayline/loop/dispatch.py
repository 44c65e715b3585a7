"""Running the calls of one step: in the model's order, side by side where that is safe."""

from collections.abc import Callable, Iterator, Sequence

import anyio
import anyio.lowlevel

from wayline.log.blobs import BLOBS, keep_blob
from wayline.log.codec import LogError
from wayline.log.content import ToolCall
from wayline.log.events import (
    PermissionAsked,
    PermissionDecided,
    PermissionOutcome,
    TodoItem,
    TodoWrite,
    ToolCallStarted,
    ToolError,
    ToolProgress,
    ToolResultRecorded,
)
from wayline.loop.base import CallQuestion, TurnLog
from wayline.loop.parts import Parts
from wayline.tools.base import Question, ToolOutput, ToolRun

PROGRESS_INTERVAL = 0.1
PROGRESS_LIMIT = 64 * 1024


class Dispatcher:
    """Runs the calls of one turn's steps. `cancel_turn` is called when the person cancels a question."""

    def __init__(self, log: TurnLog, parts: Parts, cancel_turn: Callable[[], None]) -> None:
        self._log = log
        self._tools = parts.tools
        self._asker = parts.asker
        self._mode = parts.mode
        self._environ = parts.environ
        self._cancel_turn = cancel_turn
        self._at_once = anyio.CapacityLimiter(parts.limits.parallel_calls)

    async def run(self, turn: int, step: int, calls: Sequence[ToolCall]) -> None:
        """Run them all; each gets its `tool/call` and its `tool/result`, in the model's order.

        Raises `StorageError`; cancelled, it leaves calls open for whoever closes the step.
        """
        for group in self._groups(calls):
            begun = [
                self._log.append(ToolCallStarted(turn, step, call.id, call.name, call.arguments))
                for call in group
            ]
            await self._log.checkpoint()
            outputs = await self._run_group(group)
            for call, event in zip(group, begun, strict=True):
                self._record(turn, step, call, event.seq, outputs[call.id])

    async def _run_group(self, group: Sequence[ToolCall]) -> dict[str, ToolOutput]:
        outputs: dict[str, ToolOutput] = {}
        try:
            async with anyio.create_task_group() as running:
                for call in group:
                    running.start_soon(self._run_one, call, outputs)
        except BaseExceptionGroup as failures:
            # Only the log can fail in there: tools do not, by the registry's contract.
            storage, others = failures.split(LogError)
            if storage is None or others is not None:
                raise
            raise _first(storage) from failures
        return outputs

    def _groups(self, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
        """Neighbours that may run together; any other call is alone."""
        together: list[ToolCall] = []
        for call in calls:
            if self._tools.parallel_safe(call.name, call.arguments):
                together.append(call)
                continue
            if together:
                yield together
                together = []
            yield [call]
        if together:
            yield together

    async def _run_one(self, call: ToolCall, outputs: dict[str, ToolOutput]) -> None:
        progress = Progress(self._log, call.id)
        async with self._at_once, anyio.create_task_group() as beside:
            beside.start_soon(progress.write_on)
            outputs[call.id] = await self._tools.execute(
                call.name, call.arguments, self._tool_run(call, progress)
            )
            beside.cancel_scope.cancel()

    def _tool_run(self, call: ToolCall, progress: "Progress") -> ToolRun:
        async def ask(question: Question) -> PermissionOutcome:
            return await self._ask(call, question)

        return ToolRun(
            call_id=call.id,
            workspace=self._log.cwd,
            mode=self._mode,
            environ=self._environ,
            grants=self._log.state.grants,
            seen=self._log.state.seen,
            todos=_Todos(self._log),
            report=progress.report,
            ask=ask,
            spill=lambda text: keep_blob(self._log.folder, text.encode()),
            spilled=self._log.folder / BLOBS,
        )

    async def _ask(self, call: ToolCall, question: Question) -> PermissionOutcome:
        self._log.append(PermissionAsked(call.id, question.title, question.grant))
        outcome = await self._asker.ask(
            CallQuestion(call.id, call.name, call.arguments, question.title, question.grant)
        )
        self._log.append(PermissionDecided(call.id, outcome, question.grant))
        # A crash after the effect must not read as "never started".
        await self._log.checkpoint()
        if outcome == "cancelled":
            self._cancel_turn()
            await anyio.lowlevel.checkpoint()
        return outcome

    def _record(self, turn: int, step: int, call: ToolCall, begun: int, output: ToolOutput) -> None:
        error = None
        if output.is_error:
            error = ToolError(output.error_name or "ToolFailure", output.error_code or "TOOL_FAILED")
        self._log.append(
            ToolResultRecorded(
                turn, step, call.id, output.content, output.is_error, error, dict(output.meta) or None
            ),
            sources=(begun,),
        )


def _first(failures: BaseExceptionGroup[LogError]) -> LogError:
    failure: BaseException = failures
    while isinstance(failure, BaseExceptionGroup):
        failure = failure.exceptions[0]
    assert isinstance(failure, LogError)
    return failure


class _Todos:
    """The session's task list as `todo_write` sees it."""

    def __init__(self, log: TurnLog) -> None:
        self._log = log

    async def write(self, todos: tuple[TodoItem, ...]) -> None:
        self._log.append(TodoWrite(todos))
        await self._log.checkpoint()


class Progress:
    """Output of a running call on its way to the log: at most ten events a second, at most 64 KB."""

    def __init__(self, log: TurnLog, call_id: str) -> None:
        self._log = log
        self._call_id = call_id
        self._pending: list[str] = []
        self._left = PROGRESS_LIMIT
        self._news = anyio.Event()

    def report(self, text: str) -> None:
        """There is more output."""
        kept = text[: self._left]
        self._left -= len(kept)
        if kept:
            self._pending.append(kept)
            self._news.set()

    async def write_on(self) -> None:
        """Write what is reported, until cancelled. What is then left is part of the result anyway."""
        while True:
            await self._news.wait()
            self._news = anyio.Event()
            self._log.append(ToolProgress(self._call_id, "".join(self._pending)))
            self._pending.clear()
            await anyio.sleep(PROGRESS_INTERVAL)

"""Plays one transcript against an agent: each step in its turn, no wait without a bound."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import anyio
import msgspec

from wayline.transcripts.format import (
    Answer,
    Eof,
    Expect,
    File,
    Forbid,
    Kill,
    LogEvent,
    Need,
    Placed,
    Refuse,
    Restart,
    Running,
    Send,
    SendLine,
    Step,
    Text,
    Transcript,
    TranscriptError,
    Unordered,
)
from wayline.transcripts.playing import expectations, places, world
from wayline.transcripts.playing.agents import Agents, NotStarted, RunningAgent
from wayline.transcripts.playing.client import Client
from wayline.transcripts.playing.conversation import Check, Conversation, Failed, Heard, summary
from wayline.transcripts.playing.expectations import NotOffered, Unmet, UnmetText
from wayline.transcripts.playing.matching import ENVELOPE, adopt, as_template, compare, fill
from wayline.transcripts.playing.places import Place

#: seconds that an agent has to end before it is killed, where that is no fault
PATIENCE = 5.0


class Outcome(msgspec.Struct, frozen=True):
    """What came of one transcript. `sent` is each line with the number of frames heard before it;
    `adopted` are the steps, by line, that `update` made fit; `not_offered` is what the agent does not offer,
    when the rest of the transcript needs it."""

    transcript: Transcript
    failure: Failed | None
    heard: Sequence[Heard]
    sent: Sequence[tuple[int, bytes]]
    stderr: str
    seconds: float
    adopted: Mapping[int, Step]
    not_offered: str | None = None


async def play(
    transcript: Transcript, agents: Agents, *, check: Check | None = None, update: bool = False
) -> Outcome:
    """Play a transcript on a place of its own; whatever the agent does is in the outcome.

    With `update`, an expectation that is not met is made to fit what came, where something came.
    """
    began = time.monotonic()
    if transcript.meta.schema and check is None:
        from wayline.transcripts.playing import schema  # the models take long to load

        check = schema.check
    conversation = Conversation(transcript.meta.timeout, check)
    adopted: dict[int, Step] = {}
    said: list[str] = []
    failure: Failed | None = None
    try:
        with places.fresh(transcript) as place:
            player = Player(transcript, place, conversation, adopted if update else None)
            failure = await player.play(agents, said)
    except (NotStarted, TranscriptError) as error:
        failure = Failed(str(error))
    not_offered = failure.reason if isinstance(failure, NotOffered) else None
    return Outcome(
        transcript,
        None if not_offered else failure,
        conversation.heard,
        conversation.sent,
        "".join(said),
        time.monotonic() - began,
        adopted,
        not_offered,
    )


async def play_all(
    transcripts: Sequence[Transcript],
    agents: Agents,
    *,
    jobs: int,
    done: Callable[[Outcome], None],
    check: Check | None = None,
    update: bool = False,
) -> list[Outcome]:
    """Play them, `jobs` at once; `done` is told of each when it ends, and they come back in their order."""
    outcomes: dict[int, Outcome] = {}
    limit = anyio.CapacityLimiter(jobs)

    async def play_one(number: int, transcript: Transcript) -> None:
        async with limit:
            outcomes[number] = await play(transcript, agents, check=check, update=update)
        done(outcomes[number])

    async with anyio.create_task_group() as tasks:
        for number, transcript in enumerate(transcripts):
            tasks.start_soon(play_one, number, transcript)
    return [outcomes[number] for number in range(len(transcripts))]


class _Forbidden(msgspec.Struct, frozen=True):
    """What must not come from frame number `start` on, until the answer to `until`."""

    placed: Placed
    template: dict[str, Any]
    start: int
    until: str | None


class Player:
    """One transcript on its way; `adopted` is where steps go that are made to fit, None when none are."""

    def __init__(
        self,
        transcript: Transcript,
        place: Place,
        conversation: Conversation,
        adopted: dict[int, Step] | None,
    ) -> None:
        self._meta = transcript.meta
        self._place = place
        self._conversation = conversation
        self._client = Client(transcript.meta.client, place)
        self._variables: dict[str, Any] = dict(place.variables)
        self._forbidden: list[_Forbidden] = []
        self._adopted = adopted
        self._left: list[Placed] = list(transcript.steps)

    async def play(self, agents: Agents, said: list[str]) -> Failed | None:
        """Play all steps; the failure that ended it. What the agent says to people goes to `said`.

        Raises `NotStarted`.
        """
        while True:
            async with agents.start(self._place) as agent:
                self._conversation.begin(agent)
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._conversation.listen, agent, self._questioned)
                    # Returned, not raised: a task group would wrap it.
                    failure = await self._run(agent)
                    tasks.cancel_scope.cancel()
            said.append(agent.stderr)
            if failure is not None or not self._left:
                return failure

    async def _run(self, agent: RunningAgent) -> Failed | None:
        """The steps up to the next restart, or to the end."""
        while self._left:
            placed = self._left[0]
            try:
                await self._step(placed, agent)
                self._check_forbidden()
            except Failed as failure:
                return self._placed(failure, placed)
            self._left.pop(0)
            if isinstance(placed.step, Restart | Kill) and self._left:
                return None
        try:
            await self._end(agent)
        except Failed as failure:
            return failure
        return None

    def _placed(self, failure: Failed, placed: Placed) -> Failed:
        """The failure with its place. What was forbidden and came is a better reason than a wait."""
        try:
            self._check_forbidden()
        except Failed as forbidden:
            failure = forbidden
        failure.placed = failure.placed or placed
        return failure

    async def _step(self, placed: Placed, agent: RunningAgent) -> None:
        step = placed.step
        match step:
            case Send():
                await self._send(step)
            case SendLine():
                await self._conversation.send_line(step.line.encode("utf-8", "surrogateescape"))
            case Expect() | Unordered() | Text():
                await self._expect(placed.line, step)
            case Forbid():
                self._forbid(placed, step)
            case Need():
                await self._need(step)
            case Running() if self._conversation.answer_to(step.running) is not None:
                raise NotOffered(f"{step.running} was answered before")
            case Answer() | Refuse():
                await self._answer(step)
            case LogEvent() | File():
                self._look(step)
            case Restart(force=True):
                await agent.eof()
                with anyio.move_on_after(min(PATIENCE, self._meta.timeout)):
                    await agent.ended()
                await agent.kill()
            case Restart() | Eof():
                await self._hang_up(agent)
            case Kill():
                await agent.kill()

    async def _send(self, step: Send) -> None:
        params = fill(step.send.params, self._variables)
        if step.name is None:
            await self._conversation.notify(step.send.method, params)
        else:
            await self._conversation.request(step.name, step.send.method, params)

    async def _questioned(self, question: Heard) -> None:
        """A question came: the default client answers it, unless this step or one still to come does."""
        method = question.frame["method"]
        if any(
            isinstance(left.step, Answer | Refuse) and left.step.to.get("method", method) == method
            for left in self._left
        ):
            return
        reply = self._client.reply(question.frame)
        if reply is not None:
            self._conversation.named.add(question.number)
            await self._conversation.respond(question, *reply)

    async def _expect(self, line: int, step: Expect | Unordered | Text) -> None:
        try:
            match step:
                case Expect():
                    self._accept(step, await expectations.expected(self._conversation, step, self._variables))
                case Unordered():
                    for heard in await expectations.in_any_order(
                        self._conversation, step.unordered, self._variables
                    ):
                        self._pass_by(heard)
                case Text():
                    await self._expect_text(step)
        except (Unmet, UnmetText) as unmet:
            if self._adopted is None or isinstance(step, Unordered):
                raise
            self._adopted[line] = self._fitting(step, unmet)

    def _fitting(self, step: Expect | Text, unmet: Unmet | UnmetText) -> Step:
        """The step made to fit what came, and accepted."""
        match step, unmet:
            case Text(), UnmetText(run=run):
                for chunk in run.chunks if step.until is None else ():
                    self._pass_by(chunk)
                return msgspec.structs.replace(step, text=as_template(run.text))
            case Expect(), Unmet(got=Heard() as heard):
                frame = {
                    name: value
                    for name, value in heard.frame.items()
                    if name in step.expect or name not in ENVELOPE
                }
                fitting = msgspec.structs.replace(
                    step, expect=adopt(step.expect, frame, self._variables, exact=step.exact)
                )
                self._accept(fitting, heard)
                return fitting
            case _:
                raise unmet

    def _accept(self, step: Expect, heard: Heard) -> None:
        comparison = compare(step.expect, heard.frame, self._variables, exact=step.exact)
        self._variables.update(comparison.captured)
        self._pass_by(heard)

    def _pass_by(self, heard: Heard) -> None:
        skipped = self._conversation.pass_by(heard)
        if skipped and self._meta.strict:
            raise Failed(f"a frame that no step names: {summary(skipped[0].frame)}", got=skipped[0])

    async def _expect_text(self, step: Text) -> None:
        session = self._session_of(step)
        run = await expectations.text_run(self._conversation, step, session, self._variables)
        self._variables.update(compare(step.text, run.text, self._variables).captured)
        for chunk in run.chunks:
            if step.until is None:
                self._pass_by(chunk)
            else:
                self._conversation.named.add(chunk.number)

    def _session_of(self, step: Text) -> str:
        """The session that is named, or of the request that is named, or of the latest request."""
        if step.session is not None:
            return str(fill(step.session, self._variables))
        asked = self._conversation.latest if step.until is None else self._conversation.asked[step.until]
        return asked.session if asked is not None else ""

    def _forbid(self, placed: Placed, step: Forbid) -> None:
        asked = self._conversation.latest if step.until is None else self._conversation.asked[step.until]
        start = asked.heard if asked is not None else 0
        self._forbidden.append(_Forbidden(placed, step.forbid, start, step.until))

    async def _need(self, step: Need) -> None:
        found = await expectations.needed(self._conversation, step, self._variables)
        self._variables.update(compare(step.need, found.frame, self._variables).captured)

    def _check_forbidden(self) -> None:
        """Raises `Failed` when something came that must not."""
        for each in self._forbidden:
            answer = None if each.until is None else self._conversation.answer_to(each.until)
            end = len(self._conversation.heard) if answer is None else answer.number
            for heard in self._conversation.heard[each.start : end]:
                if compare(each.template, heard.frame, self._variables).fits:
                    failure = Failed("a forbidden frame came", expected=each.template, got=heard)
                    failure.placed = each.placed
                    raise failure

    async def _answer(self, step: Answer | Refuse) -> None:
        def wanted() -> Heard | None:
            return next(
                (
                    question
                    for question in self._conversation.open_questions.values()
                    if compare(step.to, question.frame, self._variables).fits
                ),
                None,
            )

        await self._conversation.until(lambda: wanted() is not None)
        question = wanted()
        if question is None:
            raise expectations.not_come(self._conversation, Expect(step.to), self._variables)
        self._variables.update(compare(step.to, question.frame, self._variables).captured)
        if self._conversation.is_ahead(question):
            self._pass_by(question)
        if isinstance(step, Answer):
            await self._conversation.respond(question, "result", fill(step.answer, self._variables))
        else:
            error = fill(msgspec.to_builtins(step.refuse), self._variables)
            await self._conversation.respond(question, "error", error)

    def _look(self, step: LogEvent | File) -> None:
        if isinstance(step, LogEvent):
            comparison = world.look_at_log(self._place, step, self._variables)
        else:
            comparison = world.look_at_file(self._place, step.file, self._variables)
        self._variables.update(comparison.captured)

    async def _hang_up(self, agent: RunningAgent) -> None:
        await agent.eof()
        await self._conversation.until(lambda: self._conversation.over)
        with anyio.move_on_after(self._meta.timeout):
            await agent.ended()
            return
        raise Failed(f"the agent did not end within {self._meta.timeout:g} s after its stdin was closed")

    async def _end(self, agent: RunningAgent) -> None:
        """What holds at the end: forbidden frames have not come, all frames and lines are accounted for."""
        for each in self._forbidden:
            if each.until is not None:
                await expectations.answer_to(self._conversation, each.until)
        if self._meta.strict:
            await self._hang_up(agent)
            left = self._conversation.unnamed()
            if left:
                raise Failed(f"a frame that no step names: {summary(left[0].frame)}", got=left[0])
        self._conversation.check()
        self._check_forbidden()
        world.check_script(self._place)

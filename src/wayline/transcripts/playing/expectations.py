"""Waits for frames, and what is said of those that do not come."""

from collections.abc import Callable, Iterable
from typing import Any

from wayline.transcripts.format import Expect, Frame, Need, Template, Text
from wayline.transcripts.playing.conversation import Conversation, Failed, Heard, summary
from wayline.transcripts.playing.matching import Variables, compare
from wayline.transcripts.playing.runs import Run, all_of, run_of


class Unmet(Failed):
    """An expectation that can be made to fit what came."""

    def __init__(self, reason: str, *, expected: Template, got: Heard) -> None:
        super().__init__(reason, expected=expected, got=got)


class NotOffered(Failed):
    """What the rest of the transcript needs is not there, which is no fault."""


class UnmetText(Failed):
    """A run of chunks with another text."""

    def __init__(self, expected: str, run: Run) -> None:
        got = run.chunks[0] if run.chunks else None
        super().__init__("the text is another", expected=expected, got=got, value=run.text)
        self.run = run


async def answer_to(conversation: Conversation, name: str) -> Heard:
    """The answer to a request of ours. Raises `Failed`."""
    asked = conversation.asked[name]
    what = f"the answer to {name} ({asked.method})"

    def came() -> bool:
        gone = asked.run != conversation.run
        return gone or conversation.answer_to(name) is not None

    await conversation.until(came)
    heard = conversation.answer_to(name)
    if heard is None:
        raise Failed(_why(conversation, what, gone=asked.run != conversation.run))
    return heard


async def expected(conversation: Conversation, step: Expect, variables: Variables) -> Heard:
    """The frame that a step expects, which fits. Raises `Unmet`, `Failed`."""
    if step.to is not None:
        heard = await answer_to(conversation, step.to)
        if not conversation.is_ahead(heard):
            raise Failed(f"the answer to {step.to} came before a frame that an earlier step names", got=heard)
        comparison = compare(step.expect, heard.frame, variables, exact=step.exact)
        if not comparison.fits:
            raise Unmet(str(comparison.mismatches[0]), expected=step.expect, got=heard)
        return heard
    found = await _first(conversation, lambda frame: _fits(step, frame, variables))
    if found is None:
        raise not_come(conversation, step, variables)
    return found


async def in_any_order(
    conversation: Conversation, steps: Iterable[Expect], variables: dict[str, Any]
) -> list[Heard]:
    """The frames that fit the steps, each its own; what they capture is in `variables` at once.

    Raises `Failed`.
    """
    left, found = list(steps), dict[int, Heard]()

    def all_came() -> bool:
        for step in list(left):
            heard = _next_for(conversation, step, variables, found)
            if heard is not None:
                variables.update(compare(step.expect, heard.frame, variables, exact=step.exact).captured)
                found[heard.number] = heard
                left.remove(step)
        return not left

    await conversation.until(all_came)
    if left:
        raise not_come(conversation, left[0], variables)
    return sorted(found.values(), key=lambda heard: heard.number)


async def needed(conversation: Conversation, step: Need, variables: Variables) -> Heard:
    """The frame that a need names. Raises `NotOffered`, and `Failed` when an error came in its place."""
    if step.to is not None:
        answer = await answer_to(conversation, step.to)
        comparison = compare(step.need, answer.frame, variables)
        if comparison.fits:
            return answer
        _check_result(answer, step.need)
        raise NotOffered(f"in the answer to {step.to}, {comparison.mismatches[0]}")
    name = str(step.until)
    start = conversation.asked[name].heard

    def fitting() -> Heard | None:
        answer = conversation.answer_to(name)
        end = None if answer is None else answer.number
        return next((heard for heard in conversation.heard[start:end] if _like(step.need, heard)), None)

    def _like(template: Template, heard: Heard) -> bool:
        return compare(template, heard.frame, variables).fits

    await conversation.until(lambda: fitting() is not None or conversation.answer_to(name) is not None)
    found = fitting()
    if found is None:
        _check_result(await answer_to(conversation, name), step.need)
        raise NotOffered(f"no {summary(step.need)} came before the answer to {name}")
    return found


def _check_result(answer: Heard, need: Template) -> None:
    if "error" in answer.frame and "error" not in need:
        raise Unmet("an error came in place of a result", expected={"result": "${any}"}, got=answer)


def _next_for(
    conversation: Conversation, step: Expect, variables: Variables, taken: dict[int, Heard]
) -> Heard | None:
    if step.to is not None:
        answer = conversation.answer_to(step.to)
        return answer if answer is not None and _fits(step, answer.frame, variables) else None
    return next(
        (
            heard
            for heard in conversation.ahead()
            if heard.number not in taken and _fits(step, heard.frame, variables)
        ),
        None,
    )


async def text_run(conversation: Conversation, step: Text, session: str, variables: Variables) -> Run:
    """The run of chunks that a step names, whose text fits. Raises `UnmetText`, `Failed`."""
    if step.until is not None:
        answer = await answer_to(conversation, step.until)
        run = all_of((heard for heard in _of(conversation, session) if heard.number < answer.number), step.of)
    else:
        await conversation.until(lambda: run_of(_of(conversation, session), step.of).complete)
        run = run_of(_of(conversation, session), step.of)
        if not run.chunks:
            raise Failed(_why(conversation, f"{step.of} in session {session or '?'}"))
    if not compare(step.text, run.text, variables).fits:
        raise UnmetText(step.text, run)
    return run


def _of(conversation: Conversation, session: str) -> Iterable[Heard]:
    return (heard for heard in conversation.ahead() if heard.session == session)


async def _first(conversation: Conversation, fits: Callable[[Frame], bool]) -> Heard | None:
    """The first frame ahead that fits; None when it does not come."""
    seen = 0
    found: Heard | None = None

    def came() -> bool:
        nonlocal seen, found
        found = next((heard for heard in conversation.ahead(seen) if fits(heard.frame)), None)
        seen = len(conversation.heard)
        return found is not None

    await conversation.until(came)
    return found


def _fits(step: Expect, frame: Frame, variables: Variables) -> bool:
    return compare(step.expect, frame, variables, exact=step.exact).fits


def not_come(conversation: Conversation, step: Expect, variables: Variables) -> Failed:
    """What to say of a frame that did not come: the nearest one of its kind, when there is one."""
    what = summary(step.expect)
    why = _why(conversation, what if step.to is None else f"the answer to {step.to}")
    alike = [
        (comparison.mismatches, heard)
        for heard in conversation.ahead()
        if summary(heard.frame) == what
        # One that fits was another step's, or was answered.
        and not (comparison := compare(step.expect, heard.frame, variables, exact=step.exact)).fits
    ]
    if not alike:
        return Failed(why, expected=step.expect)
    (mismatch, *_), nearest = min(alike, key=lambda each: len(each[0]))
    return Unmet(f"{why}; the nearest differs {mismatch}", expected=step.expect, got=nearest)


def _why(conversation: Conversation, what: str, *, gone: bool = False) -> str:
    questions = ", ".join(str(each.frame["method"]) for each in conversation.open_questions.values())
    asks = f"; the agent waits for an answer to {questions}, which no step gives" if questions else ""
    if gone:
        return f"{what} cannot come: it went to a run of the agent that has ended"
    if conversation.over:
        return f"the agent went before {what} came"
    return f"waited {conversation.timeout:g} s for {what}{asks}"

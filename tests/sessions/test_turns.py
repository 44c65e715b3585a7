"""One turn at a time; the others wait in the order they came."""

import anyio
import pytest

from tests.sessions.conftest import PATIENCE
from wayline.sessions.turns import Ticket, Turns

pytestmark = pytest.mark.anyio


@pytest.fixture
def turns() -> Turns:
    return Turns()


async def up(ticket: Ticket) -> bool:
    """Whether nothing is before it."""
    came = anyio.Event()

    async def wait() -> None:
        await ticket.comes_up()
        came.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(wait)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()
    return came.is_set()


async def waits(ticket: Ticket) -> bool:
    return not await up(ticket)


async def test_the_first_comes_up_at_once_and_the_others_in_their_order(turns: Turns):
    first, second, third = [turns.submit() for _ in range(3)]
    came: list[int] = []

    async def run(number: int, ticket: Ticket) -> None:
        await ticket.comes_up()
        came.append(number)
        await anyio.lowlevel.checkpoint()
        came.append(number)
        ticket.release()

    with anyio.fail_after(PATIENCE):
        async with anyio.create_task_group() as tasks:
            for number, ticket in ((3, third), (2, second), (1, first)):
                tasks.start_soon(run, number, ticket)
    assert came == [1, 1, 2, 2, 3, 3]


async def test_a_prompt_waits_while_another_runs(turns: Turns):
    first, second = turns.submit(), turns.submit()
    assert await up(first)
    assert await waits(second)
    first.release()
    assert await up(second)


async def test_one_that_leaves_the_middle_lets_nobody_overtake(turns: Turns):
    first, second, third = [turns.submit() for _ in range(3)]
    second.release()
    assert await waits(third)
    first.release()
    assert await up(third)


def cancelled(ticket: Ticket) -> bool:
    return ticket.cancellation.scope.cancel_called


async def test_a_cancel_ends_the_running_turn_and_all_that_wait(turns: Turns):
    tickets = [turns.submit() for _ in range(3)]
    turns.cancel("the client has gone")
    assert all(map(cancelled, tickets))
    assert {ticket.cancellation.why for ticket in tickets} == {"the client has gone"}


async def test_a_cancelled_prompt_keeps_its_place(turns: Turns):
    first, second = turns.submit(), turns.submit()
    second.cancel()
    assert await waits(second)
    first.release()
    assert await up(second)


async def test_nothing_of_a_cancel_stays_behind(turns: Turns):
    turns.cancel()
    running = turns.submit()
    assert not cancelled(running)
    turns.cancel()
    later = turns.submit()
    assert not cancelled(later)
    running.release()
    assert not cancelled(later)
    assert not cancelled(turns.submit())


async def test_one_prompt_can_be_cancelled_alone(turns: Turns):
    first, second, third = [turns.submit() for _ in range(3)]
    second.cancel()
    assert [cancelled(ticket) for ticket in (first, second, third)] == [False, True, False]


async def test_cancelling_what_is_answered_means_nothing(turns: Turns):
    done = turns.submit()
    done.release()
    done.cancel()
    assert not cancelled(turns.submit())


async def test_the_first_reason_of_a_cancel_counts(turns: Turns):
    ticket = turns.submit()
    turns.cancel("the session was closed")
    turns.cancel("the client has gone")
    assert ticket.cancellation.why == "the session was closed"

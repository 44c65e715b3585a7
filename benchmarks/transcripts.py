"""A small transcript, played many times."""

import os
import time
from collections.abc import Callable
from pathlib import Path

import anyio

from wayline.transcripts.format import Transcript, read
from wayline.transcripts.playing.agents import Agents, Commands, wayline_acp
from wayline.transcripts.playing.in_process import InProcess
from wayline.transcripts.playing.player import play

SMALL = Path(__file__).parents[1] / "fixtures" / "transcripts" / "plan-live.jsonl"


def in_process(times: int) -> float:
    """Processor seconds for each."""
    return _taken(InProcess(os.environ), times, 4, time.process_time)


def commands(times: int) -> float:
    """Seconds for each."""
    return _taken(Commands(wayline_acp(), os.environ), times, 2, time.perf_counter)


def _taken(agents: Agents, times: int, at_once: int, clock: Callable[[], float]) -> float:
    small = read(SMALL)

    async def play_all() -> float:
        await _play(small, agents)
        began = clock()
        limit = anyio.CapacityLimiter(at_once)

        async def one() -> None:
            async with limit:
                await _play(small, agents)

        async with anyio.create_task_group() as tasks:
            for _ in range(times):
                tasks.start_soon(one)
        return (clock() - began) / times

    return anyio.run(play_all)


async def _play(transcript: Transcript, agents: Agents) -> None:
    outcome = await play(transcript, agents)
    if outcome.failure is not None:
        raise outcome.failure

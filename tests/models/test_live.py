"""The chat adapter and the real provider; without a key it skips itself."""

import os

import anyio
import pytest

from tests.models.rules import check
from wayline.log.content import Finish, Message, Text, ToolCall, UsageChunk
from wayline.models.assembler import assemble
from wayline.models.base import ModelRequest, ToolSpec
from wayline.models.catalog import DEFAULT_MODEL, PROVIDERS, split
from wayline.models.openai_chat import ChatModel

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.live,
    pytest.mark.skipif(not os.environ.get("DEEPSEEK_API_KEY"), reason="DEEPSEEK_API_KEY is not set"),
]
WEATHER = ToolSpec(
    "weather",
    "The weather in a city.",
    {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
)


async def test_deepseek_keeps_the_contract_with_a_call():
    provider, name = split(DEFAULT_MODEL, PROVIDERS)
    model = ChatModel(provider, name, PROVIDERS[provider], lambda: os.environ["DEEPSEEK_API_KEY"])
    asked = Message("user", (Text("Call the weather tool for Paris. Say nothing else."),))
    request = ModelRequest("live", "You use tools.", (asked,), (WEATHER,), ordinal=0, turn=1, step=1)
    with anyio.fail_after(50):
        chunks = [chunk async for chunk in model.stream(request)]
    await model.aclose()
    check(chunks)
    assert isinstance(chunks[-1], Finish)
    assert isinstance(chunks[-2], UsageChunk)
    assert [block.name for block in assemble(chunks) if isinstance(block, ToolCall)] == ["weather"]

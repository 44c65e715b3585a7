"""The wire as acp.md has it, over memory, pipes and sockets alike."""

import json
from typing import Any

import anyio
import msgspec
import pytest

from tests.wire.conftest import PATIENCE, Frame, Link, Serving
from wayline.wire.errors import Disconnected, InvalidParams, PeerError, ResourceNotFound
from wayline.wire.jsonrpc import Request, decode_params
from wayline.wire.transport import MemoryTransport

pytestmark = pytest.mark.anyio


class Greet(msgspec.Struct):
    name: str
    times: int = 1
    friends: list["Greet"] = []


async def greet(request: Request) -> object:
    who = request.decode(Greet)
    return f"hello {who.name}" * who.times


async def forever(request: Request) -> object:
    await anyio.sleep_forever()
    return None


DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        (b"hello", -32700, "the line is not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo"', -32700, "the line is not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo"} {}', -32700, "the line is not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": NaN}}', -32700, "not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": "\\q"}}', -32700, "not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": "\xff"}}', -32700, "not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "x": "\xed\xa0\x80"}', -32700, "not JSON"),
        (b"\xff\xfe\x00", -32700, "the line is not JSON"),
        (b"[" * 100_000, -32700, "the line is not JSON"),
        (DEEP, -32700, "the line is not JSON"),
        (b'{"a": ' * 100_000 + b"1" + b"}" * 100_000, -32700, "the line is not JSON"),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": ' + DEEP + b"}", -32700, "not JSON"),
        (b'{"jsonrpc": "2.0", "id": ' + DEEP + b"}", -32700, "the line is not JSON"),
        (b"[]", -32600, "a batch is not supported; send one message a line"),
        (b'[{"jsonrpc": "2.0", "id": 1, "method": "echo"}]', -32600, "a batch is not supported"),
        (b"42", -32600, "a message is an object"),
        (b'"hello"', -32600, "a message is an object"),
        (b"null", -32600, "a message is an object"),
        (b"{}", -32600, 'the message needs "jsonrpc": "2.0"'),
        (b'{"method": "echo"}', -32600, 'the message needs "jsonrpc": "2.0"'),
        (b'{"jsonrpc": "1.0", "method": "echo"}', -32600, 'the message needs "jsonrpc": "2.0"'),
        (b'{"jsonrpc": 2.0, "method": "echo"}', -32600, 'the message needs "jsonrpc": "2.0"'),
        (b'{"jsonrpc": "2.0"}', -32600, "the message has neither a method nor a result"),
        (b'{"jsonrpc": "2.0", "method": 7}', -32600, "the method is not a string"),
        (b'{"jsonrpc": "2.0", "method": null}', -32600, "the method is not a string"),
    ],
    ids=lambda value: repr(value)[:60] if isinstance(value, bytes) else "",
)
async def test_a_line_that_is_no_request_gets_an_error_with_id_null(
    serving: Serving, line: bytes, code: int, said: str
):
    async with serving() as peer:
        peer.say(line)
        error = await peer.error()
        assert (error["id"], error["code"]) == (None, code)
        assert said in error["data"]["details"]
        await peer.lives()


@pytest.mark.parametrize(
    "request_id",
    [b"1.0", b"1.5", b"1e3", b"true", b"false", b"[]", b"[1]", b"{}", b'{"a": 1}', b"9" * 5000],
    ids=lambda value: value[:10].decode(),
)
async def test_an_id_of_another_type_is_refused(serving: Serving, request_id: bytes):
    async with serving() as peer:
        peer.say(b'{"jsonrpc": "2.0", "id": ' + request_id + b', "method": "echo", "params": {}}')
        error = await peer.error()
        assert (error["id"], error["code"]) == (None, -32600)
        assert error["data"]["details"] == "an id is a string, an integer or null"
        await peer.lives()


@pytest.mark.parametrize(
    "request_id",
    [
        *[b"0", b"-1", b"9007199254740993", b"-9223372036854775809", b"123456789012345678901234567890"],
        *[
            b"null",
            b'""',
            b'"7"',
            '"ünï 😀"'.encode(),
            b'"a\\"\\\\\\n\\u0000b"',
            b'"' + b"x" * 100_000 + b'"',
        ],
    ],
    ids=lambda value: value[:20].decode(),
)
@pytest.mark.parametrize("method", ["echo", "no/such"])
async def test_an_id_comes_back_as_it_came(serving: Serving, method: str, request_id: bytes):
    async with serving() as peer:
        peer.say(b'{"jsonrpc": "2.0", "id": %b, "method": "%b"}' % (request_id, method.encode()))
        frame = await peer.hear()
        assert json.dumps(frame["id"]) == json.dumps(json.loads(request_id))
        assert ("result" in frame) == (method == "echo")
        await peer.lives()


async def test_what_is_wrong_with_a_request_is_answered_with_its_id(serving: Serving):
    async with serving() as peer:
        for wrong in (
            {"jsonrpc": "1.0", "method": "echo"},
            {"jsonrpc": "2.0"},
            {"jsonrpc": "2.0", "method": 7},
        ):
            peer.say({"id": "seven", **wrong})
            error = await peer.error()
            assert (error["id"], error["code"]) == ("seven", -32600)
        await peer.lives()


async def test_an_unknown_method_is_named(serving: Serving):
    async with serving() as peer:
        peer.ask("no/such")
        assert await peer.error() == {
            "id": 1,
            "code": -32601,
            "message": "Method not found",
            "data": {"details": "there is no method 'no/such'"},
        }
        await peer.lives()


@pytest.mark.parametrize(
    ("params", "path", "said"),
    [
        ("{}", "params", "Object missing required field `name`"),
        ("null", "params", "Expected `object`, got `null`"),
        ("[]", "params", "Expected `object`, got `array`"),
        ('"x"', "params", "Expected `object`, got `str`"),
        ('{"name": 7}', "params.name", "Expected `str`, got `int`"),
        ('{"name": "a", "times": true}', "params.times", "Expected `int`, got `bool`"),
        (
            '{"name": "a", "friends": [{"name": "b"}, {"name": null}]}',
            "params.friends[1].name",
            "Expected `str`",
        ),
        ('{"name": "a", "friends": ' + "[" * 800 + "]" * 800 + "}", "params.friends[0]", "Expected `object`"),
    ],
)
async def test_parameters_that_do_not_fit_are_refused_with_the_path_and_what_was_expected(
    serving: Serving, params: str, path: str, said: str
):
    async with serving({"greet": greet}) as peer:
        peer.say(b'{"jsonrpc": "2.0", "id": 1, "method": "greet", "params": %b}' % params.encode())
        error = await peer.error()
        assert (error["id"], error["code"], error["data"]["path"]) == (1, -32602, path)
        assert error["data"]["details"].startswith(said)
        await peer.lives()


def test_parameters_too_deep_to_read_are_refused():
    with pytest.raises(InvalidParams, match="recursion"):
        decode_params(b'{"name": "a", "x": ' + DEEP + b"}", Greet)


async def test_parameters_may_be_left_out(serving: Serving):
    async with serving() as peer:
        peer.say(b'{"jsonrpc": "2.0", "id": 1, "method": "echo"}')
        assert (await peer.hear())["result"] == {}


async def test_parameters_may_have_what_nobody_knows(serving: Serving):
    async with serving({"greet": greet}) as peer:
        peer.say(
            {"jsonrpc": "2.0", "id": 1, "method": "greet", "params": {"name": "a", "_meta": {"x": 1}}, "y": 2}
        )
        assert (await peer.hear())["result"] == "hello a"


async def test_an_id_given_twice_counts_once(serving: Serving):
    async with serving() as peer:
        peer.say(b'{"jsonrpc": "2.0", "id": 1, "id": 2, "method": "echo", "params": {}}')
        assert (await peer.hear())["id"] == 2
        await peer.lives()


async def test_an_id_is_not_used_twice_at_once(serving: Serving):
    async with serving({"forever": forever}) as peer:
        peer.ask("forever", request_id="a")
        peer.ask("echo", request_id="a")
        error = await peer.error()
        assert (error["id"], error["code"]) == (None, -32600)
        assert error["data"]["details"] == "request id 'a' is still in use"
        peer.tell("$/cancel_request", {"requestId": "a"})
        assert (await peer.error())["id"] == "a"
        peer.ask("echo", {"free": "again"}, "a")
        assert (await peer.hear())["result"] == {"free": "again"}


async def test_a_number_and_a_string_are_different_ids(serving: Serving):
    async with serving({"forever": forever}) as peer:
        peer.ask("forever", request_id=1)
        peer.ask("echo", request_id="1")
        assert (await peer.hear())["id"] == "1"
        peer.tell("$/cancel_request", {"requestId": 1})
        assert (await peer.error())["id"] == 1


async def test_what_a_handler_does_before_it_waits_no_later_message_overtakes(serving: Serving):
    order: list[str] = []

    def take_a_place(request: Request) -> Any:
        order.append(f"{request.id} came")
        return finish(request)

    async def finish(request: Request) -> None:
        order.append(f"{request.id} runs")

    def heard(params: bytes) -> None:
        order.append("cancel came")

    async with serving({"prompt": take_a_place}, {"cancel": heard}) as peer:
        # In one write, so that all three are there before any task runs.
        messages = [
            {"jsonrpc": "2.0", "id": 1, "method": "prompt"},
            {"jsonrpc": "2.0", "method": "cancel"},
            {"jsonrpc": "2.0", "id": 2, "method": "prompt"},
        ]
        peer.say(b"\n".join(json.dumps(message).encode() for message in messages))
        await peer.hear()
        await peer.hear()
    came = [entry for entry in order if "came" in entry]
    assert came == ["1 came", "cancel came", "2 came"]
    assert order.index("1 runs") > order.index("1 came")


async def test_a_slow_request_holds_up_no_other(serving: Serving):
    async with serving({"forever": forever}) as peer:
        peer.ask("forever", request_id=1)
        await peer.lives()
        peer.tell("$/cancel_request", {"requestId": 1})
        assert (await peer.error())["id"] == 1


async def test_a_cancelled_request_says_so(serving: Serving):
    async with serving({"forever": forever}) as peer:
        peer.ask("forever", request_id="x")
        peer.tell("$/cancel_request", {"requestId": "x"})
        assert await peer.error() == {"id": "x", "code": -32800, "message": "Request cancelled"}
        await peer.lives()


async def test_a_handler_may_end_a_cancelled_request_its_own_way(serving: Serving):
    def prompt(request: Request) -> Any:
        asked_to_stop = anyio.Event()
        request.cancel = asked_to_stop.set

        async def run() -> object:
            await asked_to_stop.wait()
            return {"stopReason": "cancelled"}

        return run()

    async with serving({"prompt": prompt}) as peer:
        peer.ask("prompt")
        peer.tell("$/cancel_request", {"requestId": 1})
        assert (await peer.hear())["result"] == {"stopReason": "cancelled"}


@pytest.mark.parametrize(
    "params",
    [None, [], {}, {"requestId": 99}, {"requestId": True}, {"requestId": 1.0}, {"requestId": {}}, "x"],
)
async def test_cancelling_what_does_not_run_does_nothing(serving: Serving, params: Any):
    async with serving() as peer:
        peer.tell("$/cancel_request", params)
        await peer.lives()


async def test_a_cancel_does_not_stay_behind_for_a_later_request_of_that_id(serving: Serving):
    async with serving() as peer:
        peer.tell("$/cancel_request", {"requestId": 1})
        peer.ask("echo", {"a": "b"}, 1)
        peer.tell("$/cancel_request", {"requestId": "alive"})
        assert (await peer.hear())["result"] == {"a": "b"}
        await peer.lives()


async def test_notifications_that_nobody_knows_or_that_fail_are_ignored(serving: Serving):
    heard: list[bytes] = []

    def fussy(params: bytes) -> None:
        heard.append(params)
        raise InvalidParams("no", path="params")

    def broken(params: bytes) -> None:
        heard.append(params)
        raise ZeroDivisionError

    async with serving({}, {"fussy": fussy, "broken": broken}) as peer:
        peer.tell("no/such", {})
        peer.tell("echo", {})
        peer.tell("fussy", {})
        peer.tell("broken", [])
        await peer.lives()
    assert heard == [b"{}", b"[]"]


@pytest.mark.parametrize(
    "answer",
    [
        {"id": 99, "result": 1},
        {"id": "1", "result": {}},
        {"id": None, "result": {}},
        {"result": {}},
        {"id": [], "result": {}},
        {"id": True, "result": {}},
        {"id": None, "error": {"code": -32700, "message": "Parse error"}},
        {"error": "bad"},
        {"id": 99, "error": None},
    ],
)
async def test_answers_to_nothing_are_ignored(serving: Serving, answer: Frame):
    async with serving() as peer:
        peer.say({"jsonrpc": "2.0", **answer})
        await peer.lives()


async def test_an_empty_line_is_nothing(serving: Serving):
    async with serving() as peer:
        peer.say(b"")
        peer.say(b"  \t")
        await peer.lives()


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
async def test_what_fails_in_a_handler_is_an_internal_error_without_a_traceback(serving: Serving, late: bool):
    def fail(request: Request) -> Any:
        if not late:
            raise OSError("the disk is full")
        return later()

    async def later() -> None:
        await anyio.lowlevel.checkpoint()
        raise OSError("the disk is full")

    async with serving({"fail": fail}) as peer:
        peer.ask("fail")
        assert await peer.error() == {
            "id": 1,
            "code": -32603,
            "message": "Internal error",
            "data": {"details": "OSError: the disk is full"},
        }
        await peer.lives()


@pytest.mark.parametrize("late", [False, True], ids=["at once", "later"])
async def test_the_errors_of_the_protocol_are_answered_as_they_are(serving: Serving, late: bool):
    def fail(request: Request) -> Any:
        if not late:
            raise ResourceNotFound("no session s", sessionId="s")
        return later()

    async def later() -> None:
        raise ResourceNotFound("no session s", sessionId="s")

    async with serving({"fail": fail}) as peer:
        peer.ask("fail")
        assert await peer.error() == {
            "id": 1,
            "code": -32002,
            "message": "Resource not found",
            "data": {"details": "no session s", "sessionId": "s"},
        }
        await peer.lives()


async def test_the_details_of_an_error_stay_short(serving: Serving):
    async def fail(request: Request) -> object:
        raise ValueError("x" * 1_000_000)

    async with serving({"fail": fail}) as peer:
        peer.ask("fail")
        assert len((await peer.error())["data"]["details"]) == 4000


@pytest.mark.parametrize("outcome", ["answered", "refused at once", "refused later", "cancelled"])
async def test_what_waits_for_an_answer_happens_behind_it(serving: Serving, link: Link, outcome: str):
    def handle(request: Request) -> Any:
        request.after_answer(lambda: link.ours.send(b'{"jsonrpc": "2.0", "method": "after"}\n'))
        if outcome == "refused at once":
            raise InvalidParams("no")
        return forever(request) if outcome == "cancelled" else later()

    async def later() -> object:
        if outcome == "refused later":
            raise InvalidParams("no")
        return {}

    async with serving({"handle": handle}) as peer:
        peer.ask("handle")
        peer.tell("$/cancel_request", {"requestId": 1})
        assert (await peer.hear())["id"] == 1
        assert (await peer.hear())["method"] == "after"


@pytest.mark.parametrize("escaped", [r"\ud800", r"\uDFFF", r"\udc00\ud800", r"a\ud83d"])
async def test_lone_surrogates_that_come_in_become_replacement_characters(serving: Serving, escaped: str):
    async with serving() as peer:
        line = '{"jsonrpc": "2.0", "id": "%s", "method": "echo", "params": {"%s": ["%s"]}}'
        peer.say((line % (escaped, escaped, escaped)).encode())
        frame = await peer.hear()
        mended = "".join("\ufffd" if "\ud800" <= c <= "\udfff" else c for c in json.loads(f'"{escaped}"'))
        assert frame == {"jsonrpc": "2.0", "id": mended, "result": {mended: [mended]}}


async def test_escaped_pairs_of_surrogates_are_what_they_stand_for(serving: Serving):
    async with serving() as peer:
        peer.ask("echo", {"a": "😀"})
        assert (await peer.hear())["result"] == {"a": "😀"}


async def test_lone_surrogates_that_go_out_become_replacement_characters(serving: Serving):
    async def name(request: Request) -> object:
        return {"name": "caf\udce9"}

    async with serving({"name": name}) as peer:
        peer.ask("name")
        assert (await peer.hear())["result"] == {"name": "caf\ufffd"}
        await peer.connection.notify("update", [Greet("caf\udce9")])
        assert (await peer.hear())["params"] == {"name": "caf\ufffd", "times": 1, "friends": []}


async def test_notifications_go_out_in_order(serving: Serving):
    async with serving() as peer:
        await peer.connection.notify("update", [{"n": 0}, {"n": 1}])
        await peer.connection.notify("update", [{"n": 2}])
        assert [await peer.hear() for _ in range(3)] == [
            {"jsonrpc": "2.0", "method": "update", "params": {"n": n}} for n in range(3)
        ]


class Answers:
    """A question of ours, asked beside the test."""

    def __init__(self) -> None:
        self.outcome: object = None
        self.scope = anyio.CancelScope()
        self.done = anyio.Event()

    async def ask(self, peer: Any, kind: type = Greet) -> None:
        with self.scope:
            try:
                self.outcome = await peer.connection.call("ask", {"q": 1}, kind)
            except Exception as error:  # noqa: BLE001 - it is what the test looks at
                self.outcome = error
        self.done.set()

    async def result(self) -> object:
        with anyio.fail_after(PATIENCE):
            await self.done.wait()
        return self.outcome


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        ({"result": {"name": "a"}}, Greet("a")),
        ({"result": {"name": "a"}, "error": None}, Greet("a")),
        ({"result": {"name": 7}}, InvalidParams("Expected `str`, got `int`")),
        ({"result": None}, InvalidParams("Expected `object`, got `null`")),
        ({"error": {"code": -5, "message": "no", "data": 1}}, PeerError(-5, "no")),
        ({"error": {}}, PeerError(0, "")),
        ({"error": "no"}, PeerError(0, "an error of unknown form")),
        ({"error": {"code": "x"}}, PeerError(0, "an error of unknown form")),
        ({"error": {"code": 1, "message": "no"}, "result": {"name": "a"}}, PeerError(1, "no")),
    ],
)
async def test_a_question_is_answered(serving: Serving, answer: Frame, outcome: object):
    async with serving() as peer, anyio.create_task_group() as tasks:
        question = Answers()
        tasks.start_soon(question.ask, peer)
        asked = await peer.hear()
        assert (asked["method"], asked["params"]) == ("ask", {"q": 1})
        peer.say({"jsonrpc": "2.0", "id": asked["id"], **answer})
        assert repr(await question.result()) == repr(outcome)
        await peer.lives()


async def test_questions_are_told_apart_however_they_are_answered(serving: Serving):
    async with serving() as peer, anyio.create_task_group() as tasks:
        first, second = Answers(), Answers()
        tasks.start_soon(first.ask, peer, str)
        first_id = (await peer.hear())["id"]
        tasks.start_soon(second.ask, peer, str)
        second_id = (await peer.hear())["id"]
        peer.say({"jsonrpc": "2.0", "id": second_id, "result": "second"})
        peer.say({"jsonrpc": "2.0", "id": first_id, "result": "first"})
        assert (await first.result(), await second.result()) == ("first", "second")


async def test_a_question_that_is_cancelled_is_withdrawn(serving: Serving):
    async with serving() as peer, anyio.create_task_group() as tasks:
        question = Answers()
        tasks.start_soon(question.ask, peer)
        asked = await peer.hear()
        question.scope.cancel()
        withdrawn = await peer.hear()
        assert withdrawn["method"] == "$/cancel_request"
        assert withdrawn["params"] == {"requestId": asked["id"]}
        peer.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"name": "too late"}})
        await peer.lives()
        assert await question.result() is None


async def test_a_question_is_not_waited_for_when_the_peer_has_gone(serving: Serving):
    async with serving() as peer, anyio.create_task_group() as tasks:
        question = Answers()
        tasks.start_soon(question.ask, peer)
        await peer.hear()
        peer.hang_up()
        assert isinstance(await question.result(), Disconnected)
        with pytest.raises(Disconnected):
            await peer.connection.call("ask", {}, dict)


async def test_an_answer_counts_although_the_peer_goes_right_after_it(serving: Serving, link: Link):
    async with serving() as peer, anyio.create_task_group() as tasks:
        question = Answers()
        tasks.start_soon(question.ask, peer)
        asked = await peer.hear()
        peer.say({"jsonrpc": "2.0", "id": asked["id"], "result": {"name": "a"}})
        await link.theirs.flush()
        peer.hang_up()
        assert await question.result() == Greet("a")


async def test_the_first_answer_counts(serving: Serving):
    async with serving() as peer, anyio.create_task_group() as tasks:
        question = Answers()
        tasks.start_soon(question.ask, peer, str)
        asked = await peer.hear()
        answers = [{"jsonrpc": "2.0", "id": asked["id"], "result": text} for text in ("first", "second")]
        peer.say(b"\n".join(json.dumps(answer).encode() for answer in answers))
        assert await question.result() == "first"


async def test_what_runs_when_the_peer_goes_is_told_and_waited_for(serving: Serving):
    told, finished = anyio.Event(), anyio.Event()

    async def work(request: Request) -> object:
        await told.wait()
        finished.set()
        return {}

    async with serving({"work": work}, closing=told.set) as peer:
        peer.ask("work")
        await peer.lives()
        assert not told.is_set()
    assert finished.is_set()


async def test_what_is_sent_to_a_peer_that_takes_nothing_any_more_is_dropped():
    sending, taking = anyio.create_memory_object_stream[bytes](0)
    incoming, source = anyio.create_memory_object_stream[bytes](0)
    transport = MemoryTransport(source, sending)
    with sending, incoming, source:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(transport.write_on)
            transport.send(b"one\ntwo\n")
            taking.close()
            with anyio.fail_after(PATIENCE):
                await transport.flush()
            tasks.cancel_scope.cancel()


async def test_serving_ends_when_it_is_told_to_stop(serving: Serving):
    told = anyio.Event()
    async with serving(closing=told.set) as peer:
        await peer.lives()
        peer.connection.stop()
        with anyio.fail_after(PATIENCE):
            await told.wait()


async def test_a_number_beyond_a_float_is_answered_beside_an_escaped_pair(serving: Serving):
    """Python's own reader makes an infinity of it, which is no JSON."""
    async with serving() as peer:
        peer.say(
            b'{"jsonrpc": "2.0", "id": "a", "method": "none", "params": {"x": 1e999, "y": "\\ud83d\\ude00"}}'
        )
        frame = await peer.hear()
        assert (frame["id"], frame["error"]["code"]) == ("a", -32601)


async def test_an_escaped_backslash_before_a_surrogate_is_left_alone(serving: Serving):
    async with serving() as peer:
        peer.say(b'{"jsonrpc": "2.0", "id": 1, "method": "echo", "params": {"a": "\\\\ud800 \\ud800"}}')
        assert (await peer.hear())["result"] == {"a": "\\ud800 \ufffd"}

from pathlib import Path

import pytest

#: Logs that another program wrote; they lie beside the checkout and are not part of it.
RECORDED = sorted((Path(__file__).parents[3] / "shared" / "recorded-logs").glob("*.jsonl"))


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=RECORDED or (None,), ids=lambda path: path.stem if path else "none")
def recorded(request: pytest.FixtureRequest) -> Path:
    if request.param is None:
        pytest.skip("the recorded logs are not here")
    path: Path = request.param
    return path

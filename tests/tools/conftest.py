import pytest

from tests.tools.running import Session


@pytest.fixture
def anyio_backend():
    return "asyncio"


@pytest.fixture
def session(tmp_path):
    workspace = tmp_path.resolve() / "workspace"
    workspace.mkdir()
    return Session(workspace, tmp_path.resolve() / "spilled")

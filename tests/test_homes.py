"""Where the person's files lie."""

from pathlib import Path

import pytest

from wayline.homes import Homes, find

HOME = {"HOME": "/home/you"}
SUPPORT = Path("/home/you/Library/Application Support/wayline")


@pytest.mark.parametrize(
    ("environ", "platform", "data", "config"),
    [
        (HOME, "linux", "/home/you/.local/share/wayline", "/home/you/.config/wayline"),
        ({**HOME, "XDG_DATA_HOME": "/d", "XDG_CONFIG_HOME": "/c"}, "linux", "/d/wayline", "/c/wayline"),
        (
            {**HOME, "XDG_DATA_HOME": "relative"},
            "linux",
            "/home/you/.local/share/wayline",
            "/home/you/.config/wayline",
        ),
        (HOME, "darwin", str(SUPPORT), str(SUPPORT)),
        ({**HOME, "WAYLINE_HOME": "/w"}, "linux", "/w", "/w"),
        ({**HOME, "WAYLINE_HOME": "/w"}, "darwin", "/w", "/w"),
    ],
)
def test_each_platform_has_its_places_and_one_variable_moves_all(
    environ: dict[str, str], platform: str, data: str, config: str
):
    assert find(environ, platform) == Homes(Path(data), Path(config))

"""What a command inherits of the agent's environment."""

import re
from collections.abc import Mapping

#: A variable is a secret when one of these is anywhere in its name …
SECRET_PARTS = ("SECRET", "PASSWORD", "PASSWD", "PSWD", "PASSPHRASE", "CREDENTIAL", "APIKEY", "PRIVATEKEY")
#: … when one of these is a word of it, words being parted by `_` …
SECRET_WORDS = frozenset(
    "KEY KEYS TOKEN TOKENS AUTH PASS PAT COOKIE JWT BEARER PWD DSN".split()  # noqa: SIM905 - easier to read
)
#: … or starts with one of these, which are the agent's own.
OWN = ("WAYLINE_",)
#: … or when its value is a URL with a password, as DATABASE_URL and HTTPS_PROXY may be.
SECRET_VALUE = re.compile(r"://[^/\s:@]*:[^/\s@]+@")
#: These look like secrets and are none: folders, the agent of ssh, the public key of a Python image.
HARMLESS = frozenset({"PWD", "OLDPWD", "SSH_AUTH_SOCK", "GPG_KEY"})

#: nobody is there to page through output or to type a password
UNATTENDED = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat", "GIT_TERMINAL_PROMPT": "0"}


def scrub(environ: Mapping[str, str]) -> dict[str, str]:
    """`environ` without what looks like a secret or is the agent's own.

    It goes by names (`DEEPSEEK_API_KEY`, `GH_TOKEN`, `PGPASSWORD`, `MYSQL_PWD`, `WAYLINE_LOG`) and by
    URLs that hold a password.
    """
    return {
        name: value
        for name, value in environ.items()
        if not is_secret(name) and not SECRET_VALUE.search(value)
    }


def is_secret(name: str) -> bool:
    """Whether a command may not see the variable."""
    upper = name.upper()
    if upper in HARMLESS:
        return False
    words = re.split(r"[^A-Z0-9]+", upper)
    return (
        upper.startswith(OWN)
        or any(part in upper for part in SECRET_PARTS)
        or not SECRET_WORDS.isdisjoint(words)
    )

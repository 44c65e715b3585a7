"""How long to wait before a failed attempt is made again."""

import random

from wayline.loop.base import Limits
from wayline.models.base import Unavailable


def delay(limits: Limits, attempt: int, error: Unavailable) -> float:
    """Seconds to wait after attempt `attempt` (1, 2, …) failed.

    The provider's own word (`Retry-After`) counts when it gave one, up to ten times the longest delay.
    """
    if error.retry_after is not None:
        return min(error.retry_after, 10 * limits.longest_delay)
    doubled = min(limits.first_delay * 2.0 ** (attempt - 1), limits.longest_delay)
    return doubled * random.uniform(1 - limits.jitter, 1 + limits.jitter)

"""Encoded chunks that are kept for a while: clients read one chunk in several ranges, and many ask for the same."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future

from byteatlas.serving.bodies import Body, body_of


class ByteCache:
    """The values used last, up to a number of bytes. A value that several threads ask for is made once."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._kept: OrderedDict[Hashable, Body] = OrderedDict()
        self._making: dict[Hashable, Future[Body]] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], bytes]) -> Body:
        """The value under a key. Raises what making it raises, and keeps nothing then."""
        with self._lock:
            found = self._kept.get(key)
            if found is not None:
                self._kept.move_to_end(key)
                return found
            under_way = self._making.get(key)
            if under_way is None:
                mine: Future[Body] = Future()
                self._making[key] = mine
        if under_way is not None:
            return under_way.result()
        try:
            body = body_of(make())
        except BaseException as error:
            with self._lock:
                del self._making[key]
            mine.set_exception(error)
            raise
        with self._lock:
            del self._making[key]
            self._keep(key, body)
        mine.set_result(body)
        return body

    def _keep(self, key: Hashable, body: Body) -> None:
        if body.size > self._most:
            return
        self._kept[key] = body
        self._held += body.size
        while self._held > self._most:
            self._held -= self._kept.popitem(last=False)[1].size

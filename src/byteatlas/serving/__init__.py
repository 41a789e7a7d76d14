"""Maps, archives and stores over HTTP: an ASGI application, and its options.

`app` gives the application; it can be mounted in another one. ``byteatlas serve`` runs it.
"""

from byteatlas.serving.application import app
from byteatlas.serving.options import ServeOptions

__all__ = ["ServeOptions", "app"]

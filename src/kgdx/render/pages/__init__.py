"""A result as one self-contained HTML page, made from its JSON document: the same page from a run, a file or a server.

Nothing in it is fetched from elsewhere, and nothing of the document is taken for markup.
"""

from kgdx.render.pages.page import page, writable, write

__all__ = ["page", "writable", "write"]

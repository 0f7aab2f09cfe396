# SPDX-License-Identifier: Apache-2.0
"""Elements as text that is well-formed both as HTML and as XML.

Names come from files that anybody may have written, so a plain string is always escaped; only
text that was made here is taken as it is.
"""
import re

# Characters that XML forbids, that a browser would not show, and that would turn the order of the
# letters after them.
UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
# The elements that HTML never closes. All others are closed by name: for a browser
# that reads HTML, <td/> would still be open.
VOID = {"meta", "br", "col"}
OWN_LINE = {"html", "head", "meta", "title", "style", "body", "header", "main", "nav", "section",
            "h1", "h2", "h3", "p", "dl", "dt", "dd", "div", "table", "caption", "colgroup",
            "thead", "tbody", "tr", "figure", "figcaption", "svg", "desc", "g", "path",
            "polyline", "line", "rect", "circle", "text", "ul", "li", "footer"}


class Markup(str):
    """Text that is markup already."""


def clean(text):
    """One line of characters that can be shown."""
    return UNFIT.sub("\ufffd", text)


def escape(text):
    if isinstance(text, Markup):
        return text
    text = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(text.replace('"', "&quot;").replace("'", "&#39;"))


def join(parts):
    return Markup("".join(escape(part) for part in parts))


def element(name, attributes=None, *children):
    """An attribute that is None is left out."""
    words = "".join(f' {key}="{escape(str(value))}"'
                    for key, value in (attributes or {}).items() if value is not None)
    end = "\n" if name in OWN_LINE else ""
    if name in VOID:
        return Markup(f"<{name}{words}/>{end}")
    return Markup(f"<{name}{words}>{join(children)}</{name}>{end}")

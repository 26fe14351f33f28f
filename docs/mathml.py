"""A formula renderer for Sphinx that writes MathML, which browsers show by themselves: no script, no network.

The translation from LaTeX is docutils' own.
"""

from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer under the name mathml."""
    app.add_html_math_renderer("mathml", inline_renderers=(_visit_inline, None), block_renderers=(_visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _visit_inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(_translate(node, as_block=False))
    raise nodes.SkipNode


def _visit_block(translator: Any, node: nodes.math_block) -> None:
    translator.body.append(f'<div class="formula">{_translate(node, as_block=True)}</div>\n')
    raise nodes.SkipNode


def _translate(node: nodes.Element, *, as_block: bool) -> str:
    text = node.astext()
    try:
        return str(tex2mathml(text, as_block=as_block))
    except MathError as error:
        logger.warning("formula %r: %s", text, error, location=node)
        return f"<code>{nodes.unescape(text)}</code>"

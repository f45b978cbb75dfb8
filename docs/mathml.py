"""Formulas as MathML, which browsers draw themselves: no script, and nothing from the network."""

from docutils.nodes import SkipNode
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(translator, node):
    translator.body.append(tex2mathml(node.astext(), as_block=False))
    raise SkipNode


def visit_block(translator, node):
    formula = tex2mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="math">{formula}</div>')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}

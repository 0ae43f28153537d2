"""The configuration of the site: the repository's Markdown and docstrings, without a network.

The source is the whole repository, so that links work both on disk and on the site. A broken link
stops the build. Formulas become SVG outlines, which look the same in every browser.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import ziamath
from docutils import nodes

import efface

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PIXELS = 16.0
ziamath.config.svg2 = False  # no symbols shared by id: a page has many formulas

project = "efface"
author = "The efface authors"
copyright = author
version = release = efface.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["docs/**.md", "paper/*.md", "README.md", "CHANGELOG.md", "CONTRIBUTING.md"]
root_doc = "docs/index"
nitpicky = True
nitpick_ignore_regex = [  # names of other projects, and short names of types in annotations
    (r"py:.*", r"(array_like|collections|datetime|numpy|np|os|pandas|pd|river|sklearn|uuid)\b.*"),
    (r"py:.*", r"(Any|AnyId|ArrayLike|Hashable|Iterable|Literal|Mapping|NDArray|Self)\b.*"),
    (r"py:.*", r"(Array|Id|Ints|Matrix|MethodName|Output|Time|Vector|Window)\b.*"),
    (r"py:.*", r"polars\..*"),
    (r"py:.*", r"efface\.(live|models)\.\w+\.\w+"),  # what methods return, described with them
]

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_dmath_double_inline = True

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_default_options = {
    "members": True,
    "exclude-members": "set_fit_request, set_partial_fit_request, set_score_request",
}
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 88

html_theme = "furo"
pygments_dark_style = "github-dark"
html_title = f"efface {release}"
html_static_path = ["_static"]
html_css_files = ["efface.css"]
html_extra_path = ["_root"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_math_renderer = "outlines"


def _draw_formula(translator: Any, node: nodes.math | nodes.math_block) -> None:
    """Draw a formula as outlines, in the colour and size of the text around it."""
    inline = isinstance(node, nodes.math)
    formula = ziamath.Latex(
        node.astext(), size=_PIXELS, inline=inline, color="currentColor", title=node.astext()
    )
    drawing = formula.svgxml()
    for side in ("width", "height"):
        drawing.set(side, f"{float(drawing.get(side)) / _PIXELS:.3f}em")
    drawing.set("role", "img")
    if inline:
        drawing.set("style", f"vertical-align: {formula.getyofst() / _PIXELS:.3f}em")
    markup = ElementTree.tostring(drawing, encoding="unicode")
    translator.body.append(markup if inline else f'<div class="formula">{markup}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("outlines", (_draw_formula, None), (_draw_formula, None))

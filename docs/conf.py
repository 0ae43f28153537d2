"""How the site is built: the repository's own Markdown, the docstrings, and no network.

The source is the whole repository, so that a link that works on disk works on the site, and one
that is broken stops the build. Formulas become MathML, which browsers draw by themselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latex2mathml.converter import convert

import efface

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

project = "efface"
author = "The efface authors"
copyright = author
version = release = efface.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
include_patterns = ["docs/**.md", "examples/**.md", "paper/**.md", "*.md"]
exclude_patterns = [".*/**"]
root_doc = "docs/index"
nitpicky = True
nitpick_ignore_regex = [  # of other projects, or the short names under which annotations know them
    (r"py:.*", r"(array_like|collections|datetime|numpy|np|os|pandas|pd|river|sklearn)\b.*"),
    (r"py:.*", r"(Any|ArrayLike|Hashable|Iterable|Literal|Mapping|NDArray|Self)\b.*"),
    (r"py:.*", r"(Array|Id|Ints|Matrix|MethodName|Output|Time|Vector|Window)\b.*"),
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
html_title = f"efface {release}"
html_static_path = ["_static"]
html_css_files = ["efface.css"]
html_extra_path = ["_root"]
html_copy_source = False
html_show_sourcelink = False
html_show_sphinx = False
html_math_renderer = "mathml"


def _drawn(display: str) -> tuple[Any, None]:
    def visit(translator: Any, node: nodes.math | nodes.math_block) -> None:
        from docutils.nodes import SkipNode

        translator.body.append(convert(node.astext(), display=display))
        raise SkipNode

    return visit, None


def setup(app: Sphinx) -> None:
    app.add_html_math_renderer("mathml", _drawn("inline"), _drawn("block"))

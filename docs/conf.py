"""Sphinx: `make docs` builds the site into docs/_build/html, without the network."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["MPLBACKEND"] = "Agg"
os.environ.pop("FORCE_COLOR", None)

import drawings  # noqa: E402
import retgk  # noqa: E402
from command_pages import write_commands  # noqa: E402
from reference_groups import write_reference  # noqa: E402
from retgk.io.formats import formats_table  # noqa: E402

project = "retgk"
author = "The retgk developers"
copyright = "2026, The retgk developers"  # noqa: A001
version = release = retgk.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "mathml",
]
root_doc = "index"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_templates", "_drawings/*.txt", "**/GALLERY_HEADER.rst"]
nitpicky = True
# Names of other packages: their inventories would have to come from the network.
nitpick_ignore_regex = [(r"py:.*", r"(numpy|scipy|sklearn|matplotlib|networkx|torch)\..*")]
suppress_warnings = ["config.cache"]

html_theme = "pydata_sphinx_theme"
html_title = "retgk"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"
html_show_sourcelink = False
html_copy_source = False
html_sidebars = {"get_started": []}
html_theme_options = {
    "logo": {"text": "retgk"},
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "tango",
}

myst_enable_extensions = ["colon_fence", "dollarmath", "deflist", "substitution"]
myst_substitutions = {"formats": formats_table()}
myst_heading_anchors = 3

autodoc_typehints = "none"  # docstrings have them
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_ignore_module_all = False
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": [str(HERE.parent / "examples" / "recipes")],
    "gallery_dirs": ["recipes"],
    "filename_pattern": r"recipes",
    "ignore_pattern": r"__init__|small_molecules",
    "within_subsection_order": "FileNameSortKey",
    "plot_gallery": "True",
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "download_all_examples": False,
    "show_signature": False,
    "remove_config_comments": True,
    "capture_repr": (),  # what is printed, and pictures
    "write_computation_times": False,  # their page loads scripts from the network
    "matplotlib_animations": False,
    "image_scrapers": ("matplotlib",),
    "reset_modules": ("matplotlib",),
    "default_thumb_file": str(HERE / "gallery" / "graph.png"),
}

n_names = write_reference(HERE / "reference")
write_commands(HERE / "command_line.md")
drawings.draw_all(HERE / "_drawings")
print(f"reference: {n_names} public names, each with a page and an example")

"""What pages load: one file of plotly, its style as a file, and nothing inline in any template."""

from __future__ import annotations

import re
from pathlib import Path

import plotly
import pytest
from django.contrib.staticfiles import finders
from django.template.loader import get_template

from dialfork_site.static_finders import PlotlyFinder

ROOT = Path(__file__).resolve().parents[1]
BUNDLE = Path(plotly.__file__).parent / "package_data" / "plotly.min.js"
TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


def test_the_bundle_of_the_installed_package_is_found_and_nothing_beside_it():
    assert finders.find("vendor/plotly/plotly.min.js") == str(BUNDLE)
    assert [path for path, _ in PlotlyFinder().list(None)] == ["plotly.min.js"]
    assert finders.find("vendor/plotly/widgetbundle.js") is None
    assert finders.find("vendor/plotly/../../settings.py") is None


def test_the_style_kept_as_a_file_is_of_the_installed_version():
    version = re.search(r"plotly\.js v([\d.]+)", BUNDLE.read_text()[:400]).group(1)
    style = (ROOT / "static/vendor/plotly/plotly-global.css").read_text()
    assert f"plotly.js {version} (MIT licence" in style
    assert style.count("{") > 50


def test_the_mark_that_stops_the_map_style_is_known_to_the_bundle():
    page = (ROOT / "templates/benchmark/dialogue.html").read_text()
    mark = re.search(r'<meta id="([0-9a-f]{64})">', page).group(1)
    assert mark in BUNDLE.read_text()


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_a_template_compiles_and_holds_no_inline_script_or_style(path):
    get_template(path.relative_to(ROOT / "templates").as_posix())
    text = path.read_text()
    assert not re.search(r"<style|\sstyle\s*=|\son\w+\s*=\s*[\"']|javascript:", text)
    assert not [tag for tag in re.findall(r"<script\b[^>]*>", text) if " src=" not in tag]


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_what_is_marked_safe_is_named_here(path):
    """`|safe` only where Django itself made the markup (help texts of the password form)."""
    marked = re.findall(r"\{\{[^}]*\|safe\b[^}]*\}\}|\{%\s*autoescape off", path.read_text())
    assert marked in ([], ["{{ field.help_text|safe }}"])

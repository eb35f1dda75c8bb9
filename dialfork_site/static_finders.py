"""Static files that live inside installed packages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import plotly
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

BUNDLE = "plotly.min.js"


class PlotlyFinder(BaseFinder):
    """`vendor/plotly/plotly.min.js` from the Python package plotly, and nothing else of it.

    The folder beside the bundle holds 5 MB that no page uses, so the one file is named.
    """

    prefix = "vendor/plotly"

    def __init__(self, app_names: Any = None, *args: Any, **kwargs: Any) -> None:
        self.folder = Path(plotly.__file__).parent / "package_data"
        self.storage = FileSystemStorage(location=self.folder)
        self.storage.prefix = self.prefix  # type: ignore[attr-defined]

    def find(self, path: str, find_all: bool = False, **kwargs: Any) -> Any:
        if path != f"{self.prefix}/{BUNDLE}":
            return []
        place = str(self.folder / BUNDLE)
        return [place] if find_all else place

    def list(self, ignore_patterns: Any) -> Iterator[tuple[str, FileSystemStorage]]:
        yield BUNDLE, self.storage

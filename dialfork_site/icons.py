"""Line icons and condition glyphs as SVG source: drawn by the template tags of `look`."""

from __future__ import annotations

LINE = {
    "fork": '<path d="M5 2v5a4 4 0 0 0 4 4h2M5 2v12"/><circle cx="5" cy="2.6" r="1.4"/>'
    '<circle cx="12.4" cy="11" r="1.4"/>',
    "theme": '<circle cx="8" cy="8" r="5.5"/>'
    '<path d="M8 2.5v11a5.5 5.5 0 0 0 0-11z" fill="currentColor"/>',
    "ok": '<circle cx="8" cy="8" r="6"/><path d="m5.2 8.2 2 2 3.6-4.2"/>',
    "info": '<circle cx="8" cy="8" r="6"/><path d="M8 7.4v4M8 4.9v.2"/>',
    "warn": '<path d="M8 2.2 14.6 13.6H1.4z"/><path d="M8 6.4v3.2M8 11.6v.2"/>',
    "error": '<circle cx="8" cy="8" r="6"/><path d="M8 4.6v4.2M8 11.2v.2"/>',
    "wait": '<circle cx="8" cy="8" r="5" stroke-dasharray="2 2"/>',
    "run": '<path d="M13.5 8A5.5 5.5 0 1 1 8 2.5"/>',
    "search": '<circle cx="7" cy="7" r="4.5"/><path d="M10.5 10.5 14 14"/>',
    "down": '<path d="m4 6 4 4 4-4"/>',
}

GLYPHS = {
    "conformant": '<circle cx="6" cy="6" r="4" fill="none" stroke="currentColor" '
    'stroke-width="2"/>',
    "wic": '<rect x="1.5" y="1.5" width="9" height="9"/>',
    "sspc": '<path d="M6 1 11.4 10.8H.6z"/>',
    "gr": '<path d="M6 .3 11.7 6 6 11.7 .3 6z"/>',
    "csc": '<circle cx="6" cy="6" r="4.8"/>',
}


def line_icon(name: str) -> str:
    """SVG source of a 16 px line icon; KeyError for an unknown name."""
    return (
        '<svg viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" '
        'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">'
        f"{LINE[name]}</svg>"
    )


def glyph(name: str) -> str:
    """SVG source of the 12 px shape of a condition, in its colour."""
    return (
        f'<svg viewBox="0 0 12 12" fill="currentColor" class="t-{name}" '
        f'aria-hidden="true">{GLYPHS[name]}</svg>'
    )

"""Words that the pages of label statistics share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy

from annotation.people_labels import ANY, EACH, MAJORITY
from annotation.run_summary import LABELS, REVIEWS

RULE_WORDS: Mapping[str, Any] = {
    EACH: gettext_lazy("each review for itself"),
    MAJORITY: gettext_lazy("what more than half say"),
    ANY: gettext_lazy("what anyone says"),
}
VIEW_WORDS: Mapping[str, Any] = {
    REVIEWS: gettext_lazy("Agreement and comparison"),
    LABELS: gettext_lazy("What they say of the runs"),
}

"""What a statistic answers: a number, or no number and the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic as reported.

    Where `value` is None `reason` says why; beside a value it says why the interval or a detail is
    missing. `n` counts the observations used, `ci` is (low, high) or None, `detail` holds further
    figures by name (numbers, None, text, lists or dictionaries of these).
    """

    value: float | None
    reason: str = ""
    n: int = 0
    ci: tuple[float, float] | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.value is None:
            if not self.reason:
                raise ValueError("an undefined value needs a reason")
        elif not math.isfinite(self.value):
            raise ValueError(f"{self.value} is no value; give None and a reason")

    def as_row(self, *, skipped: str = "skipped") -> dict[str, Any]:
        """The fields of a result row of a run; a reason stands only where there is no value.

        `skipped` names the detail that counts what was left out.
        """
        low, high = self.ci or (None, None)
        return {
            "value": self.value,
            "reason": self.reason if self.value is None else "",
            "n": self.n,
            "skipped": self.detail.get(skipped, 0),
            "ci_low": low,
            "ci_high": high,
            "detail": {name: value for name, value in self.detail.items() if name != skipped},
        }

    def as_dict(self) -> dict[str, Any]:
        """The estimate as JSON: details beside `value`, `n`, `ci`; `reason` where there is one."""
        row: dict[str, Any] = {
            "value": self.value,
            "n": self.n,
            "ci": list(self.ci) if self.ci else None,
            **self.detail,
        }
        if self.reason:
            row["reason"] = self.reason
        return row


def undefined(reason: str, *, n: int = 0, **detail: Any) -> Estimate:
    """No value, for `reason` (a short name such as "no_pairs")."""
    return Estimate(None, reason, n=n, detail=detail)

"""Studies and answers, to look at. Answers are written by `judging` and never changed."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.http import HttpRequest

from annotation.models import (
    Assignment,
    InstructionConfirmation,
    Item,
    OnsetMark,
    PrefixJudgement,
    Seat,
    Skip,
    SliderRating,
    Study,
)
from annotation.titles import revealing_word
from dialfork_site.read_only_admin import ReadOnly


class StudyForm(forms.ModelForm):
    class Meta:
        model = Study
        fields = ("title", "state")

    def clean_title(self) -> str:
        """Annotators read the title, so it says nothing about the design."""
        title = self.cleaned_data["title"]
        if word := revealing_word(title):
            raise ValidationError(f"Annotators read the title, and {word!r} tells of the design.")
        return title


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin):
    """A study is drawn by `create_study`; here it is opened, closed and retitled."""

    form = StudyForm
    list_display = ("slug", "title", "state", "protocol_version", "created_at")
    list_filter = ("state",)
    fields = ("slug", "title", "state", "seed", "protocol_version", "design", "created_at")
    readonly_fields = ("slug", "seed", "protocol_version", "design", "created_at")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Seat)
class SeatAdmin(ReadOnly):
    list_display = ("pseudonym", "study", "number", "simulated", "taken_at")
    list_filter = ("study", "simulated")
    list_select_related = ("study",)


@admin.register(Item)
class ItemAdmin(ReadOnly):
    list_display = ("id", "study", "dialogue", "instruction_type", "is_foil")
    list_filter = ("study", "instruction_type", "is_foil")
    list_select_related = ("study", "dialogue")


@admin.register(Assignment)
class AssignmentAdmin(ReadOnly):
    list_display = ("seat", "rank", "item_id", "opened_at", "finished_at")
    list_filter = ("seat__study",)
    list_select_related = ("seat",)


@admin.register(SliderRating)
class SliderRatingAdmin(ReadOnly):
    list_display = ("assignment_id", "value", "recorded_at")


@admin.register(InstructionConfirmation)
class InstructionConfirmationAdmin(ReadOnly):
    list_display = ("slider_id", "answer", "recorded_at")


@admin.register(OnsetMark)
class OnsetMarkAdmin(ReadOnly):
    list_display = ("confirmation_id", "turn", "recorded_at")
    list_select_related = ("turn",)


@admin.register(PrefixJudgement)
class PrefixJudgementAdmin(ReadOnly):
    list_display = ("onset_id", "answer", "recorded_at")


@admin.register(Skip)
class SkipAdmin(ReadOnly):
    list_display = ("assignment_id", "reason", "note", "recorded_at")
    list_filter = ("reason",)

"""Studies, people and answers, to look at: answers are written by `judging` and never changed.
Webhooks are made and tried here."""

from __future__ import annotations

from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest

from annotation import auditing, webhook_sending
from annotation.announcing import EVENTS
from annotation.models import (
    Adjudication,
    Assignment,
    AuditEntry,
    Commitment,
    CrowdIdentity,
    Delivery,
    Draft,
    Export,
    InstructionConfirmation,
    Invitation,
    Item,
    JudgeComparison,
    Message,
    OnsetMark,
    PrefixJudgement,
    ProblemReport,
    QuestionnaireAnswer,
    Review,
    RevisedReview,
    Seat,
    Skip,
    SliderRating,
    StepTime,
    Study,
    Webhook,
    Withdrawal,
)
from annotation.titles import revealing_word
from annotation.webhook_requests import AddressRefused, target_of
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

    def clean_state(self) -> str:
        """A draft is launched on its plan page, which freezes what it asks; no way leads back."""
        state, before = self.cleaned_data["state"], self.instance.state
        if state != before and Study.State.DRAFT in (state, before):
            raise ValidationError("A draft is launched on its plan page, and stays launched.")
        return state


@admin.register(Study)
class StudyAdmin(admin.ModelAdmin):
    """A study is drawn by `create_study`; here it is opened, closed and retitled."""

    form = StudyForm
    list_display = ("slug", "title", "state", "protocol_version", "created_at")
    list_filter = ("state",)
    fields = ("slug", "title", "state", "seed", "protocol_version", "design", "created_at")
    readonly_fields = ("slug", "seed", "protocol_version", "design", "created_at")

    def save_model(self, request: HttpRequest, obj: Study, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        auditing.record("study.edited", actor=request.user, study=obj, fields=form.changed_data)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Seat)
class SeatAdmin(ReadOnly):
    list_display = ("pseudonym", "study", "number", "state", "phase", "simulated", "taken_at")
    list_filter = ("study", "state", "simulated")
    list_select_related = ("study",)
    # A name beside a pseudonym would join what is kept apart.
    exclude = ("user", "resume_hash")


@admin.register(Item)
class ItemAdmin(ReadOnly):
    list_display = ("id", "study", "kind", "dialogue", "trajectory", "instruction_type", "is_foil")
    list_filter = ("study", "kind", "instruction_type", "is_foil")
    list_select_related = ("study", "dialogue", "trajectory")


@admin.register(Assignment)
class AssignmentAdmin(ReadOnly):
    list_display = ("seat", "rank", "item_id", "attempt", "opened_at", "finished_at", "ended")
    list_filter = ("seat__study", "ended", "post_reveal")
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


@admin.register(Review)
class ReviewAdmin(ReadOnly):
    list_display = ("assignment_id", "labels_id", "recorded_at")


@admin.register(JudgeComparison)
class JudgeComparisonAdmin(ReadOnly):
    list_display = ("review_id", "agreement", "changed", "note", "recorded_at")
    list_filter = ("agreement", "changed")


@admin.register(RevisedReview)
class RevisedReviewAdmin(ReadOnly):
    list_display = ("comparison_id", "labels_id", "recorded_at")


@admin.register(Skip)
class SkipAdmin(ReadOnly):
    list_display = ("assignment_id", "reason", "note", "recorded_at")
    list_filter = ("reason",)


@admin.register(Invitation)
class InvitationAdmin(ReadOnly):
    list_display = ("study", "label", "max_people", "expires_at", "revoked_at")
    list_filter = ("study",)
    list_select_related = ("study",)
    exclude = ("token_hash",)


@admin.register(CrowdIdentity)
class CrowdIdentityAdmin(ReadOnly):
    """That there is an identity, never which: the page of the people shows one on request, and
    that is written down."""

    list_display = ("study", "platform", "recorded_at")
    list_filter = ("study", "platform")
    list_select_related = ("study",)
    list_display_links = None
    fields = ("study", "platform", "recorded_at")


@admin.register(Message)
class MessageAdmin(ReadOnly):
    list_display = ("seat", "text", "sent_at", "read_at")
    list_filter = ("seat__study",)
    list_select_related = ("seat",)


@admin.register(QuestionnaireAnswer)
class QuestionnaireAnswerAdmin(ReadOnly):
    list_display = ("seat", "question", "answer", "recorded_at")
    list_filter = ("seat__study", "question")
    list_select_related = ("seat",)


@admin.register(Withdrawal)
class WithdrawalAdmin(ReadOnly):
    list_display = ("seat", "mode", "withdrawn_at")
    list_filter = ("seat__study", "mode")
    list_select_related = ("seat",)
    exclude = ("receipt",)


@admin.register(Commitment)
class CommitmentAdmin(ReadOnly):
    list_display = ("seat", "ordinal", "head", "recorded_at")
    list_filter = ("seat__study",)
    list_select_related = ("seat",)


@admin.register(AuditEntry)
class AuditEntryAdmin(ReadOnly):
    list_display = ("at", "action", "actor", "study", "seat", "detail")
    list_filter = ("action", "study")
    list_select_related = ("actor", "study", "seat")
    date_hierarchy = "at"


@admin.register(Adjudication)
class AdjudicationAdmin(ReadOnly):
    list_display = ("item_id", "adjudicator", "rating", "appears", "prefix", "recorded_at")
    list_filter = ("item__study",)
    list_select_related = ("adjudicator",)


@admin.register(Export)
class ExportAdmin(ReadOnly):
    list_display = ("study", "format", "state", "n_rows", "created_by", "created_at")
    list_filter = ("study", "state", "format")
    list_select_related = ("study", "created_by")


@admin.register(ProblemReport)
class ProblemReportAdmin(ReadOnly):
    list_display = ("assignment_id", "turn", "step", "text", "recorded_at", "resolved_at")
    list_filter = ("assignment__seat__study",)
    list_select_related = ("turn", "step")


@admin.register(Draft)
class DraftAdmin(ReadOnly):
    list_display = ("assignment_id", "step", "revision", "saved_at")
    list_filter = ("step",)


@admin.register(StepTime)
class StepTimeAdmin(ReadOnly):
    list_display = ("assignment_id", "step", "opened_at", "submitted_at", "active_ms")
    list_filter = ("step",)


class WebhookForm(forms.ModelForm):
    events = forms.MultipleChoiceField(
        choices=[(event, event) for event in EVENTS], widget=forms.CheckboxSelectMultiple
    )

    class Meta:
        model = Webhook
        fields = ("url", "events", "active")
        field_classes = {"url": partial(forms.URLField, assume_scheme="https")}

    def clean_url(self) -> str:
        """Names are resolved when something is sent; what can be said now is said now."""
        url = self.cleaned_data["url"]
        try:
            target_of(url, settings.WEBHOOK_PRIVATE_HOSTS)
        except AddressRefused as error:
            raise ValidationError(str(error)) from error
        return url


@admin.register(Webhook)
class WebhookAdmin(admin.ModelAdmin):
    form = WebhookForm
    list_display = ("url", "events", "active", "created_at")
    list_filter = ("active",)
    fields = ("url", "events", "active", "signing_key", "created_at")
    readonly_fields = ("signing_key", "created_at")
    actions = ("send_a_test",)

    @admin.display(description="Signing key")
    def signing_key(self, webhook: Webhook) -> str:
        return webhook_sending.shown_key(webhook) if webhook.pk else "Shown once it is saved."

    @admin.action(description="Send a test")
    def send_a_test(self, request: HttpRequest, queryset: QuerySet[Webhook]) -> None:
        """At once, so that the answer can be said; a failed test is not tried again."""
        for webhook in queryset:
            delivery = webhook_sending.queue_test(webhook)
            arrived = webhook_sending.send(delivery)
            Delivery.objects.filter(pk=delivery.pk).update(next_at=None)
            delivery.refresh_from_db()
            outcome = "The test arrived" if arrived else "The test did not arrive"
            reason = f" {delivery.last_error}" if delivery.last_error else ""
            level = messages.SUCCESS if arrived else messages.ERROR
            self.message_user(request, f"{webhook.url}: {outcome}.{reason}", level)

    def save_model(
        self, request: HttpRequest, obj: Webhook, form: forms.ModelForm, change: bool
    ) -> None:
        super().save_model(request, obj, form, change)
        action = "webhook.changed" if change else "webhook.made"
        # The host alone: the rest of an address can be a secret.
        host = urlsplit(obj.url).hostname
        auditing.record(action, actor=request.user, host=host, active=obj.active)

    # It is switched off instead, so that the log of its deliveries stays.
    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(Delivery)
class DeliveryAdmin(ReadOnly):
    list_display = (
        "event",
        "webhook",
        "created_at",
        "attempts",
        "delivered_at",
        "next_at",
        "last_status",
        "last_error",
    )
    list_filter = ("event", "webhook")
    list_select_related = ("webhook",)

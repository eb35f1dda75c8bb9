from django.apps import AppConfig


class SiteConfig(AppConfig):
    name = "dialfork_site"
    verbose_name = "Site"

    def ready(self) -> None:
        from dialfork_site import checks  # noqa: F401  (registers the start-up checks)

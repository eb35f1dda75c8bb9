# One image for web and worker, on amd64 and arm64. wordllama has no wheel for Linux on arm64: the
# lock leaves it out there, and the built-in lexical encoder stands in.
FROM python:3.13-slim-bookworm

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 VAR_DIR=/var/lib/dialfork
WORKDIR /app

COPY requirements.lock .
RUN pip install --no-cache-dir --require-hashes --only-binary=:all: -r requirements.lock

# To score with sentence-transformers encoders: docker compose build --build-arg EXTRAS=encoders
ARG EXTRAS=""
COPY requirements-encoders.lock deploy/install-extras.sh ./
RUN sh install-extras.sh $EXTRAS

COPY manage.py pyproject.toml LICENSE NOTICE README.md ./
COPY dialfork_site dialfork_site
COPY benchmark benchmark
COPY scoring scoring
COPY annotation annotation
COPY templates templates
COPY static static
COPY locale locale
COPY deploy deploy

RUN useradd --system --uid 10001 --home-dir /var/lib/dialfork --create-home dialfork \
    && mkdir -p /app/var/static && chown -R dialfork /app/var /var/lib/dialfork
USER dialfork
# The key is for this step only; the running site takes its own from the volume or from .env.
RUN SECRET_KEY=build VAR_DIR=/app/var python manage.py collectstatic --noinput --verbosity 0
ENV STATIC_DIR=/app/var/static

EXPOSE 8000
ENTRYPOINT ["sh", "/app/deploy/entrypoint.sh"]
CMD ["web"]

# The image of the Action: perftrail, git, and a Python for jobs that run in it.
#
# BINARY=prebuilt takes dist/perftrail, or dist/amd64/perftrail and dist/arm64/perftrail, instead of
# compiling: it must run on this Debian.
ARG BINARY=compiled

FROM rust:1-slim-bookworm AS compiled
WORKDIR /src
RUN apt-get update \
 && apt-get install -y --no-install-recommends cmake g++ make perl \
 && rm -rf /var/lib/apt/lists/*
COPY . .
RUN cargo build --profile dist --locked \
 && cp target/dist/perftrail /perftrail

FROM debian:bookworm-slim AS prebuilt
ARG TARGETARCH
# With a file that is always there, a missing program is told by the last stage and not here.
COPY Cargo.toml dis[t] /dist/
RUN for found in /dist/perftrail "/dist/${TARGETARCH:-amd64}/perftrail"; do \
      [ ! -f "$found" ] || cp "$found" /perftrail; \
    done

# hadolint ignore=DL3006
FROM ${BINARY} AS binary

FROM debian:bookworm-slim
# The user 1001 is that of GitHub's own runners, whose files a job works on.
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates git openssh-client python3 python3-venv \
 && rm -rf /var/lib/apt/lists/* \
 && python3 -m venv /opt/venv \
 && find /opt/venv -name __pycache__ -prune -exec rm -r {} + \
 && chown -R 1001:1001 /opt/venv
ENV VIRTUAL_ENV=/opt/venv PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
COPY --from=binary /perftrail /usr/local/bin/perftrail
# Under its other name the program is the end of a step.
RUN ln -s perftrail /usr/local/bin/perftrail-post && perftrail --version
ENTRYPOINT ["/usr/local/bin/perftrail"]
CMD ["action"]

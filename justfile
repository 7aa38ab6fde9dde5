# `just` lists the recipes. Each calls a stage of `.ci/run`, so that here and in CI the same happens.

_default:
    @just --list

# All that CI runs
ci:
    .ci/run

# The tests
test *ARGS:
    cargo test {{ ARGS }}

# Format, clippy, dependencies, words that do not belong in the project
lint:
    .ci/run lint

# The slow checks: the README's first command in a fresh clone, the pages in a browser, each profiler, the bench,
# publishers that are killed 200 times and fifty at once
deep:
    .ci/run walk browser profilers bench deep

# What measuring and publishing cost, as ratios; `just bench --short` takes a few minutes
bench *ARGS:
    cargo build --release --locked
    python3 bench/overhead.py {{ ARGS }}
    python3 bench/publishing.py {{ ARGS }}
    python3 bench/profiles.py {{ ARGS }}

# How well histories are judged, with thresholds; takes files of labelled series
history *ARGS:
    cargo run --release --locked --example history-score -- {{ ARGS }}

# What is said of 300 nights whose truth is known, published one by one; takes minutes
nights *ARGS:
    cargo build --locked
    python3 bench/history/nights.py {{ ARGS }}

# Format the sources
fmt:
    cargo fmt

# Make the generated files again: schemas, and the table of keys
generated:
    UPDATE_GENERATED=1 cargo test --locked --test it -- configuration record_format

# Fuzz the readers of profiles, 600 s each or as said; takes an hour
fuzz *ARGS:
    tests/fuzz/run {{ ARGS }}

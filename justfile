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

# The slow checks: the README's first command in a fresh clone, the pages in a browser, the bench
deep:
    .ci/run walk browser bench

# What measuring costs, as ratios; `just bench --short` takes a minute
bench *ARGS:
    cargo build --release --locked
    python3 bench/overhead.py {{ ARGS }}

# How well histories are judged, with thresholds; takes files of labelled series
history *ARGS:
    cargo run --release --locked --example history-score -- {{ ARGS }}

# Format the sources
fmt:
    cargo fmt

# Make the generated files again
generated:
    .ci/run generated

//! Feature tests: one binary, one module a feature.
#![expect(
    clippy::expect_used,
    clippy::panic,
    reason = "a test that cannot go on says why and ends"
)]

mod action;
mod action_app;
mod action_publish;
mod amend;
mod ancestry;
mod bad_end;
mod bad_input;
mod bad_job;
mod bad_results;
mod bring;
mod compare;
mod configuration;
mod conversation;
mod dependencies;
mod desk;
mod docs;
mod example;
#[path = "support/github/mod.rs"]
mod fake_github;
mod fsck;
mod fuzz;
mod gate;
mod gate_matrix;
mod gate_payloads;
mod git_server;
mod github;
mod github_pulls;
mod hints;
mod history;
mod history_bad;
mod history_repository;
mod hostile_log;
mod import;
mod init;
mod job_pages;
mod layering;
mod measure;
mod profile;
mod profile_conservation;
mod profile_hostile;
mod profile_run;
mod profiler;
mod publish;
mod publish_github;
mod publish_hostile;
mod publish_killed;
mod publish_matrix;
mod publish_plan;
mod publish_refused;
mod publish_remote;
mod publish_runs;
mod publish_ssh;
mod publish_untrusted;
mod quoting;
mod record_format;
mod report;
mod report_landing;
mod report_profiles;
mod report_samples;
mod secrets;
mod setup;
mod setup_release;
mod support;

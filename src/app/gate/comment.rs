//! Commands in comments under pull requests.

use super::answer::{Answer, answer};
use super::pull_request::{of_pull, origin};
use super::{Decision, Gate, GateError, Outcome, configuration};
use crate::config::Config;
use crate::config::job::Job;
use crate::github::{InRepository, PullRequest};
use crate::model::metric::BUILT_IN;
use crate::model::text::{nearest, shown};
use crate::plan::{self, Acceptance, Against, Asking, JUDGED_BY_DEFAULT, Plan};
use crate::trigger::approve::{self, Approval, Author, Origin, Permission, Refusal, approve};
use crate::trigger::comment::{Command, CommandProblem, Request, command};
use crate::trigger::payload::Comment;

/// What is known when a command is to be carried out.
struct Heard<'a> {
    gate: &'a Gate<'a>,
    here: InRepository<'a>,
    comment: &'a Comment,
    login: &'a str,
}

/// Decides on a comment. One that holds no command is passed over before anything is asked.
pub(super) fn decide(gate: &Gate<'_>, comment: &Comment) -> Result<Decision, GateError> {
    let word = gate.asked.word;
    if comment.action != "created" {
        return Ok(Decision::nothing("only a new comment can hold a command"));
    }
    if !comment.is_pull_request {
        return Ok(Decision::nothing("the comment stands under an issue, not a pull request"));
    }
    let asked = match command(&comment.body, word) {
        Ok(None) => return Ok(Decision::nothing(format!("the comment holds no {}", shown(word)))),
        Ok(Some(command)) => Ok(command),
        Err(problem) => Err(problem),
    };
    if !comment.is_human {
        return Ok(Decision::nothing("the comment is a program's"));
    }
    let Some(login) = comment.author.as_deref() else {
        return Ok(Decision::nothing("nobody knows who wrote the comment"));
    };
    let heard = Heard { gate, here: gate.here()?, comment, login };
    // Whatever keeps GitHub from saying yes is a no.
    let permission = heard.here.permission(login).unwrap_or(Permission::Unknown);
    heard.decide(asked, permission)
}

impl Heard<'_> {
    fn decide(
        &self,
        asked: Result<Command, CommandProblem>,
        permission: Permission,
    ) -> Result<Decision, GateError> {
        if !permission.may_run() {
            let refusal = match permission {
                Permission::Unknown => Refusal::PermissionUnknown,
                _ => Refusal::NoPermission,
            };
            return Ok(self.refuse(&refusal));
        }
        let pull = self.here.pull_request(self.comment.number)?;
        let configured = configuration(&self.here, self.gate.asked.config, &pull.base)?;
        let config = configured.config;
        let jobs: Vec<&Job> = for_comments(&config).collect();
        let command = match asked {
            Ok(command) => command,
            Err(problem) => return Ok(self.unknown(&problem.to_string(), &jobs)),
        };
        let approval = approve(
            command,
            Author::Human(permission),
            self.comment.written,
            &approve::PullRequest {
                number: pull.number,
                open: pull.open,
                head: pull.head.clone(),
                origin: origin(&pull, &self.gate.slug()),
                pushed: self.pushed(&pull),
            },
        );
        Ok(match approval {
            Approval::Help => self.help(&jobs),
            Approval::Ignored(reason) => Decision::nothing(reason),
            Approval::Refused(refusal) => self.refuse(&refusal).about(&pull.head),
            Approval::Accept { metric, because } => self.accept(&pull, &config, metric, because),
            Approval::Run { request, .. } => {
                let decision = self.run(&pull, &config, request);
                Decision { warnings: configured.missing.into_iter().collect(), ..decision }
            }
        })
    }

    /// When the head was pushed, by the server's clock. Of a fork whose list of pushes cannot be
    /// seen, the time of its newest push to any branch.
    fn pushed(&self, pull: &PullRequest) -> Option<jiff::Timestamp> {
        let place = pull.head_repository.as_deref()?;
        let (owner, name) = place.split_once('/')?;
        let told = self
            .gate
            .client()
            .ok()?
            .in_repository(owner, name)
            .and_then(|there| there.pushed(&pull.head_ref, &pull.head))
            .unwrap_or(None);
        match origin(pull, &self.gate.slug()) {
            Origin::Branch => told,
            Origin::Fork | Origin::Gone => told.or(pull.head_pushed),
        }
    }

    fn run(&self, pull: &PullRequest, config: &Config, request: Request) -> Decision {
        let jobs: Vec<&Job> = for_comments(config).collect();
        let mut overrides = self.gate.asked.overrides.clone();
        let chosen = if overrides.command.is_some() {
            config.clone()
        } else {
            match choose(config, &request.jobs, overrides.job.take()) {
                Ok(chosen) => chosen,
                Err(problem) => return self.unknown(&problem, &jobs).about(&pull.head),
            }
        };
        let mut against = None;
        if let Some(reference) = request.against {
            let Some(commit) = self.here.commit_of(&reference).unwrap_or(None) else {
                let why = format!("there is no branch, tag or commit `{}`", shown(&reference));
                return self.unknown(&why, &jobs).about(&pull.head);
            };
            against = Some(Against { reference, commit });
        }
        overrides.params = [request.params, overrides.params].concat();
        overrides.repetitions = overrides.repetitions.or(request.repetitions);
        let mut facts = self.gate.facts(pull.head.clone());
        let of = of_pull(pull, &self.gate.slug());
        facts.pull_request =
            Some(plan::PullRequest { comment: Some(self.asking()), against, ..of });
        match plan::make(&chosen, &overrides, &facts) {
            Ok(plan) if plan.runs.is_empty() => {
                let why = "no job of the configuration is for comments";
                self.unknown(why, &jobs).about(&pull.head)
            }
            Ok(plan) => Decision::run(plan, config.clone()),
            Err(problem) => self.unknown(&problem.to_string(), &jobs).about(&pull.head),
        }
    }

    fn accept(
        &self,
        pull: &PullRequest,
        config: &Config,
        metric: String,
        because: String,
    ) -> Decision {
        if because.chars().count() > plan::REASON_MAX || because.contains(char::is_control) {
            let why = format!("a reason has at most {} characters", plan::REASON_MAX);
            return self.unknown(&why, &[]).about(&pull.head);
        }
        // A job may report any name, so that only what looks like a slip is asked back.
        let known = || known_metrics(config);
        if !known().any(|name| name == metric)
            && let Some(meant) = nearest(&metric, known())
        {
            let why = format!("there is no metric `{}`: did you mean `{meant}`?", shown(&metric));
            return self.unknown(&why, &[]).about(&pull.head);
        }
        let mut facts = self.gate.facts(pull.head.clone());
        let of = of_pull(pull, &self.gate.slug());
        facts.pull_request = Some(plan::PullRequest { comment: Some(self.asking()), ..of });
        let accept = Acceptance { metric, because, author: self.login.to_owned() };
        let plan = Plan { version: plan::VERSION, facts, runs: Vec::new(), accept: Some(accept) };
        Decision {
            commit: Some(pull.head.clone()),
            config: Some(config.clone()),
            outcome: Outcome::Accept(Box::new(plan)),
            warnings: Vec::new(),
            withdrawn: None,
        }
    }

    fn asking(&self) -> Asking {
        Asking { id: self.comment.id, author: self.login.to_owned() }
    }

    fn refuse(&self, refusal: &Refusal) -> Decision {
        self.say(refusal.to_string(), &Answer::Refused(refusal))
    }

    fn unknown(&self, why: &str, jobs: &[&Job]) -> Decision {
        self.say(why.to_owned(), &Answer::Unknown { why, jobs })
    }

    fn help(&self, jobs: &[&Job]) -> Decision {
        self.say("it asks for help".to_owned(), &Answer::Help { jobs })
    }

    /// Nothing is done, and the writer is told why. What GitHub does not take is a warning.
    fn say(&self, reason: String, what: &Answer<'_>) -> Decision {
        let words = (self.login, self.gate.asked.word);
        let told = self
            .gate
            .client()
            .and_then(|client| Ok(answer(client, &self.here, self.comment, words, what)?));
        let warnings = told.err().map(|error| error.to_string()).into_iter().collect();
        Decision { warnings, ..Decision::nothing(reason) }
    }
}

/// The jobs that a comment may start.
fn for_comments(config: &Config) -> impl Iterator<Item = &Job> {
    config.jobs.iter().filter(|job| job.is_started_by("issue_comment"))
}

/// The configuration with no other jobs than those that are asked for, in that order: `fixed` by
/// the workflow, else `named` by the comment, else all that are for comments.
fn choose(config: &Config, named: &[String], fixed: Option<String>) -> Result<Config, String> {
    let names: Vec<String> = fixed.map_or_else(|| named.to_vec(), |job| vec![job]);
    let jobs: Vec<Job> = if names.is_empty() {
        for_comments(config).cloned().collect()
    } else {
        let found = names.iter().map(|name| {
            for_comments(config)
                .find(|job| job.name.eq_ignore_ascii_case(name))
                .cloned()
                .ok_or_else(|| {
                    let meant = nearest(name, for_comments(config).map(|job| job.name.as_str()));
                    let meant = meant.map(|job| format!(": did you mean `{job}`?"));
                    let meant = meant.unwrap_or_default();
                    format!("there is no job `{}` for comments{meant}", shown(name))
                })
        });
        found.collect::<Result<_, _>>()?
    };
    if jobs.is_empty() {
        return Err("no job of the configuration is for comments".to_owned());
    }
    Ok(Config { jobs, ..config.clone() })
}

fn known_metrics(config: &Config) -> impl Iterator<Item = &str> {
    let judged = config.metrics.iter().map(|metric| metric.name.as_str());
    judged.chain([JUDGED_BY_DEFAULT]).chain(BUILT_IN.iter().map(|metric| metric.name))
}

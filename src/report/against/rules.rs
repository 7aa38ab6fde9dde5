//! What `[[function]]` rules say of a function that changed.

use globset::{GlobBuilder, GlobMatcher};
use jiff::civil::Date;

use crate::config::patterns;
use crate::config::scalar::Threshold;
use crate::config::{FunctionRule, Ignore};
use crate::model::metric::Unit;
use crate::profile::view::difference::Change;

/// The rules of a configuration, ready to be asked.
#[derive(Debug, Default)]
pub struct FunctionRules {
    rules: Vec<Rule>,
    day: Option<Date>,
}

#[derive(Debug)]
struct Rule {
    /// File and function; `None`: every function.
    matches: Option<(GlobMatcher, GlobMatcher)>,
    min_time: Option<f64>,
    warn: Option<Threshold>,
    ignore: Option<Ignore>,
    show: Vec<GlobMatcher>,
    hide: Vec<GlobMatcher>,
}

/// What the rules say of one function. Of two that fit, the later one counts.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said {
    /// Nothing.
    Nothing,
    /// It is not to be shown.
    Hidden,
    /// It takes too little time to count.
    TooSmall,
    /// People know: the reason and its last day.
    Ignored(String),
    /// It is worse by more than this.
    Worse(String),
}

impl FunctionRules {
    /// The rules. The day decides which reasons still hold; without one all do.
    pub fn new(rules: &[FunctionRule], day: Option<Date>) -> Self {
        let all = |globs: &[String]| globs.iter().filter_map(|text| path_glob(text)).collect();
        let rules = rules.iter().map(|rule| Rule {
            matches: rule.matches.as_deref().and_then(parts),
            min_time: rule.min_time.map(|time| time.as_secs_f64()),
            warn: rule.warn,
            ignore: rule.ignore.clone(),
            show: all(&rule.show),
            hide: all(&rule.hide),
        });
        Self { rules: rules.collect(), day }
    }

    pub(super) fn said(&self, change: &Change, unit: &Unit) -> Said {
        let place = if change.file.is_empty() { &change.module } else { &change.file };
        // What is no code has no rules: idle time, samples without a stack.
        if place.is_empty() && change.function.starts_with('(') {
            return Said::Nothing;
        }
        let mut said = Said::Nothing;
        let mut limit = None;
        for rule in self.rules.iter().filter(|rule| rule.fits(place, &change.function)) {
            if rule.hides(place) {
                return Said::Hidden;
            }
            let most = change.own.before.max(change.own.after);
            if *unit == Unit::Seconds && rule.min_time.is_some_and(|least| most < least) {
                return Said::TooSmall;
            }
            if let Some(reason) = rule.ignore.as_ref().and_then(|ignore| self.reason(ignore)) {
                said = Said::Ignored(reason);
            }
            limit = rule.warn.or(limit);
        }
        match limit.filter(|_| said == Said::Nothing) {
            Some(limit) if is_beyond(&limit, change) => Said::Worse(words(&limit, unit)),
            _ => said,
        }
    }

    /// Whether a function is not to be shown.
    pub(super) fn hides(&self, file: &str, function: &str) -> bool {
        self.rules.iter().any(|rule| rule.fits(file, function) && rule.hides(file))
    }

    /// The reason, while it holds.
    fn reason(&self, ignore: &Ignore) -> Option<String> {
        let is_over = |until: Date| self.day.is_some_and(|day| day >= until);
        match ignore.until {
            Some(until) if is_over(until) => None,
            Some(until) => Some(format!("{} (until {until})", ignore.because)),
            None => Some(ignore.because.clone()),
        }
    }
}

impl Rule {
    fn fits(&self, place: &str, function: &str) -> bool {
        self.matches
            .as_ref()
            .is_none_or(|(file, name)| file.is_match(place) && name.is_match(function))
    }

    fn hides(&self, place: &str) -> bool {
        let is_shown = self.show.is_empty() || self.show.iter().any(|glob| glob.is_match(place));
        !is_shown || self.hide.iter().any(|glob| glob.is_match(place))
    }
}

fn path_glob(text: &str) -> Option<GlobMatcher> {
    patterns::glob(text).ok().map(|glob| glob.compile_matcher())
}

/// `file glob:function glob`. Functions of some languages have slashes in their names, which are
/// no folders.
fn parts(text: &str) -> Option<(GlobMatcher, GlobMatcher)> {
    let (file, function) = text.rsplit_once(':')?;
    let function = GlobBuilder::new(function).literal_separator(false).build().ok()?;
    Some((path_glob(file)?, function.compile_matcher()))
}

/// Given both bounds, both must be passed.
fn is_beyond(limit: &Threshold, change: &Change) -> bool {
    let more = change.own.change();
    let share = change.own.relative().unwrap_or(f64::INFINITY);
    more > 0.0
        && limit.relative.is_none_or(|least| share > least)
        && limit.absolute.is_none_or(|least| more > least)
}

fn words(limit: &Threshold, unit: &Unit) -> String {
    let share = limit.relative.map(|share| format!("{} %", share * 100.0));
    let amount = limit.absolute.map(|amount| crate::report::view::amount(amount, unit));
    let parts: Vec<String> = share.into_iter().chain(amount).collect();
    parts.join(" and ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::call::Origin;
    use crate::profile::view::difference::{Pair, Presence};

    fn change(file: &str, function: &str, before: f64, after: f64) -> Change {
        Change {
            function: function.to_owned(),
            file: file.to_owned(),
            module: "m".to_owned(),
            origin: Origin::Own,
            line: 0,
            presence: Presence::Both,
            own: Pair { before, after },
            total: None,
            calls: None,
            own_noise: None,
            total_noise: None,
        }
    }

    fn rules(text: &str, day: &str) -> FunctionRules {
        let config = crate::config::parse("t", text).unwrap();
        FunctionRules::new(&config.functions, Some(day.parse().unwrap()))
    }

    #[test]
    fn rules_are_asked_in_the_order_of_the_file() {
        let rules = rules(
            "[[function]]\nmin_time = \"50ms\"\nwarn = \"10%\"\nhide = [\"vendor/**\"]\n\
             [[function]]\nmatch = \"core/*:load_*\"\nwarn = \"50%\"\n\
             [[function]]\nmatch = \"core/*:check\"\nignore = { until = \"2027-03-01\", because = \"known\" }\n",
            "2027-02-28",
        );
        let said = |file: &str, function: &str, before: f64, after: f64| {
            rules.said(&change(file, function, before, after), &Unit::Seconds)
        };
        assert_eq!(said("a.py", "f", 1.0, 1.2), Said::Worse("10 %".to_owned()));
        assert_eq!(said("a.py", "f", 1.0, 1.05), Said::Nothing);
        assert_eq!(said("a.py", "f", 0.01, 0.04), Said::TooSmall);
        assert_eq!(said("a.py", "f", 0.0, 0.5), Said::Worse("10 %".to_owned()), "a new function");
        assert_eq!(said("vendor/x/y.py", "f", 1.0, 9.0), Said::Hidden);
        assert_eq!(said("core/a.py", "load_x", 1.0, 1.4), Said::Nothing, "the later rule counts");
        assert_eq!(
            said("core/a.py", "check", 1.0, 5.0),
            Said::Ignored("known (until 2027-03-01)".to_owned())
        );
        let bytes = rules.said(&change("a.py", "f", 1.0, 1.2), &Unit::Bytes);
        assert_eq!(bytes, Said::Worse("10 %".to_owned()), "a least time says nothing of bytes");
    }

    #[test]
    fn a_reason_ends_with_its_day() {
        let text = "[[function]]\nwarn = \"10%\"\nignore = { until = \"2027-03-01\", because = \"known\" }\n";
        let change = change("a.py", "f", 1.0, 2.0);
        for (day, ignored) in [("2027-02-28", true), ("2027-03-01", false)] {
            let said = rules(text, day).said(&change, &Unit::Seconds);
            assert_eq!(matches!(said, Said::Ignored(_)), ignored, "{day}: {said:?}");
        }
    }

    #[test]
    fn both_bounds_must_be_passed_and_show_leaves_the_rest_out() {
        let rules =
            rules("[[function]]\nwarn = [\"10%\", \"2 s\"]\nshow = [\"src/**\"]\n", "2027-01-01");
        let said = |file: &str, before: f64, after: f64| {
            rules.said(&change(file, "f", before, after), &Unit::Seconds)
        };
        assert_eq!(said("lib/a.py", 1.0, 9.0), Said::Hidden);
        assert_eq!(said("src/a.py", 1.0, 2.0), Said::Nothing);
        assert!(matches!(said("src/a.py", 1.0, 4.0), Said::Worse(_)));
    }
}

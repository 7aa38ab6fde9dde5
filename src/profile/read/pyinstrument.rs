//! pyinstrument's session: every sample as a stack of texts and a time.
//!
//! A text is `function NUL file NUL line-of-definition`, then attributes, each after `\x01`:
//! `l` the executing line, `c` the class, `h` hides the frame in tracebacks. Stacks go from the
//! root to the leaf. A 300 MB file has a few hundred different texts: each is decoded once.

use super::super::build::{Builder, Path, Stretches, weight};
use super::super::error::{Fault, Reason};
use super::super::json::{Json, decode};
use super::super::model::{Frame, FrameKind, Measured, NONE, Origin, Weight};
use super::super::names;
use super::super::paths::Paths;
use super::super::reading::Reading;
use super::super::sniff::Kind;
use super::Context;
use super::assemble::Parts;
use crate::model::metric::Unit;

/// Threads whose order of time is kept.
const THREADS_MAX: usize = 64;

/// The numbers around the samples.
#[derive(Debug)]
pub(super) struct Facts {
    pub(super) duration: f64,
    pub(super) cpu_time: f64,
    pub(super) samples: f64,
    pub(super) interval: f64,
}

impl Default for Facts {
    fn default() -> Self {
        Self { duration: f64::NAN, cpu_time: f64::NAN, samples: f64::NAN, interval: f64::NAN }
    }
}

impl Facts {
    /// Takes a value if the key is one of a session's numbers; leaves any other out.
    pub(super) fn take(&mut self, json: &mut Json<'_, '_>, key: &str) -> Result<(), Fault> {
        let into = match key {
            "duration" => &mut self.duration,
            "cpu_time" => &mut self.cpu_time,
            "sample_count" => &mut self.samples,
            "max_interval" => &mut self.interval,
            _ => return json.skip(),
        };
        *into = json.number_or_nan()?;
        Ok(())
    }

    /// Adds the numbers that are there as metrics, and to the profile.
    pub(super) fn tell(&self, profile: &mut super::super::model::Profile, reading: &mut Reading) {
        let positive = |value: f64| weight(value).filter(|value| *value > 0.0);
        profile.samples = super::super::build::count(self.samples);
        profile.interval = positive(self.interval);
        profile.duration = positive(self.duration);
        for (label, value) in [("duration", self.duration), ("cpu_time", self.cpu_time)] {
            if weight(value).is_some() {
                reading.metric(label, value, Unit::Seconds);
            }
        }
    }
}

pub(super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut facts = Facts::default();
    let mut samples = None;
    json.object(&mut |json, key| match key {
        "frame_records" if samples.is_some() => {
            Err(json.wrong(Reason::Twice { what: "`frame_records`" }))
        }
        "frame_records" => {
            samples = Some(records(context, json)?);
            Ok(())
        }
        _ => facts.take(json, key),
    })?;
    let Some(parts) = samples else {
        return Err(json.wrong(Reason::Missing { what: "`frame_records`" }));
    };
    let mut profile = parts.profile(Kind::PyinstrumentSession, reading);
    profile.tool = Some("pyinstrument".to_owned());
    facts.tell(&mut profile, reading);
    reading.profiles.push(profile);
    Ok(())
}

/// Reads `[[[text, …], seconds], …]`.
fn records(context: &Context<'_>, json: &mut Json<'_, '_>) -> Result<Parts, Fault> {
    let mut builder = Builder::new(1, context.limits);
    let mut path = Path::default();
    let mut order: Vec<(u32, Stretches)> = Vec::new();
    let mut threads = 0;
    json.array(&mut |json| {
        json.begin_array()?;
        let mut first = true;
        let (mut leaf, mut root) = (NONE, NONE);
        if json.next_item(&mut first)? {
            let mut depth = 0;
            json.array(&mut |json| {
                let (text, escaped) = json.raw_text()?;
                let site = builder.spelled(text, |builder| {
                    let (frame, line) = frame_of(text, escaped, &context.paths, &mut threads);
                    builder.site(frame, line)
                });
                leaf = path.step(&mut builder, depth, site);
                if depth == 0 {
                    root = leaf;
                }
                depth += 1;
                Ok(())
            })?;
        }
        if !json.next_item(&mut first)? {
            return Err(json.wrong(Reason::Missing { what: "the time of a sample" }));
        }
        let time = json.number()?;
        let Some(time) = weight(time) else {
            return Err(json.wrong(Reason::BadNumber { what: "the time of a sample" }));
        };
        while json.next_item(&mut first)? {
            json.skip()?;
        }
        if leaf == NONE {
            let site = builder.site(Frame::special(FrameKind::Marker, "(no stack)"), 0);
            leaf = builder.child(NONE, site);
            root = leaf;
        }
        builder.add(leaf, 0, time);
        push(&mut order, root, leaf, time);
        Ok(())
    })?;
    let weights = vec![Weight::new("time", Unit::Seconds, Measured::Sampled)];
    Ok(Parts { builder, weights, order })
}

/// Adds a sample to the order of its thread. Threads beyond any view's interest have none.
pub(super) fn push(order: &mut Vec<(u32, Stretches)>, thread: u32, leaf: u32, length: f64) {
    let known = order.iter().position(|(known, _)| *known == thread);
    if known.is_none() && order.len() >= THREADS_MAX {
        return;
    }
    let at = known.unwrap_or(order.len());
    if at == order.len() {
        order.push((thread, Stretches::default()));
    }
    order[at].1.push(leaf, length);
}

/// The frame and the executing line of a text.
pub(super) fn frame_of(
    raw: &[u8],
    escaped: bool,
    paths: &Paths,
    threads: &mut usize,
) -> (Frame, u32) {
    let mut text = String::new();
    decode(raw, escaped, &mut text);
    let mut parts = text.split('\u{1}');
    let mut identifier = parts.next().unwrap_or_default().split('\0');
    let (function, file) =
        (identifier.next().unwrap_or_default(), identifier.next().unwrap_or_default());
    let defined = identifier.next().and_then(|line| line.parse().ok()).unwrap_or(0);
    let (mut line, mut class) = (0, "");
    for attribute in parts {
        match attribute.split_at_checked(1) {
            Some(("l", number)) => line = number.parse().unwrap_or(0),
            Some(("c", name)) => class = name,
            _ => {}
        }
    }
    (frame(function, class, file, defined, paths, threads), line)
}

/// The frame of a function, a thread or one of pyinstrument's own marks.
pub(super) fn frame(
    function: &str,
    class: &str,
    file: &str,
    line: u32,
    paths: &Paths,
    threads: &mut usize,
) -> Frame {
    if file == "<thread>" {
        *threads += 1;
        return names::thread(function, *threads);
    }
    if file.is_empty() && function.starts_with('[') {
        return Frame::special(FrameKind::Marker, &names::clean(function));
    }
    let place = paths.place(file);
    let name = if class.is_empty() {
        names::function(function)
    } else {
        names::function(&format!("{class}.{function}"))
    };
    let origin = if file == "<built-in>" { Origin::Runtime } else { place.origin };
    Frame {
        function: name,
        file: place.file,
        line,
        module: place.module,
        origin,
        kind: FrameKind::Function,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_taken_apart() {
        let paths = Paths::new(["/w"]);
        let of = |text: &str| frame_of(text.as_bytes(), true, &paths, &mut 0);
        let (frame, line) = of(r"run\u0000/w/src/sim.py\u000010\u0001cModel\u0001l12\u0001h1");
        assert_eq!(
            (frame.function.as_str(), frame.file.as_str(), frame.line, line),
            ("Model.run", "src/sim.py", 10, 12)
        );
        assert_eq!(of(r"MainThread\u0000<thread>\u0000139").0.kind, FrameKind::Thread);
        assert_eq!(of(r"sleep\u0000<built-in>\u00000").0.origin, Origin::Runtime);
        assert_eq!(of("[await]").0.kind, FrameKind::Marker);
        assert_eq!(of("").0.function, "");
        assert_eq!(of("f\\u0000x\\u0000-1\\u0001l99999999999\\u0001é\\u0001").1, 0);
    }
}

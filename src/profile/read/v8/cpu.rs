//! A CPU profile.
//!
//! A sample lasts until the next one: the first delta is the time before the first sample, which
//! nobody saw, and the last sample lasts until the end. V8 sometimes gives samples out of order.

use std::collections::HashMap;

use super::super::super::build::{Builder, Stretches, small, weight};
use super::super::super::error::{Fault, Reason};
use super::super::super::json::{Json, Next};
use super::super::super::model::{Frame, FrameKind, Measured, NONE, Weight};
use super::super::super::reading::Reading;
use super::super::super::sniff::Kind;
use super::super::Context;
use super::super::assemble::Parts;
use super::ticks::{self, Ticks};
use super::{Call, call_frame, frame, is_root};
use crate::model::metric::Unit;

/// Most samples: each needs a few bytes until the tree is known.
const SAMPLES_MAX: usize = 20_000_000;
/// Most nodes, children and lines counted.
const NODES_MAX: usize = 5_000_000;

/// A node of a CPU profile.
#[derive(Default)]
struct Node {
    key: f64,
    site: u32,
    hits: f64,
    children: Vec<f64>,
    ticks: Ticks,
}

#[derive(Default)]
struct Cpu {
    nodes: Vec<Node>,
    samples: Vec<f64>,
    deltas: Vec<f64>,
    start: Option<f64>,
    end: Option<f64>,
}

pub(in super::super) fn read(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    reading: &mut Reading,
) -> Result<(), Fault> {
    let mut builder = Builder::new(1, context.limits);
    let mut cpu = Cpu::default();
    let mut seen = false;
    json.object(&mut |json, key| {
        match key {
            "nodes" if seen => return Err(json.wrong(Reason::Twice { what: "`nodes`" })),
            "nodes" => {
                seen = true;
                nodes(context, json, &mut builder, &mut cpu.nodes)?;
            }
            "samples" => cpu.samples = numbers(json)?,
            "timeDeltas" => cpu.deltas = numbers(json)?,
            "startTime" => cpu.start = Some(json.number_or_nan()?),
            "endTime" => cpu.end = Some(json.number_or_nan()?),
            _ => json.skip()?,
        }
        Ok(())
    })?;
    if !seen {
        return Err(json.wrong(Reason::Missing { what: "`nodes`" }));
    }
    let places = tree(&mut builder, &cpu.nodes);
    let wrong = |reason| json.wrong(reason);
    let (weights, order) = if cpu.samples.is_empty() {
        hits(&mut builder, &cpu.nodes, &places, reading);
        (Weight::new("samples", Unit::Count, Measured::Sampled), Vec::new())
    } else {
        let stretches = times(&mut builder, &cpu, &places).map_err(wrong)?;
        (Weight::new("time", Unit::Seconds, Measured::Sampled), vec![(NONE, stretches)])
    };
    ticks::divide(
        &mut builder,
        cpu.nodes.iter().map(|node| {
            let place = places.get(&node.key.to_bits()).copied().unwrap_or(NONE);
            (place, node.hits, &node.ticks)
        }),
    );
    let samples = cpu.samples.len() as u64;
    let mut profile =
        Parts { builder, weights: vec![weights], order }.profile(Kind::CpuProfile, reading);
    profile.lines.total.clear();
    profile.tool = Some("V8".to_owned());
    profile.samples = Some(samples).filter(|samples| *samples > 0);
    if let (Some(start), Some(end)) = (cpu.start, cpu.end) {
        profile.duration = weight((end - start) / 1e6).filter(|duration| *duration > 0.0);
    }
    reading.profiles.push(profile);
    Ok(())
}

fn numbers(json: &mut Json<'_, '_>) -> Result<Vec<f64>, Fault> {
    let mut list = Vec::new();
    let mut full = false;
    json.numbers(|value| {
        full |= list.len() >= SAMPLES_MAX;
        if !full {
            list.push(value);
        }
        Ok(())
    })?;
    if full {
        let limit = SAMPLES_MAX as u64;
        return Err(json.wrong(Reason::TooLarge { what: "the number of samples", limit }));
    }
    Ok(list)
}

fn nodes(
    context: &Context<'_>,
    json: &mut Json<'_, '_>,
    builder: &mut Builder,
    nodes: &mut Vec<Node>,
) -> Result<(), Fault> {
    let mut count = 0;
    json.array(&mut |json| {
        let mut node = Node { key: f64::NAN, ..Node::default() };
        let mut call = Call::default();
        json.object(&mut |json, key| {
            match key {
                "id" => node.key = json.number_or_nan()?,
                "hitCount" => node.hits = json.number_or_nan()?,
                "callFrame" if json.peek()? == Next::Object => call = call_frame(json)?,
                "children" if json.peek()? == Next::Array => json.numbers(|child| {
                    node.children.push(child);
                    Ok(())
                })?,
                "positionTicks" if json.peek()? == Next::Array => node.ticks = ticks::read(json)?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        count += 1 + node.children.len() + node.ticks.len();
        if count > NODES_MAX {
            let limit = NODES_MAX as u64;
            return Err(json.wrong(Reason::TooLarge { what: "the number of nodes", limit }));
        }
        node.site = builder.site(frame(context, &call), 0);
        nodes.push(node);
        Ok(())
    })
}

/// Puts the nodes into the builder; gives for each key its node there. Children may stand before
/// their parents, and a hostile file may have circles: each node is entered once, from the top.
fn tree(builder: &mut Builder, nodes: &[Node]) -> HashMap<u64, u32> {
    let key = |key: f64| key.to_bits();
    let by_key: HashMap<u64, usize> =
        nodes.iter().enumerate().map(|(at, node)| (key(node.key), at)).collect();
    let mut is_child = vec![false; nodes.len()];
    for child in nodes.iter().flat_map(|node| &node.children) {
        if let Some(at) = by_key.get(&key(*child)) {
            is_child[*at] = true;
        }
    }
    let mut places: HashMap<u64, u32> = HashMap::new();
    // Then those of circles that nothing leads into.
    let tops = (0..nodes.len()).filter(|at| !is_child[*at]).chain(0..nodes.len());
    let mut tops = tops.collect::<Vec<_>>().into_iter();
    let mut open: Vec<(usize, u32)> = Vec::new();
    while let Some((at, parent)) = open.pop().or_else(|| Some((tops.next()?, NONE))) {
        let node = &nodes[at];
        if places.contains_key(&key(node.key)) {
            continue;
        }
        let place = if parent == NONE && is_root(builder, node.site) && !node.children.is_empty() {
            NONE
        } else {
            builder.child(parent, node.site)
        };
        places.insert(key(node.key), place);
        for child in node.children.iter().rev() {
            if let Some(child) = by_key.get(&key(*child)) {
                open.push((*child, place));
            }
        }
    }
    places
}

/// Without samples the hits are all there is: counts, at no rate.
fn hits(builder: &mut Builder, nodes: &[Node], places: &HashMap<u64, u32>, reading: &mut Reading) {
    reading.note("the file has no samples with times, only how often each node was hit");
    for node in nodes {
        let place = places.get(&node.key.to_bits()).copied().unwrap_or(NONE);
        if let (Some(hits), true) = (weight(node.hits), place != NONE) {
            builder.add(place, 0, hits);
        }
    }
}

/// Weighs each sample by the time until the next.
fn times(
    builder: &mut Builder,
    cpu: &Cpu,
    places: &HashMap<u64, u32>,
) -> Result<Stretches, Reason> {
    if cpu.deltas.len() != cpu.samples.len() {
        return Err(Reason::Missing { what: "a time for every sample" });
    }
    if cpu.deltas.iter().any(|delta| !delta.is_finite() || delta.abs() > 1e15) {
        return Err(Reason::BadNumber { what: "the time between two samples" });
    }
    let mut at = 0.0;
    let mut moments: Vec<(f64, f64)> = cpu
        .samples
        .iter()
        .zip(&cpu.deltas)
        .map(|(sample, delta)| {
            at += delta;
            (at, *sample)
        })
        .collect();
    if cpu.deltas.iter().any(|delta| *delta < 0.0) {
        moments.sort_by(|one, other| one.0.total_cmp(&other.0));
    }
    let last = moments.last().map_or(0.0, |moment| moment.0);
    let end = match (cpu.start, cpu.end) {
        (Some(start), Some(end)) if end - start >= last => end - start,
        _ => last,
    };
    let mut stretches = Stretches::default();
    let mut none = NONE;
    for (place, (begin, sample)) in moments.iter().enumerate() {
        let until = moments.get(place + 1).map_or(end, |next| next.0);
        let passed = weight((until - begin) / 1e6).unwrap_or(0.0);
        let Some(node) = places.get(&sample.to_bits()) else {
            return Err(Reason::NoSuch { what: "node", index: u64::from(small(*sample)) });
        };
        let mut node = *node;
        if node == NONE {
            if none == NONE {
                let site = builder.site(Frame::special(FrameKind::Marker, "(root)"), 0);
                none = builder.child(NONE, site);
            }
            node = none;
        }
        builder.add(node, 0, passed);
        stretches.push(node, passed);
    }
    Ok(stretches)
}

#[cfg(test)]
mod tests {
    use super::super::super::super::{Options, read_bytes};
    use super::*;

    fn cpu(more: &str) -> String {
        format!(
            r#"{{"nodes": [{{"id": 1, "callFrame": {{"functionName": "(root)", "url": "", "lineNumber": -1}}, "children": [2, 3]}},
            {{"id": 2, "callFrame": {{"functionName": "(idle)", "url": "", "lineNumber": -1}}, "hitCount": 1}},
            {{"id": 3, "callFrame": {{"functionName": "", "url": "file:///w/a.js", "lineNumber": 0}}, "hitCount": 2, "children": [3, 2]}}]{more}}}"#
        )
    }

    fn reading(text: &str) -> Reading {
        let options = Options { workspaces: &["/w"], ..Options::default() };
        read_bytes(text.as_bytes(), &options).unwrap()
    }

    #[test]
    fn a_sample_lasts_until_the_next_one() {
        let reading = reading(&cpu(
            r#", "startTime": 1000, "endTime": 1100, "samples": [3, 2, 3], "timeDeltas": [10, 30, 20]"#,
        ));
        let profile = &reading.profiles[0];
        let tree = profile.tree().unwrap();
        let of = |name: &str| -> f64 {
            let at = |node: &usize| profile.frames[tree.frame[*node] as usize].function == name;
            (0..tree.len()).filter(at).map(|node| tree.own[0][node]).sum()
        };
        assert!((of("(anonymous)") - 70e-6).abs() < 1e-12, "{:?}", tree.own);
        assert!((of("(idle)") - 20e-6).abs() < 1e-12);
        assert_eq!(profile.frames.iter().find(|frame| frame.file == "a.js").unwrap().line, 1);
        assert_eq!((profile.samples, profile.duration), (Some(3), Some(1e-4)));
    }

    #[test]
    fn samples_out_of_order_are_put_in_order() {
        let reading = reading(&cpu(
            r#", "startTime": 0, "endTime": 50, "samples": [3, 2, 3], "timeDeltas": [10, 30, -20]"#,
        ));
        // At 10: 3, at 20: 3, at 40: idle, the end at 50.
        assert!((reading.profiles[0].sum(0) - 40e-6).abs() < 1e-12);
    }

    #[test]
    fn without_samples_hits_are_counts() {
        let reading = reading(&cpu(""));
        assert_eq!(reading.profiles[0].weights[0].unit, Unit::Count);
        assert!((reading.profiles[0].sum(0) - 3.0).abs() < 1e-12);
        assert_eq!(reading.notices.len(), 1);
    }

    #[test]
    fn circles_end() {
        let text = r#"{"nodes": [{"id": 1, "callFrame": {"functionName": "f"}, "children": [2], "hitCount": 1},
            {"id": 2, "callFrame": {"functionName": "g"}, "children": [1], "hitCount": 2}], "startTime": 0}"#;
        assert!((reading(text).profiles[0].sum(0) - 3.0).abs() < 1e-12);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        for more in [
            r#", "samples": [3], "timeDeltas": []"#,
            r#", "samples": [9], "timeDeltas": [1]"#,
            r#", "samples": [3], "timeDeltas": [Infinity]"#,
            r#", "nodes": []"#,
        ] {
            assert!(read_bytes(cpu(more).as_bytes(), &Options::default()).is_err(), "{more}");
        }
    }
}

//! Ticks by source line, of a CPU profile.
//!
//! V8 counts how often a node was hit at which line, without the times. What the node spent itself is
//! divided as its ticks are; what a line called is not known.

use std::collections::HashSet;

use super::super::super::build::{Builder, small, weight};
use super::super::super::error::Fault;
use super::super::super::json::{Json, Next};
use super::super::super::model::NONE;

/// Most lines of a node, more than a function has.
const LINES_MAX: usize = 1_000_000;

/// Lines, from 1, and how often each was hit.
pub(super) type Ticks = Vec<(u32, f64)>;

/// Reads the ticks of a node; entries that say nothing are passed over.
pub(super) fn read(json: &mut Json<'_, '_>) -> Result<Ticks, Fault> {
    let mut ticks = Ticks::new();
    json.array(&mut |json| {
        if json.peek()? != Next::Object {
            return json.skip();
        }
        let (mut line, mut hits) = (0, 0.0);
        json.object(&mut |json, key| {
            match key {
                "line" => line = small(json.number_or_nan()?),
                "ticks" => hits = json.number_or_nan()?,
                _ => json.skip()?,
            }
            Ok(())
        })?;
        if let (1.., Some(hits)) = (line, weight(hits))
            && hits > 0.0
            && ticks.len() < LINES_MAX
        {
            ticks.push((line, hits));
        }
        Ok(())
    })?;
    Ok(ticks)
}

/// Divides what nodes spent themselves among their lines: for each its place in the builder
/// ([`NONE`] without one), its hits and its ticks. Hits that stand at no line stay with the node.
pub(super) fn divide<'t>(
    builder: &mut Builder,
    nodes: impl Iterator<Item = (u32, f64, &'t Ticks)>,
) {
    let mut divided = HashSet::new();
    for (place, hits, ticks) in nodes {
        if ticks.is_empty() || place == NONE || !divided.insert(place) {
            continue;
        }
        let own = std::mem::take(&mut builder.nodes.own[0][place as usize]);
        let counted: f64 = ticks.iter().map(|(_, hits)| hits).sum();
        let all = counted.max(weight(hits).unwrap_or(0.0));
        let mut left = own;
        for (line, hits) in ticks {
            let part = (own * (hits / all)).min(left);
            let at = builder.at_line(place, *line);
            builder.add(at, 0, part);
            left -= part;
        }
        builder.add(place, 0, left);
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::super::{Limits, Options, Reading, read_bytes};

    fn reading(text: &str) -> Reading {
        let options = Options { workspaces: &["/w"], ..Options::default() };
        read_bytes(text.as_bytes(), &options).unwrap()
    }

    #[test]
    fn lines_share_what_their_node_spent() {
        let nodes = |ticks: &str, more: &str| {
            format!(
                r#"{{"nodes": [{{"id": 1, "callFrame": {{"functionName": "f", "url": "file:///w/a.js", "lineNumber": 3}}, "hitCount": 5,
                "children": [2], "positionTicks": {ticks}}},
                {{"id": 2, "callFrame": {{"functionName": "g", "url": "file:///w/a.js", "lineNumber": 8}}, "hitCount": 1}}]{more}}}"#
            )
        };
        let times = r#", "startTime": 0, "endTime": 100, "samples": [1, 2], "timeDeltas": [0, 80]"#;
        let ticks = r#"[{"line": 5, "ticks": 3}, {"line": 7, "ticks": 1}]"#;
        let found = reading(&nodes(ticks, times));
        let profile = &found.profiles[0];
        profile.check().unwrap();
        assert_eq!(profile.lines.line, [5, 7]);
        let micros = |own: &[f64]| own.iter().map(|own| own * 1e6).collect::<Vec<_>>();
        let (lines, tree) = (micros(&profile.lines.own[0]), profile.tree().unwrap());
        // One hit of five stands at no line.
        assert!((lines[0] - 48.0).abs() < 1e-9 && (lines[1] - 16.0).abs() < 1e-9, "{lines:?}");
        assert!(profile.lines.total.is_empty(), "nobody knows what a line called");
        assert_eq!(tree.len(), 2, "lines are no nodes");
        let own = micros(&tree.own[0]);
        assert!((own[0] - 80.0).abs() < 1e-9 && (own[1] - 20.0).abs() < 1e-9, "{own:?}");

        let counts = reading(&nodes(ticks, ""));
        assert_eq!(counts.profiles[0].lines.own, [[3.0, 1.0]]);
        assert_eq!(counts.profiles[0].tree().unwrap().own, [[5.0, 1.0]]);
    }

    #[test]
    fn lines_that_are_none_say_nothing() {
        for ticks in [
            r#"[{"line": 0, "ticks": 3}, {"line": -1, "ticks": 3}, {"line": 5e9, "ticks": 1}]"#,
            r#"[{"line": 5, "ticks": -3}, {"line": 5, "ticks": NaN}, {"line": 5, "ticks": 0}, {"line": 5}]"#,
            r#"[7, "x", null, [], {}]"#,
            r#"{"line": 5, "ticks": 3}"#,
            "[]",
        ] {
            let text = format!(
                r#"{{"nodes": [{{"id": 1, "callFrame": {{"functionName": "f"}}, "hitCount": 2, "positionTicks": {ticks}}}], "startTime": 0}}"#
            );
            let profile = &reading(&text).profiles[0];
            assert_eq!((&profile.lines.line, profile.sum(0)), (&Vec::new(), 2.0), "{ticks}");
        }
    }

    #[test]
    fn a_full_tree_has_no_room_for_lines() {
        let limits = Limits { nodes: 1, ..Options::default().limits };
        let text = r#"{"nodes": [{"id": 1, "callFrame": {"functionName": "f"}, "hitCount": 4,
            "positionTicks": [{"line": 5, "ticks": 3}]}], "startTime": 0}"#;
        let read = read_bytes(text.as_bytes(), &Options { limits, ..Options::default() }).unwrap();
        assert_eq!(read.profiles[0].tree().unwrap().own, [[4.0]]);
        assert!(!read.notices.iter().any(|notice| notice.contains("cut")), "{:?}", read.notices);
    }
}

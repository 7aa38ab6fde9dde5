//! The one place that all texts of a run go through before they are written: secrets go, names stay
//! fit names, and what is too long to be read back is cut.
//!
//! Every part is named, so that a new one cannot be forgotten: without it this does not compile.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::layout::is_run_id;
use super::profiles::{ProfileSummary, TopFunction, WeightSum};
use super::read::TEXT_MAX;
use super::redact::Redactor;
use super::series::{Series, SeriesFile, SeriesSource};
use super::{
    Amendment, Commit, Disturbance, Environment, File, Machine, Metric, Notice, Param, Phase,
    Profiler, Record, Repository, Run, SeriesSummary, Step, Tool, Trigger,
};
use crate::model::metric::{Unit, built_in};

/// Series of the sampler, whose names are our own.
const SAMPLED: [&str; 5] = ["memory", "memory_pss", "cpu", "processes", "threads"];

impl Redactor {
    /// Takes the secrets out of every text of a record.
    pub fn clean(&self, record: &mut Record) {
        let Record {
            schema: _,
            run,
            repository,
            commit,
            trigger,
            machine,
            environment,
            tool,
            params,
            metrics,
            unavailable,
            steps,
            phases,
            series,
            profiles,
            functions,
            extra,
            files,
            disturbances,
            notices,
            overhead: _,
            comparison,
            amended,
        } = record;
        self.run(run);
        self.repository(repository);
        self.commit(commit);
        self.trigger(trigger);
        self.machine(machine);
        self.environment(environment);
        self.tool(tool);
        self.map(params, Self::param);
        self.metrics(metrics);
        self.texts(unavailable);
        self.each(steps, Self::step);
        self.each(phases, Self::phase);
        self.each(series, Self::summary);
        self.each(profiles, Self::profile);
        self.each(functions, Self::function);
        self.map(extra, Self::value);
        self.each(files, Self::file);
        self.each(disturbances, Self::disturbance);
        for Notice { level: _, code, message } in notices {
            self.change(code);
            self.change(message);
        }
        if let Some(value) = comparison {
            self.value(value);
        }
        for Amendment { date: _, author, because, commit } in amended {
            self.change(author);
            self.change(because);
            self.commit(commit);
        }
    }

    /// Takes the secrets out of every text of the series.
    pub fn clean_series(&self, file: &mut SeriesFile) {
        let SeriesFile { version: _, series } = file;
        for one in series {
            let Series { name, unit, source, x_name, t: _, x, value: _, min: _, max: _ } = one;
            self.series_name(name, *source);
            self.unit(unit);
            self.maybe(x_name);
            self.each(x, Self::change);
        }
    }

    fn run(&self, run: &mut Run) {
        let Run {
            id,
            job,
            tag,
            workload: _,
            variant,
            status: _,
            exit_code: _,
            planned: _,
            started: _,
            ended: _,
            repetitions: _,
            digest,
            identity: _,
            judged,
        } = run;
        self.rename(id);
        if !is_run_id(id) {
            id.insert_str(0, "run");
        }
        self.rename(job);
        self.maybe(tag);
        self.maybe(variant);
        self.maybe(digest);
        self.each(judged, Self::metric_name);
    }

    fn repository(&self, repository: &mut Repository) {
        let Repository { host, owner, name, unknown } = repository;
        self.each([host, owner, name], Self::maybe);
        self.texts(unknown);
    }

    fn commit(&self, commit: &mut Commit) {
        let Commit {
            sha: _,
            tree,
            parents: _,
            committed: _,
            subject,
            reference,
            default_branch,
            merge_base: _,
            changed_paths,
            against: _,
            dirty: _,
            untracked_files: _,
            unknown,
        } = commit;
        self.each([tree, subject, reference, default_branch], Self::maybe);
        self.each(changed_paths.iter_mut().flatten(), Self::change);
        self.texts(unknown);
    }

    fn trigger(&self, trigger: &mut Trigger) {
        let Trigger {
            event,
            actor,
            run_url,
            run_id: _,
            run_number: _,
            attempt: _,
            pull_request: _,
        } = trigger;
        self.change(event);
        self.maybe(actor);
        self.maybe(run_url);
    }

    fn machine(&self, machine: &mut Machine) {
        let Machine { fingerprint, group, parts } = machine;
        self.change(fingerprint);
        self.change(group);
        self.texts(parts);
    }

    fn environment(&self, environment: &mut Environment) {
        let Environment { interpreters, image, lock_files, variables, held_back } = environment;
        self.texts(interpreters);
        self.maybe(image);
        self.texts(lock_files);
        self.texts(variables);
        self.each(held_back, Self::change);
    }

    fn tool(&self, tool: &mut Tool) {
        let Tool { version, meter, profiler: Profiler { name, version: of_profiler, args } } = tool;
        self.change(version);
        self.change(meter);
        self.change(name);
        self.maybe(of_profiler);
        self.each(args, Self::change);
    }

    fn step(&self, step: &mut Step) {
        let Step { name, command, status: _, exit_code: _, signal: _, metrics, unavailable } = step;
        self.rename(name);
        self.change(command);
        self.metrics(metrics);
        self.texts(unavailable);
    }

    fn phase(&self, phase: &mut Phase) {
        let Phase { name, step, begin: _, end: _, metrics } = phase;
        self.rename(name);
        self.rename(step);
        self.metrics(metrics);
    }

    fn summary(&self, summary: &mut SeriesSummary) {
        let SeriesSummary { name, unit, source, file, points: _, min: _, max: _, last: _ } =
            summary;
        self.series_name(name, *source);
        self.unit(unit);
        self.change(file);
    }

    fn profile(&self, profile: &mut ProfileSummary) {
        let ProfileSummary {
            file,
            place: _,
            name,
            step,
            source,
            format,
            tool,
            shape: _,
            weights,
            functions: _,
            nodes: _,
            kept: _,
            samples: _,
            interval: _,
            duration: _,
        } = profile;
        self.each([file, name, source, format], Self::change);
        self.each(step, Self::rename);
        self.maybe(tool);
        for WeightSum { name, unit, measured: _, sum: _ } in weights {
            self.change(name);
            self.unit(unit);
        }
    }

    fn function(&self, top: &mut TopFunction) {
        let TopFunction {
            profile: _,
            step,
            function,
            file,
            module,
            origin: _,
            line: _,
            weight,
            unit,
            measured: _,
            own: _,
            total: _,
            share: _,
            calls: _,
        } = top;
        self.each(step, Self::rename);
        self.each([function, file, module, weight], Self::change);
        self.unit(unit);
    }

    fn file(&self, file: &mut File) {
        let File { path, bytes: _, sha256, role: _, left_out } = file;
        self.rename(path);
        self.maybe(sha256);
        self.maybe(left_out);
    }

    fn disturbance(&self, disturbance: &mut Disturbance) {
        let Disturbance { name, value: _, unit, limit: _, exceeded: _, message } = disturbance;
        self.change(name);
        self.unit(unit);
        self.change(message);
    }

    fn param(&self, param: &mut Param) {
        let Param { value, default, identity: _ } = param;
        self.value(value);
        self.each(default, Self::value);
    }

    fn metrics(&self, metrics: &mut BTreeMap<String, Metric>) {
        self.map(metrics, |this, metric| {
            let Metric {
                value: _,
                unit,
                better: _,
                source,
                method,
                exactness: _,
                lower: _,
                upper: _,
                n: _,
                repetitions: _,
            } = metric;
            this.unit(unit);
            this.change(source);
            this.change(method);
        });
    }

    /// JSON of any form. A number that is a secret becomes a text.
    fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.change(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(map) => {
                let mut clean = Map::new();
                for (key, mut value) in std::mem::take(map) {
                    self.value(&mut value);
                    clean.insert(self.free(&key, |key| clean.contains_key(key)), value);
                }
                *map = clean;
            }
            Value::Number(number) => {
                let text = number.to_string();
                if self.finds(text.as_bytes()) {
                    *value = Value::from(self.text(&text));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn each<'a, T: 'a>(
        &self,
        all: impl IntoIterator<Item = &'a mut T>,
        change: impl Fn(&Self, &mut T),
    ) {
        for one in all {
            change(self, one);
        }
    }

    fn texts(&self, map: &mut BTreeMap<String, String>) {
        self.map(map, Self::change);
    }

    fn map<T>(&self, map: &mut BTreeMap<String, T>, change: impl Fn(&Self, &mut T)) {
        let mut clean = BTreeMap::new();
        for (key, mut value) in std::mem::take(map) {
            change(self, &mut value);
            let key = if built_in(&key).is_some() {
                key
            } else {
                self.free(&key, |key| clean.contains_key(key))
            };
            clean.insert(key, value);
        }
        *map = clean;
    }

    /// The key without secrets, which no other has: nothing is lost when two become one.
    fn free(&self, key: &str, is_taken: impl Fn(&str) -> bool) -> String {
        let clean = self.name(key);
        if clean == key || !is_taken(&clean) {
            return clean;
        }
        let mut number = 2_u32;
        loop {
            let numbered = format!("{clean}_{number}");
            if !is_taken(&numbered) {
                return numbered;
            }
            number = number.saturating_add(1);
        }
    }

    /// perftrail's own names stay, whatever the secrets are.
    fn metric_name(&self, name: &mut String) {
        if built_in(name).is_none() {
            self.rename(name);
        }
    }

    fn series_name(&self, name: &mut String, source: SeriesSource) {
        if source == SeriesSource::Reported || !SAMPLED.contains(&name.as_str()) {
            self.rename(name);
        }
    }

    fn unit(&self, unit: &mut Unit) {
        if let Unit::Other(text) = unit {
            self.change(text);
        }
    }

    fn maybe(&self, text: &mut Option<String>) {
        self.each(text, Self::change);
    }

    fn rename(&self, name: &mut String) {
        *name = self.name(name);
    }

    /// A text longer than any that is read back keeps its beginning.
    fn change(&self, text: &mut String) {
        *text = self.text(text);
        if text.len() > TEXT_MAX {
            let told = format!("… (cut: {} bytes)", text.len());
            text.truncate(text.floor_char_boundary(TEXT_MAX - told.len()));
            text.push_str(&told);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::record::read::read;

    const RECORDS: [&[u8]; 3] = [
        include_bytes!("../../tests/fixtures/records/v1/succeeded.json"),
        include_bytes!("../../tests/fixtures/records/v1/failed.json"),
        include_bytes!("../../tests/fixtures/records/v1/running.json"),
    ];

    /// Every place of a text: values, and keys where maps are free.
    fn count(value: &Value) -> usize {
        match value {
            Value::String(_) => 1,
            Value::Array(items) => items.iter().map(count).sum(),
            Value::Object(map) => map.values().map(|value| 1 + count(value)).sum(),
            _ => 0,
        }
    }

    /// The value with `secret` at the end of its texts that `here` says, by their number.
    fn planted(
        value: &Value,
        number: &mut usize,
        here: &dyn Fn(usize) -> bool,
        secret: &str,
    ) -> Value {
        let next = |number: &mut usize, text: &str| {
            *number += 1;
            if here(*number - 1) { format!("{text}{secret}") } else { text.to_owned() }
        };
        match value {
            Value::String(text) => Value::from(next(number, text)),
            Value::Array(items) => {
                items.iter().map(|item| planted(item, number, here, secret)).collect()
            }
            Value::Object(map) => {
                let mut changed = Map::new();
                for (key, value) in map {
                    let key = next(number, key);
                    changed.insert(key, planted(value, number, here, secret));
                }
                Value::Object(changed)
            }
            other => other.clone(),
        }
    }

    /// The records with the secret at each place in turn that has room for one.
    fn with(bytes: &[u8], secret: &str) -> Vec<(usize, Record)> {
        let plain: Value = serde_json::from_slice(bytes).unwrap();
        (0..count(&plain))
            .filter_map(|place| {
                let value = planted(&plain, &mut 0, &|at| at == place, secret);
                let record: Record = serde_json::from_value(value).ok()?;
                // An unknown key is not kept: only what would be written counts.
                holds(&serde_json::to_value(&record).unwrap(), secret).then_some((place, record))
            })
            .collect()
    }

    fn texts<'a>(value: &'a Value, all: &mut Vec<&'a str>) {
        match value {
            Value::String(text) => all.push(text),
            Value::Array(items) => items.iter().for_each(|item| texts(item, all)),
            Value::Object(map) => map.iter().for_each(|(key, value)| {
                all.push(key);
                texts(value, all);
            }),
            _ => {}
        }
    }

    fn holds(value: &Value, secret: &str) -> bool {
        let mut all = Vec::new();
        texts(value, &mut all);
        all.iter().any(|text| text.contains(secret))
    }

    #[test]
    fn a_clean_record_stays_as_it_is() {
        for bytes in RECORDS {
            let before = read(bytes).unwrap().record;
            let mut after = before.clone();
            Redactor::new(["hunter2secret"]).clean(&mut after);
            assert_eq!(before, after);
        }
    }

    #[test]
    fn every_place_of_a_record_is_cleaned_and_it_can_be_read() {
        let secret = "hunter2secret";
        let redactor = Redactor::new([secret]);
        let all = with(RECORDS[0], secret);
        assert!(all.len() > 100, "{}", all.len());
        for (place, mut record) in all {
            let fit = read(&serde_json::to_vec(&record).unwrap()).is_ok();
            redactor.clean(&mut record);
            let written = serde_json::to_value(&record).unwrap();
            assert!(!holds(&written, secret), "place {place}: {written}");
            assert!(!fit || read(&serde_json::to_vec(&record).unwrap()).is_ok(), "place {place}");
        }
    }

    #[test]
    fn perftrails_own_words_stay() {
        let mut record = read(RECORDS[0]).unwrap().record;
        let before = record.clone();
        let redactor = Redactor::new(["cpu_time", "succeeded", "duration", "memory", "schedule"]);
        redactor.clean(&mut record);
        assert!(record.metrics.keys().eq(before.metrics.keys()));
        assert_eq!(record.run.status, before.run.status);
        assert_eq!(record.run.judged, before.run.judged);
        read(&serde_json::to_vec(&record).unwrap()).unwrap();
    }

    #[test]
    fn what_is_too_long_to_be_read_is_cut() {
        let mut record = read(RECORDS[0]).unwrap().record;
        record.steps[0].command = "\u{e9}".repeat(TEXT_MAX);
        Redactor::new([]).clean(&mut record);
        let read = read(&serde_json::to_vec(&record).unwrap()).unwrap().record;
        assert!(read.steps[0].command.ends_with("(cut: 524288 bytes)"));
    }

    #[test]
    fn two_names_that_become_one_are_both_kept() {
        let mut value = serde_json::json!({"hunter2x": 1, "hunter2y": 2, "pin": 123_456_789});
        Redactor::new(["hunter2x", "hunter2y", "123456789"]).value(&mut value);
        assert_eq!(value, serde_json::json!({"___": 1, "____2": 2, "pin": "***"}));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(12))]
        #[test]
        fn whatever_the_secret_is(secret in "[!-~]{2}[@-Z0-9]{6,20}", which in 0_usize..3) {
            let plain: Value = serde_json::from_slice(RECORDS[which]).unwrap();
            prop_assume!(!holds(&plain, &secret));
            let places: Vec<usize> =
                with(RECORDS[which], &secret).into_iter().map(|(place, _)| place).collect();
            let all = planted(&plain, &mut 0, &|at| places.contains(&at), &secret);
            let mut record: Record = serde_json::from_value(all).unwrap();
            Redactor::new([secret.as_str()]).clean(&mut record);
            let written = serde_json::to_value(&record).unwrap();
            prop_assert!(!holds(&written, &secret), "{written}");
        }

        #[test]
        fn series_too(secret in "[!-~]{8,20}") {
            let series = |name: &str| Series {
                name: name.to_owned(),
                unit: Unit::Other(secret.clone()),
                source: SeriesSource::Reported,
                x_name: Some(format!("x{secret}")),
                t: vec![],
                x: vec![secret.clone()],
                value: vec![1.0],
                min: vec![],
                max: vec![],
            };
            let mut file = SeriesFile { version: 1, series: vec![series(&secret), series("plain")] };
            Redactor::new([secret.as_str()]).clean_series(&mut file);
            prop_assert!(!holds(&serde_json::to_value(&file).unwrap(), &secret));
        }
    }
}

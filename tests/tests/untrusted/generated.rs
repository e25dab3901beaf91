//! Generated modules: random ones from wasm-smith, mutants from wasm-mutate, and broken valid modules.

use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::time::Instant;

use arbitrary::Unstructured;
use tollgate_compiler::emit::emit;
use tollgate_compiler::{CompileOptions, compile};
use tollgate_guest_abi::imports::{IMPORTS, ValueType};
use tollgate_model::assessment::{RuleFailure, RuleOutcome};
use tollgate_tests::generator::dice::Dice;
use tollgate_tests::{proof, repository};
use wasm_mutate::WasmMutate;
use wasm_smith::Config;

use super::bench::Bench;
use super::breaker;
use super::guest::{self, Expected, assembled, manifest_of, with_manifest};
use super::second_reader;

/// Number of modules after which a bench is replaced, because a history keeps its lookups.
const MODULES_PER_BENCH: usize = 500;
/// Maximum number of random bytes per module.
const ENTROPY_BYTES_MAX: usize = 4_096;
/// Maximum number of wasm-mutate steps per module.
const MUTATION_FUEL: u64 = 300;

/// Number of modules by outcome.
type Counts = BTreeMap<String, usize>;

#[test]
fn generated_modules_are_refused_or_bounded_and_always_give_the_same_answer() {
    let seeds = proof::share(proof::rounds(2_000, 1_000_000));
    let factory = Factory::new();
    let (mut counts, mut n_accepted, start) = (Counts::new(), 0, Instant::now());
    let n_seeds = seeds.len();
    let mut benches = [Bench::new(), Bench::new()];
    for (n, seed) in seeds.enumerate() {
        if n > 0 && n.is_multiple_of(MODULES_PER_BENCH) {
            benches = [Bench::new(), Bench::new()];
        }
        let (source, bytes) = factory.module(seed as u64);
        let result = judged(&mut benches, &bytes, seed);
        n_accepted += usize::from(result.starts_with("accepted"));
        *counts.entry(format!("{source}, {result}")).or_default() += 1;
    }
    let seconds = start.elapsed().as_secs_f64();
    for (what, count) in &counts {
        println!("{count:>9}  {what}");
    }
    println!(
        "{n_seeds} modules, {n_accepted} accepted, {:.2} ms each, 0 panics, 0 differences, 0 violations",
        seconds * 1e3 / n_seeds as f64
    );
    assert!(
        n_accepted * 20 > n_seeds,
        "only {n_accepted} of {n_seeds} were let in: too few to prove anything"
    );
}

/// Returns the outcome of one module, which must be equal in both sandboxes.
fn judged(benches: &mut [Bench; 2], bytes: &[u8], seed: usize) -> String {
    let results = benches.each_mut().map(|bench| {
        let rule_set = bench.rule_set(&[bytes.to_vec()])?;
        let first = bench.outcomes(&rule_set);
        assert_eq!(first, bench.outcomes(&rule_set), "seed {seed}: another answer in the same sandbox");
        Ok::<_, super::bench::Refused>(first)
    });
    let [first, second] = results;
    assert_eq!(first, second, "seed {seed}: another answer in another sandbox");
    match first {
        Err(checks) => format!("refused: {}", checks.first().map_or("", String::as_str)),
        Ok(outcomes) => {
            let violations = second_reader::violations(bytes);
            assert_eq!(violations, [], "seed {seed} was let in");
            match outcomes.as_slice() {
                [RuleOutcome::Matched] => "accepted: matched".to_owned(),
                [RuleOutcome::MatchedSaying(said)] => {
                    assert!(said.score.is_none_or(|score| (0.0..=1.0).contains(&score)), "seed {seed}");
                    "accepted: matched, and said so".to_owned()
                }
                [RuleOutcome::NotMatched] => "accepted: not matched".to_owned(),
                [RuleOutcome::Failed(failure)] => {
                    assert_ne!(*failure, RuleFailure::Internal, "seed {seed}: the host broke");
                    format!("accepted: {}", failure.as_str())
                }
                other => panic!("seed {seed}: {other:?} of one rule"),
            }
        }
    }
}

/// Creates modules from seeds.
struct Factory {
    /// Admitted modules: compiled scripts and part of the corpus.
    good: Vec<Vec<u8>>,
    /// Imports available to wasm-smith.
    imports: Vec<u8>,
    /// Required exports, with and without a memory.
    exports: [Vec<u8>; 2],
}

impl Factory {
    fn new() -> Self {
        let imports: String = IMPORTS
            .iter()
            .map(|row| {
                let types = |types: &[ValueType]| types.iter().map(word).collect::<Vec<_>>().join(" ");
                let (params, result) = (types(row.params), types(row.result.as_slice()));
                format!("(import \"tollgate\" \"{}\" (func (param {params}) (result {result})))", row.name)
            })
            .collect();
        let evaluate = r#"(func (export "evaluate") (result i64) (i64.const 0))"#;
        let exports = ["", r#"(memory (export "memory") 1 16)"#];
        Self {
            good: good_modules(),
            imports: assembled("the imports", &format!("(module {imports})")),
            exports: exports.map(|memory| assembled("the exports", &format!("(module {memory} {evaluate})"))),
        }
    }

    /// Returns the module of a seed and its origin.
    fn module(&self, seed: u64) -> (&'static str, Vec<u8>) {
        let mut dice = Dice::of_seed(seed);
        match dice.below(10) {
            0..=2 => ("smith, in shape", self.smith(&mut dice, true)),
            3 => ("smith, at large", self.smith(&mut dice, false)),
            4..=6 => ("mutate", self.mutated(&mut dice, seed)),
            _ => ("broken", breaker::broken(&self.good, &mut dice)),
        }
    }

    fn smith(&self, dice: &mut Dice, in_shape: bool) -> Vec<u8> {
        let n_bytes = 64 + dice.below(ENTROPY_BYTES_MAX);
        let entropy: Vec<u8> = (0..n_bytes).map(|_| (dice.roll() >> 24) as u8).collect();
        let config = if in_shape { self.in_shape(dice) } else { Config::default() };
        // Random bytes that do not form a module are used unchanged.
        let module = wasm_smith::Module::new(config, &mut Unstructured::new(&entropy));
        let module = module.map_or(entropy, |module| module.to_bytes());
        with_manifest(&module, manifest_of("smith").to_string().as_bytes())
    }

    /// Returns a configuration that mostly stays within the documented limits.
    fn in_shape(&self, dice: &mut Dice) -> Config {
        let has_memory = dice.chance(70);
        Config {
            available_imports: Some(self.imports.clone()),
            exports: Some(self.exports[usize::from(has_memory)].clone()),
            allow_start_export: dice.chance(2),
            max_imports: 16,
            max_types: 24,
            max_funcs: 12,
            max_globals: 16,
            max_instructions: 200,
            max_data_segments: if has_memory { 10 } else { 0 },
            max_element_segments: 10,
            max_memories: usize::from(has_memory),
            max_memory32_bytes: 16 * 65_536,
            max_table_elements: 1_024,
            memory_max_size_required: dice.chance(50),
            table_max_size_required: dice.chance(50),
            bulk_memory_enabled: true,
            exceptions_enabled: false,
            extended_const_enabled: false,
            gc_enabled: false,
            memory64_enabled: false,
            multi_value_enabled: dice.chance(5),
            reference_types_enabled: false,
            relaxed_simd_enabled: false,
            simd_enabled: false,
            tail_call_enabled: false,
            threads_enabled: false,
            ..Config::default()
        }
    }

    fn mutated(&self, dice: &mut Dice, seed: u64) -> Vec<u8> {
        let mut module = self.good[dice.below(self.good.len())].clone();
        for round in 0..=dice.below(3) {
            let Some(next) = mutant(&module, seed + round as u64, dice.chance(30)) else { break };
            module = next;
        }
        module
    }
}

/// Returns a mutant of a module; `None` if wasm-mutate fails or panics.
fn mutant(module: &[u8], seed: u64, preserves_semantics: bool) -> Option<Vec<u8>> {
    let mut mutate = WasmMutate::default();
    mutate.seed(seed).fuel(MUTATION_FUEL).preserve_semantics(preserves_semantics);
    panic::catch_unwind(AssertUnwindSafe(|| mutate.run(module).ok()?.next()?.ok())).ok()?
}

const fn word(value_type: &ValueType) -> &'static str {
    match value_type {
        ValueType::I32 => "i32",
        ValueType::F64 => "f64",
    }
}

/// Returns the modules of the example rules and the admitted modules of the corpus.
fn good_modules() -> Vec<Vec<u8>> {
    let guests = guest::of_files().into_iter();
    let let_in = guests.filter(|guest| !matches!(guest.expected, Expected::Refused(_)));
    of_scripts().chain(let_in.map(|guest| guest.bytes)).collect()
}

/// Returns the modules of the example rules.
pub(crate) fn of_scripts() -> impl Iterator<Item = Vec<u8>> {
    repository::files("rules", ".ws").into_iter().map(|path| {
        let rule = compile(&repository::read(&path), &CompileOptions::default()).rule;
        let rule = rule.unwrap_or_else(|| panic!("{} does not compile", repository::relative(&path)));
        emit(&[rule]).unwrap().bytes
    })
}

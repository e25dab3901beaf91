//! Hostile scripts: each gets a diagnostic with a location, within a time limit and on a small stack.
#![expect(clippy::unwrap_used, reason = "a test says by panicking what is wrong")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tollgate_compiler::{Code, Compilation, CompileOptions, Severity, compile};
use tollgate_guest_abi::limits::{
    LIST_ITEMS_MAX, NESTING_MAX, NODES_MAX, PATTERN_BYTES_MAX, PATTERNS_MAX, SCRIPT_BYTES_MAX,
};
use tollgate_guest_abi::{ABI_VERSION, Condition, Cost, Manifest, Needs, Operand, Semantics};

/// The documented stack size.
const STACK_BYTES: usize = 256 * 1024;
/// Time limit for a release build; debug builds get more. The fastest of several runs counts, because the machine may
/// be busy.
const TIME_MAX: Duration = Duration::from_millis(if cfg!(debug_assertions) { 200 } else { 50 });
const N_RUNS: usize = 8;

fn with_condition(condition: &str) -> String {
    format!("rule Hostile {{ when {condition} then review }}")
}

fn compile_on_small_stack(script: String) -> (Compilation, Duration) {
    let run = move || {
        let mut best = Duration::MAX;
        let mut compilation = None;
        for _ in 0..N_RUNS {
            let start = Instant::now();
            compilation = Some(compile(&script, &CompileOptions::default()));
            best = best.min(start.elapsed());
            if best < TIME_MAX {
                break;
            }
        }
        (compilation.unwrap(), best)
    };
    std::thread::Builder::new().stack_size(STACK_BYTES).spawn(run).unwrap().join().unwrap()
}

/// Asserts that the script is refused with exactly these errors.
#[track_caller]
fn check(name: &str, script: String, codes: &[Code]) {
    let (compilation, elapsed) = compile_on_small_stack(script);
    let found: Vec<Code> = compilation
        .diagnostics
        .iter()
        .filter(|diagnostic| diagnostic.severity == Severity::Error)
        .map(|diagnostic| diagnostic.code)
        .collect();
    assert_eq!(found, codes, "{name}: {:?}", compilation.diagnostics.first());
    assert_eq!(compilation.rule.is_none(), !codes.is_empty(), "{name}");
    assert!(elapsed < TIME_MAX, "{name} took {elapsed:?}");
}

#[test]
fn a_script_over_its_limit_is_not_even_read() {
    check("10 MB of blanks", " ".repeat(10_000_000), &[Code::ScriptTooLong]);
    check("100,000 parentheses", with_condition(&"(".repeat(100_000)), &[Code::ScriptTooLong]);
    check("10 MB of line ends", "\n".repeat(10_000_000), &[Code::ScriptTooLong]);
    check("wide characters", "€".repeat(SCRIPT_BYTES_MAX), &[Code::ScriptTooLong]);
}

#[test]
fn depth_without_end_is_one_complaint() {
    let n = SCRIPT_BYTES_MAX / 8;
    for (name, piece) in [
        ("parentheses", "("),
        ("not", "not "),
        ("signs", "-"),
        ("signs apart", "- "),
        ("not and parentheses", "not ("),
        ("alternating", "(a == 1 and ("),
        ("arithmetic", "1 + (2 * ("),
        ("comparisons", "1 == ("),
        ("all of it", "(a == 1 and 1 == 1 + 1 * ("),
        ("signs and not", "- not "),
    ] {
        let condition = piece.repeat(n.min(60_000 / piece.len()));
        check(name, with_condition(&condition), &[Code::NestedTooDeeply]);
    }
}

#[test]
fn deep_but_allowed_nesting_fits_a_small_stack() {
    for (open, core, close) in [
        ("(", "amount == 1", ")"),
        ("not ", "amount == 1", ""),
        ("(amount != 2 and 1 == 1 + 1 * (", "amount", "))"),
    ] {
        let n = NESTING_MAX / open.matches(['(', 'n']).count().max(1);
        let condition = format!("{}{core}{}", open.repeat(n), close.repeat(n));
        let (compilation, elapsed) = compile_on_small_stack(with_condition(&condition));
        assert!(
            compilation.diagnostics.iter().all(|diagnostic| diagnostic.code != Code::MissingClosingBrace)
        );
        assert!(elapsed < TIME_MAX, "{open}");
    }
    let alternating = "(amount == 1 or (amount == 2 and ".repeat(20) + "amount == 3" + &"))".repeat(20);
    check("alternating", with_condition(&alternating), &[]);
}

#[test]
fn long_stretches_of_anything_do_not_lead_deeper() {
    for piece in [
        " ",
        "\n",
        "\r\n \t",
        "# nothing\n",
        "//\n",
        "#é\n",
        "é",
        "日本",
        "x",
        "_1",
        "5",
        "5.",
        "é ",
        "\u{feff}",
        "@",
        "\\",
        "\\\"",
        "\u{1f600}",
    ] {
        let flood = piece.repeat(60_000 / piece.len());
        let (good, _) = compile_on_small_stack(format!("# {flood}\n{}", with_condition("amount > 5")));
        let is_good = good.rule.is_some();
        assert!(is_good || piece.contains('\n') || piece == "\u{feff}", "{piece:?} in a comment");
        let (in_string, _) = compile_on_small_stack(with_condition(&format!("source == '{flood}'")));
        assert!(in_string.rule.is_some() || piece.starts_with('\\'), "{piece:?} in a string");
        let (bare, elapsed) = compile_on_small_stack(flood);
        assert!(bare.rule.is_none() && !bare.diagnostics.is_empty(), "{piece:?} alone");
        assert!(elapsed < TIME_MAX, "{piece:?} took {elapsed:?}");
    }
}

#[test]
fn nested_calls_are_one_complaint_each_not_one_per_level() {
    let calls = "count(when ".repeat(5_000);
    check("aggregates", with_condition(&calls), &[Code::HistoryInsideFilter, Code::MalformedAggregate]);
    let calls = "hour_of_day(".repeat(5_000);
    check("time functions", with_condition(&calls), &[Code::MalformedTimeCall]);
    let calls = "foo(".repeat(10_000);
    check("unknown functions", with_condition(&calls), &[Code::UnknownFunction]);
}

#[test]
fn long_chains_do_not_lead_deeper() {
    let chain = |n: usize, word: &str| {
        let tests: Vec<String> = (0..n).map(|i| format!("amount != {i}")).collect();
        tests.join(word)
    };
    check("and", with_condition(&chain(1_300, " and ")), &[]);
    check("too long", with_condition(&chain(NODES_MAX / 2, " and ")), &[Code::ConditionTooLarge]);
    let sum = vec!["amount"; NODES_MAX / 2 - 2].join("+");
    check("sum", with_condition(&format!("{sum} > 5")), &[Code::NestedTooDeeply]);
    let same = vec!["amount == 1"; 1_300].join(" and ");
    check("the same test over and over", with_condition(&same), &[]);
}

#[test]
fn lists_have_an_end() {
    let items = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(",");
    check("full", with_condition(&format!("amount in ({})", items(LIST_ITEMS_MAX))), &[]);
    let over = format!("amount in ({})", items(LIST_ITEMS_MAX + 1));
    check("over", with_condition(&over), &[Code::ListTooLong]);
    let open = format!("amount in ({}", items(12_000));
    check("open", with_condition(&open), &[Code::ListTooLong]);
}

#[test]
fn patterns_are_bounded_before_they_are_searched_with() {
    for (name, pattern) in [
        ("nested repetition", "(?:a{1000}){1000}".to_owned()),
        ("unicode classes", r"(?:\w{50}){50}".to_owned()),
        ("deep groups", format!("{}a{}", "(".repeat(200), ")".repeat(200))),
        ("long", "a".repeat(PATTERN_BYTES_MAX + 1)),
        ("look-ahead", "(?=a)".to_owned()),
        ("look-behind", "(?<!a)b".to_owned()),
        ("back-reference", r"(a)\1".to_owned()),
    ] {
        let condition = format!("description regex \"{pattern}\"");
        check(name, with_condition(&condition), &[Code::PatternRefused]);
    }
    // Exponential for a backtracking engine; this one is linear.
    check("catastrophic", with_condition("description regex \"(a+)+$\""), &[]);
    let many: Vec<String> =
        (0..=PATTERNS_MAX).map(|i| format!("description regex \"x{{{}}}\"", 100 + i)).collect();
    check("many", with_condition(&many.join(" or ")), &[Code::TooManyPatterns]);
}

#[test]
fn direction_and_control_characters_are_refused_everywhere() {
    let turning =
        "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
    let control = "\0\u{1}\u{8}\u{b}\u{c}\u{e}\u{1b}\u{1f}\u{7f}\u{80}\u{85}\u{9f}";
    let separators = "\u{2028}\u{2029}";
    for character in turning.chars().chain(control.chars()).chain(separators.chars()) {
        let name = format!("U+{:04X}", u32::from(character));
        let refused = [Code::ForbiddenCharacter];
        check(&name, with_condition(&format!("amount {character} > 5")), &refused);
        check(
            &name,
            with_condition(&format!("amo{character}unt > 5")),
            &[Code::ForbiddenCharacter, Code::ExpectedConnective],
        );
        check(&name, with_condition(&format!("currency == \"U{character}SD\"")), &refused);
        check(&name, with_condition(&format!("amount > 5 // {character}\n")), &refused);
        check(&name, format!("{}{character}", with_condition("amount > 5")), &refused);
    }
    let many = "amount > 5 /* ".to_owned() + &"\u{202e}x".repeat(10_000);
    let (compilation, elapsed) = compile_on_small_stack(with_condition(&many));
    assert!(compilation.diagnostics.len() <= 2 * tollgate_compiler::DIAGNOSTICS_MAX + 1);
    assert!(elapsed < TIME_MAX, "{elapsed:?}");
}

#[test]
fn look_alike_letters_are_no_letters() {
    // Contains a Cyrillic а in place of the Latin one.
    check(
        "look-alike field",
        with_condition("\u{430}mount > 5"),
        &[Code::UnexpectedCharacter, Code::ExpectedConnective],
    );
    check("zero-width joiner", with_condition("amo\u{200d}unt > 5"), &[Code::UnexpectedCharacter]);
}

#[test]
fn numbers_have_one_form() {
    for number in ["1e400", "1e3", "1E3", "1_000", "0x10", "5.", "1.2.3", "1.5e3", "12abc", "1.", "0b1"] {
        check(number, with_condition(&format!("amount > {number}")), &[Code::MalformedNumber]);
    }
    check(".5", with_condition("amount > .5"), &[Code::ExpectedOperand]);
    check("+5", with_condition("amount > +5"), &[Code::ExpectedOperand]);
    let digits = |n: usize| "7".repeat(n);
    check("39 digits", with_condition(&format!("amount > {}", digits(39))), &[Code::NumberTooLong]);
    check("60,000 digits", with_condition(&format!("amount > {}", digits(60_000))), &[Code::NumberTooLong]);
    check("38 digits", with_condition(&format!("amount > {}", digits(38))), &[]);
    check("zeros", with_condition(&format!("amount > {}1", "0".repeat(1_000))), &[]);
    for number in ["-0", "- 5", "0.10", "03", "-0.5", "--5"] {
        check(number, with_condition(&format!("amount > {number}")), &[]);
    }
}

#[test]
fn windows_lie_between_a_second_and_400_days() {
    for window in ["PT1S", "P400D", "PT15M", "PT24H", "P1DT12H", "PT1H30M", "PT34560000S", "P399DT23H59M60S"]
    {
        check(window, with_condition(&format!("count(when amount > 1, \"{window}\") > 5")), &[]);
    }
    for window in [
        "",
        "P",
        "PT",
        "PT0S",
        "P0D",
        "P401D",
        "P999999D",
        "PT34560001S",
        "P99999999999999999999D",
        "-P1D",
        "P-1D",
        "+P1D",
        "P1W",
        "P1M",
        "P1Y",
        "PT1.5H",
        "pt1h",
        "PT1h",
        "1h",
        "1D",
        "PT1H ",
        " PT1H",
        "P1D2H",
        "PT1M1H",
        "P١D",
    ] {
        let script = with_condition(&format!("count(when amount > 1, \"{window}\") > 5"));
        check(window, script, &[Code::MalformedWindow]);
    }
}

#[test]
fn a_flood_of_mistakes_is_cut_off() {
    for piece in [
        "@ ", "\"a\" ", "= ", ") ", "$ ", ". ", "{ ", "} ", ", ", "1e5 ", "and ", "'", "\" ", "count(", "x.",
        "é",
    ] {
        let script = with_condition(&piece.repeat(60_000 / piece.len()));
        let (compilation, elapsed) = compile_on_small_stack(script);
        let n = compilation.diagnostics.len();
        assert!(n <= 2 * tollgate_compiler::DIAGNOSTICS_MAX + 1, "{piece}: {n}");
        assert!(compilation.rule.is_none(), "{piece}");
        assert!(elapsed < TIME_MAX, "{piece} took {elapsed:?}");
    }
    let mut lines = String::new();
    for i in 0..2_000 {
        writeln!(lines, "and amount{i} === {i}").unwrap();
    }
    let (compilation, elapsed) = compile_on_small_stack(with_condition(&format!("amount > 1 {lines}")));
    let codes: Vec<Code> = compilation.diagnostics.iter().map(|diagnostic| diagnostic.code).collect();
    assert!(codes.contains(&Code::TooManyErrors));
    assert!(elapsed < TIME_MAX, "{elapsed:?}");
}

#[test]
fn hostile_names_are_data() {
    for key in [
        "'; DROP TABLE transactions; --",
        "$.a[*]",
        "a\\\"b",
        "%s%n",
        "/etc/passwd",
        "“quoted”",
        "a b",
        "ключ",
        "\u{200b}",
    ] {
        let script = with_condition(&format!(
            "previous_transaction(within: \"PT1H\", match: {{ \"meta_data.{key}\": 1 }})"
        ));
        check(key, script, &[]);
    }
    let long = "k".repeat(10_240);
    check("10 KiB", with_condition(&format!("metadata.{long} == 1")), &[]);
}

/// The manifest contains filters as JSON, and JSON readers limit the depth: every rule that compiles must be readable.
#[test]
fn the_deepest_filter_that_compiles_can_be_read_back() {
    let junctions = |n: usize| {
        let open = "(amount == 1 or (amount == 2 and ".repeat(n);
        format!("{open}amount == 3{}", "))".repeat(n))
    };
    let sums = |n: usize| format!("amount {}> 5", "+ amount ".repeat(n));
    let negations = |n: usize| format!("{}amount == 1{}", "not (amount == 2 or ".repeat(n), ")".repeat(n));
    let mut deepest = [0; 3];
    for n in 1..NESTING_MAX {
        for (deepest, filter) in deepest.iter_mut().zip([junctions(n), sums(n), negations(n)]) {
            let script = with_condition(&format!("count(when {filter}, \"PT1H\") > 5"));
            let (compilation, _) = compile_on_small_stack(script);
            let Some(rule) = compilation.rule else {
                continue;
            };
            *deepest = n;
            let Condition::Compare { left: Operand::Aggregate(spec), .. } = &rule.when else {
                panic!("not a count: {rule:?}");
            };
            let manifest = Manifest {
                semantics: Semantics::CURRENT,
                abi_version: ABI_VERSION,
                rules: vec![rule.entry.clone()],
                needs: Needs { aggregates: vec![(**spec).clone()], ..Needs::default() },
                cost: Cost::default(),
            };
            assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest), "{n}: {filter}");
            let json = serde_json::to_string(&rule).unwrap();
            assert!(serde_json::from_str::<serde_json::Value>(&json).is_ok(), "{n}: {filter}");
        }
    }
    assert_eq!(deepest, [26, 52, 26]);
}

//! Finds functions, their start and end, and tests as `rustfmt` lays them out.

/// A function in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    /// Line of its `fn`, from 1.
    pub(crate) line: usize,
    /// Number of lines from its `fn` to its closing brace.
    pub(crate) n_lines: usize,
}

/// Returns every function of a formatted file. A function ends at the first closing brace in the column of its `fn`
/// line.
pub(crate) fn functions(text: &str) -> Vec<Function> {
    let lines: Vec<&str> = text.lines().collect();
    let mut functions = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = name(line) else { continue };
        let indent = line.len() - line.trim_start().len();
        let closing = format!("{}}}", " ".repeat(indent));
        let is_whole = line.ends_with('}') || line.ends_with(';');
        let rest = if is_whole {
            0
        } else {
            lines.iter().skip(start).position(|line| *line == closing).unwrap_or(0)
        };
        functions.push(Function { name, line: start + 1, n_lines: rest + 1 });
    }
    functions
}

/// Returns every test of a formatted file: the first function below each test attribute, also within `proptest!`.
pub(crate) fn tests(text: &str) -> Vec<Function> {
    let mut functions = functions(text).into_iter();
    let attributes = (1..).zip(text.lines()).filter(|(_, line)| is_test_attribute(line));
    attributes.filter_map(|(at, _)| functions.find(|function| function.line > at)).collect()
}

fn is_test_attribute(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("#[test]") || line.starts_with("#[tokio::test")
}

/// Returns the name after `fn` on a line that starts a function.
fn name(line: &str) -> Option<String> {
    let mut words = line.split_whitespace().skip_while(|word| {
        ["pub", "const", "async", "unsafe", "extern", "\"C\"", "super)", "crate)"].contains(word)
            || word.starts_with("pub(")
    });
    let name = (words.next()? == "fn").then(|| words.next())??;
    Some(name.split(['(', '<']).next()?.to_owned())
}

#[test]
fn functions_are_measured_to_their_closing_brace() {
    let text = "fn short() {}\n\nimpl A {\n    pub(crate) async fn long(\n        a: u8,\n    ) -> u8 {\n        if a {\n        }\n    }\n\n    fn declared();\n}\n";
    let function = |name: &str, line, n_lines| Function { name: name.to_owned(), line, n_lines };
    assert_eq!(
        functions(text),
        [function("short", 1, 1), function("long", 4, 6), function("declared", 11, 1)]
    );
}

#[test]
fn tests_are_the_functions_below_their_attributes() {
    let text = "#[test]\n// A comment.\nfn plain() {}\n\nfn helper() {}\n\n    #[tokio::test(flavor = \"multi_thread\")]\n    async fn asynchronous() {\n    }\n\nproptest! {\n    #[test]\n    fn drawn(number in 0..9) {\n    }\n}\n";
    let names: Vec<String> = tests(text).into_iter().map(|test| test.name).collect();
    assert_eq!(names, ["plain", "asynchronous", "drawn"]);
}

//! `tollgate import`: every row of a file gets the verdict of an inject, whatever ends the import or the service.

mod history_only;
mod speed;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};
use tollgate_tests::{Home, Service, poll, proof, repository, sample};

/// Reviews all but the first `LIMIT` payments of an account.
const LIMITED: &str = r#"rule limited {
    when count(when source == $current.source, "PT1H") >= 40
    then review score 0.5 reason "too many"
}"#;
/// Payments of an account that [`LIMITED`] approves.
const LIMIT: usize = 40;
/// Accounts that pay in turn.
const N_ACCOUNTS: usize = 10;

fn transaction(number: usize) -> Value {
    sample::with(
        &sample::transaction(&format!("t{number}")),
        &json!({"source": format!("account-{}", number % N_ACCOUNTS), "created_at": "2026-03-02T10:00:00Z"}),
    )
}

/// Writes this number of payments, one on each line.
fn write_payments(home: &Home, n_payments: usize) -> PathBuf {
    let lines: String = (1..=n_payments).map(|number| format!("{}\n", transaction(number))).collect();
    write(home, "payments.ndjson", lines)
}

fn write(home: &Home, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let path = home.at(name);
    fs::write(&path, content).unwrap();
    path
}

fn command(home: &Home, service: &Service, options: &[&str], files: &[&Path]) -> Command {
    let url = format!("http://{}", service.address());
    let mut command = home.command(&[&["import", "--url", &url], options].concat());
    command.args(files);
    command
}

fn run(home: &Home, service: &Service, options: &[&str], files: &[&Path]) -> Output {
    command(home, service, options, files).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[track_caller]
fn check(output: &Output, code: i32, words: &[&str]) {
    let said = said(output);
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "no {word:?} in:\n{said}");
    }
}

fn is_stored(service: &Service, number: usize) -> bool {
    service.get(&format!("/transactions/t{number}")).status == 200
}

#[test]
fn rows_of_every_format_are_judged_as_injects_are() {
    let home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let service = Service::start(&home);
    let lines = |numbers: std::ops::Range<usize>| -> String {
        numbers.map(|number| format!("{}\n", transaction(number))).collect()
    };
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(lines(200..400).as_bytes()).unwrap();
    let table = "Id;Value;currency;reference;source;created_at;Device;remark\n\
                 t400;10.50;EUR;\"a; b\";account-0;2026-03-02T10:00:00Z;d-1;x\n";
    let files = [
        write(&home, "a.ndjson", lines(0..200)),
        write(&home, "b.jsonl.gz", gzip.finish().unwrap()),
        write(&home, "c.csv", table),
    ];
    let paths: Vec<&Path> = files.iter().map(PathBuf::as_path).collect();
    let columns = "transaction_id=Id,amount=Value,meta_data.device_id=Device";
    let options = ["--delimiter", ";", "--columns", columns];
    let words = ["a.ndjson: 200 rows", "b.jsonl.gz: 200 rows", "c.csv: 1 rows", "200 approve", "1 review"];
    check(&run(&home, &service, &options, &paths), 0, &words);
    let stored = service.get("/transactions/t400").json();
    assert_eq!(
        (&stored["amount"], &stored["meta_data"]["device_id"], &stored["reference"]),
        (&json!(10.50), &json!("d-1"), &json!("a; b")),
        "{stored}"
    );
    // Each verdict is that of an inject of the same payment, which gets it again.
    let answer = service.inject(&transaction(399)).json();
    assert_eq!(answer["verdict"], "approve", "{answer}");
    assert!(files.iter().all(|file| !Path::new(&format!("{}.import", file.display())).exists()));
    check(&run(&home, &service, &options, &paths), 0, &words);
}

/// Files that pyarrow 26, DuckDB 2.0 and Polars 2.1 wrote.
#[test]
fn parquet_files_of_other_programs_are_imported() {
    let home = Home::new();
    let service = Service::start(&home);
    for (writer, id, pointer, expected) in [
        ("pyarrow", "pa-2", "/amount", json!(7.0)),
        ("pyarrow", "pa-1", "/meta_data/place/country", json!("DE")),
        ("pyarrow", "pa-1", "/created_at", json!("2026-03-02T10:00:00.123456Z")),
        ("duckdb", "00000000-0000-4000-8000-000000000002", "/meta_data/born", json!("1970-01-02")),
        ("polars", "pl-1", "/amount", json!(3.1)),
    ] {
        let recorded = repository::root().join(format!("tests/recordings/parquet/{writer}.parquet"));
        let file = write(&home, &format!("{writer}.parquet"), fs::read(recorded).unwrap());
        let output = run(&home, &service, &[], &[&file]);
        check(&output, 0, &[&format!("{writer}.parquet: ")]);
        assert_eq!(
            service.get(&format!("/transactions/{id}")).json().pointer(pointer),
            Some(&expected),
            "{id}"
        );
    }
}

#[test]
fn broken_rows_are_named_by_their_lines_and_no_other_is_lost() {
    let home = Home::new();
    let service = Service::start(&home);
    let n_rows = 2_000;
    let lines: String = (1..=n_rows)
        .map(|number| match number % 4 {
            0 => "{\n".to_owned(),
            2 => "\n".to_owned(),
            _ => format!("{}\n", transaction(number)),
        })
        .collect();
    let file = write(&home, "payments.ndjson", lines);
    for (options, verdict) in [(&["--dry-run"][..], "valid"), (&[], "approve")] {
        let output = run(&home, &service, options, &[&file]);
        check(&output, 1, &["1500 rows", &format!("1000 {verdict}, 500 refused")]);
        let said = said(&output);
        for number in (4..=n_rows).step_by(4) {
            assert!(said.contains(&format!("payments.ndjson:{number}: ")), "row {number} is not named");
        }
        assert_eq!(is_stored(&service, 1), options.is_empty());
    }
    assert!((1..=n_rows).filter(|number| number % 2 == 1).all(|number| is_stored(&service, number)));
}

#[test]
fn rows_without_an_id_get_the_same_one_whenever_they_are_sent() {
    let home = Home::new();
    let service = Service::start(&home);
    let row = r#"{"amount": 1, "currency": "EUR", "reference": "r"}"#;
    let file = write(&home, "payments.ndjson", format!("\n{row}\n{row}\n"));
    check(
        &run(&home, &service, &[], &[&file]),
        1,
        &["payments.ndjson:2: `transaction_id` is missing", "2 refused"],
    );
    check(&run(&home, &service, &["--dry-run"], &[&file]), 1, &["`transaction_id` is missing", "2 refused"]);
    for _ in 0..2 {
        check(&run(&home, &service, &["--key", "file 7"], &[&file]), 0, &["2 approve"]);
    }
    for (id, status) in [("file%207:2", 200), ("file%207:3", 200), ("file%207:1", 404), ("file%207:4", 404)] {
        assert_eq!(service.get(&format!("/transactions/{id}")).status, status, "{id}");
    }
}

#[test]
fn an_import_that_is_killed_goes_on_without_loss_or_doubling() {
    let home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let service = Service::start(&home);
    let n_rows = proof::rounds(3_000, 10_000_000);
    let file = write_payments(&home, n_rows);
    for part in [n_rows / 3, 2 * n_rows / 3] {
        let mut import = command(&home, &service, &[], &[&file]).spawn().unwrap();
        poll::until("rows are stored", std::time::Duration::from_secs(3_600), || is_stored(&service, part));
        import.kill().unwrap();
        import.wait().unwrap();
    }
    let output = run(&home, &service, &[], &[&file]);
    let (approved, reviewed) = (N_ACCOUNTS * LIMIT, n_rows - N_ACCOUNTS * LIMIT);
    check(&output, 0, &[&format!("{approved} approve, {reviewed} review")]);
    if proof::is_full() {
        println!("{}", said(&output));
        check(&output, 0, &["going on after row"]);
    }
}

#[test]
fn an_import_waits_for_a_service_that_is_killed_and_started_again() {
    let mut home = Home::with_rules(&[("limited.ws", LIMITED)]);
    let service = Service::start(&home);
    let port = service.address().rsplit(':').next().unwrap().to_owned();
    let n_rows = proof::rounds(3_000, 200_000);
    let file = write_payments(&home, n_rows);
    let import =
        command(&home, &service, &[], &[&file]).stderr(std::process::Stdio::piped()).spawn().unwrap();
    service.until("rows are stored", || is_stored(&service, n_rows / 3));
    service.kill();
    home.set("SERVICE_PORT", &port);
    let _service = Service::start(&home);
    let output = import.wait_with_output().unwrap();
    let (approved, reviewed) = (N_ACCOUNTS * LIMIT, n_rows - N_ACCOUNTS * LIMIT);
    check(&output, 0, &["trying again after row", &format!("{approved} approve, {reviewed} review")]);
}

#[test]
fn rows_of_which_none_can_be_sent_are_named_without_an_answer() {
    let home = Home::new();
    let service = Service::start(&home);
    let rows = "t,1,EUR,r,\n".repeat(proof::rounds(150_000, 1_000_000));
    let table = write(&home, "payments.csv", format!("transaction_id,amount,currency,reference\n{rows}"));
    let output = run(&home, &service, &[], &[&table]);
    let n_rows = rows.lines().count();
    check(&output, 1, &["payments.csv:2: it has 5 cells, and the first row 4", &format!("{n_rows} refused")]);
    assert_eq!(said(&output).matches("it has 5 cells").count(), n_rows);
}

#[test]
fn a_file_or_a_service_that_is_no_good_ends_the_import_with_the_reason() {
    let home = Home::new();
    let service = Service::start(&home);
    let file = write_payments(&home, 10);
    let table = write(&home, "table.csv", "amount,currency\n1,EUR\n");
    let cut = write(&home, "cut.ndjson.gz", [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0]);
    let unnamed = write(&home, "payments.txt", "");
    let open =
        write(&home, "open.csv", "transaction_id,amount,currency,reference\nt1,1,EUR,r\nt2,1,EUR,\"r\n");
    let local_times = repository::root().join("tests/recordings/parquet/local_times.parquet");
    let parquet = write(&home, "local_times.parquet", fs::read(local_times).unwrap());
    let packed = write(&home, "payments.parquet.gz", "");
    let foreign = write(&home, "foreign.ndjson", "");
    fs::write(home.at("foreign.ndjson.import"), "my own file").unwrap();
    for (path, words) in [
        (&table, "no column has the field `reference`; name one with --columns reference=COLUMN"),
        (&cut, "cut.ndjson.gz: it cannot be read"),
        (&unnamed, "add --format ndjson, --format csv or --format parquet"),
        (&parquet, "its column `created_at` has times without a time zone"),
        (&packed, "a Parquet file is compressed inside; decompress it first"),
        (&home.at("missing.csv"), "missing.csv: it cannot be read"),
        (&home.at("rules"), "it is no regular file"),
        (&open, "the row on line 3 does not end; is a quotation mark not closed?"),
        (&foreign, "foreign.ndjson.import: it is not the progress of an import"),
    ] {
        check(&run(&home, &service, &[], &[path]), 2, &[words]);
    }
    assert!(is_stored(&service, 1), "rows before the one that does not end are imported");
    assert_eq!(fs::read_to_string(home.at("foreign.ndjson.import")).unwrap(), "my own file");
    assert!(!home.at("table.csv.import").exists(), "nothing was imported of it");
    check(&run(&home, &service, &["--key", "k"], &[&file, &table]), 2, &["--key is for one file"]);
    // The service does not judge batches at this address.
    let wrong = format!("http://{}/elsewhere", service.address());
    let output = home.command(&["import", "--url", &wrong]).arg(&file).output().unwrap();
    check(&output, 2, &["status 404", "0 rows have their answer"]);
    let url = format!("http://{}", service.address());
    drop(service);
    let output = home.command(&["import", "--url", &url]).arg(&file).output().unwrap();
    check(&output, 2, &["cannot connect", "the same command goes on"]);
}

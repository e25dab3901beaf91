//! The operator's settings: errors name a remedy, secrets stay hidden, TLS is used as configured.

use std::fs;
use std::process::Command;

use tollgate_tests::postgres::End;
use tollgate_tests::{Home, Service, needs, sample};

use crate::ledger::bank::{Bank, DATABASE, PASSWORD, TABLE, caught_up, ledger_check, number};

#[track_caller]
fn check_refused(dsn: &str, code: i32) {
    let mut home = Home::new();
    home.set("LEDGER_DSN", dsn);
    let refusal = Service::try_start(&home).unwrap_err();
    let said = refusal.log.join("\n");
    assert_eq!(refusal.code, Some(code), "{said}");
    assert!(said.contains("LEDGER_DSN") && said.contains("postgres://user:password@host/database"), "{said}");
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn an_address_that_is_none_stops_the_start_and_is_not_shown() {
    check_refused("mysql://u:canary@host/db", 2);
    check_refused("host=db password=canary", 2);
    check_refused("postgres://u:canary@host:port/db", 1);
    check_refused("postgres://u:canary@host/db?pasword=canary", 1);
}

#[track_caller]
fn check_said(service: &Service, parts: &[&str]) {
    service.until(&format!("`/readyz` speaks of {parts:?}"), || {
        let said = ledger_check(service);
        parts.iter().all(|part| said.contains(part))
    });
    assert_eq!(service.inject(&sample::transaction("meanwhile")).status, 200);
}

#[test]
fn a_table_that_does_not_do_is_named_with_what_to_do_and_found_when_it_does() {
    needs!(PostgreSql);
    let bank = Bank::without_table();
    let service = Service::start(&bank.home());
    check_said(&service, &["there is no table \"transactions\"", "LEDGER_TABLE"]);
    bank.sql("CREATE TABLE transactions (transaction_id text, created_at timestamptz);");
    check_said(&service, &["no column \"amount\"", "LEDGER_COLUMNS", "amount=column"]);
    bank.sql("DROP TABLE transactions;");
    bank.sql(&TABLE.replace("amount numeric", "amount money"));
    check_said(&service, &["\"amount\"", "has type money", "numeric", "LEDGER_COLUMNS"]);
    bank.sql("DROP TABLE transactions;");
    bank.sql(TABLE);
    bank.sql("REVOKE SELECT ON transactions FROM reader;");
    check_said(&service, &["may not read", "GRANT SELECT"]);
    bank.sql("GRANT SELECT ON transactions TO reader; INSERT INTO transactions VALUES ('t', now(), 1, 'EUR', 's', 'd', 'r');");
    service.until("the row is there", || service.transaction("t").status == 200);
    bank.sql("ALTER TABLE transactions RENAME TO moved;");
    check_said(&service, &["not read", "LEDGER_TABLE", "read up to"]);
    bank.sql("ALTER TABLE moved RENAME TO transactions; INSERT INTO transactions VALUES ('u', now(), 1, 'EUR', 's', 'd', 'r');");
    service.until("the next row is there", || service.transaction("u").status == 200);
    assert_eq!(service.stop().0.code(), Some(0));
}

#[test]
fn the_ledger_is_only_read_and_a_user_who_may_not_see_transactions_is_reported() {
    needs!(PostgreSql);
    let bank = Bank::open();
    bank.sql("GRANT ALL ON transactions TO reader; REVOKE pg_read_all_stats FROM reader;");
    let service = Service::start(&bank.home());
    caught_up(&service);
    let settings = "SELECT DISTINCT application_name FROM pg_stat_activity WHERE usename = 'reader';";
    assert_eq!(bank.sql(settings), "tollgate");
    let reported = |line: &str| line.contains("GRANT pg_read_all_stats TO it").then_some(());
    assert!(service.log().lines().iter().any(|line| reported(line).is_some()));
    assert_eq!(ledger_check(&service), "ok");
    // An application with a slow clock, within the overlap.
    bank.sql("INSERT INTO transactions VALUES ('now', now(), 1, 'EUR', 's', 'd', 'r');");
    caught_up(&service);
    bank.sql(
        "INSERT INTO transactions VALUES ('behind', now() - interval '9 minutes', 1, 'EUR', 's', 'd', 'r'), \
         ('too_late', now() - interval '11 minutes', 1, 'EUR', 's', 'd', 'r');",
    );
    caught_up(&service);
    assert_eq!(service.transaction("behind").status, 200);
    assert_eq!(service.transaction("too_late").status, 404, "it is older than the mark and its overlap");
}

#[test]
fn rows_without_a_time_zone_that_lie_ahead_by_hours_are_a_warning() {
    needs!(PostgreSql);
    let bank = Bank::without_table();
    bank.sql(&TABLE.replace("timestamptz NOT NULL DEFAULT now()", "timestamp NOT NULL"));
    let service = Service::start(&bank.home());
    caught_up(&service);
    let insert = |id: &str, zone: &str| {
        bank.sql(&format!(
            "INSERT INTO transactions VALUES ('{id}', now() AT TIME ZONE '{zone}', 1, 'EUR', 's', 'd', 'r');"
        ));
        service.until("the row is there", || service.transaction(id).status == 200);
    };
    insert("utc", "UTC");
    assert_eq!(ledger_check(&service), "ok");
    insert("ahead", "Asia/Kolkata");
    check_said(&service, &["ok, but", "5.5 h ahead", "no time zone", "a view"]);
    assert!(service.log().lines().iter().any(|line| line.contains("no time zone") && line.contains("WARN")));
    insert("right_again", "UTC");
    service.until("`/readyz` is fine", || ledger_check(&service) == "ok");
}

#[test]
fn the_password_is_found_nowhere() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let mut said = Vec::new();
    for dsn in
        [bank.dsn(), bank.dsn().replace(PASSWORD, "wrong-71aa-canary"), bank.dsn() + "?sslmode=require"]
    {
        let mut home = bank.home();
        home.set("LEDGER_DSN", &dsn);
        home.set("SERVICE_LOG", "trace");
        let service = Service::start(&home);
        bank.sql("INSERT INTO transactions VALUES (gen_random_uuid(), now(), 'NaN', 'EUR', 's', 'd', 'r');");
        service.until("the service had its say", || {
            !matches!(ledger_check(&service).as_str(), "connecting" | "")
        });
        for path in ["/readyz", "/metrics", "/ledger/dead-letters", "/openapi.json", "/git/status"] {
            said.push(service.get(path).text());
        }
        let (_, log) = service.stop();
        said.extend(log);
        for file in fs::read_dir(home.data()).unwrap().flatten().filter(|file| file.path().is_file()) {
            said.push(String::from_utf8_lossy(&fs::read(file.path()).unwrap()).into_owned());
        }
    }
    let found = said.iter().filter(|text| text.contains("canary")).count();
    println!("{} lines, answers and files looked through, the password found in {found}", said.len());
    assert!(said.iter().any(|text| text.contains("refuses the credentials")));
    assert_eq!(found, 0);
}

/// Creates a self-signed certificate for `localhost`, and its key.
fn certificate(folder: &std::path::Path) -> (Vec<u8>, Vec<u8>) {
    let (certificate, key) = (folder.join("certificate.pem"), folder.join("key.pem"));
    // This program is present wherever PostgreSQL was installed from packages.
    let made = Command::new("openssl")
        .args(["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"])
        .args(["-addext", "subjectAltName=DNS:localhost", "-keyout"])
        .arg(&key)
        .arg("-out")
        .arg(&certificate)
        .output()
        .unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    (fs::read(certificate).unwrap(), fs::read(key).unwrap())
}

#[test]
fn tls_is_as_strict_as_the_address_says() {
    needs!(PostgreSql);
    let mut bank = Bank::open();
    let folder = tempfile::tempdir().unwrap();
    let (certificate, key) = certificate(folder.path());
    let (certificate, key) = (bank.put("server.pem", &certificate), bank.put("server.key", &key));
    let root = folder.path().join("certificate.pem").display().to_string();
    bank.end(End::Fast);
    let files = [("ssl_cert_file", &certificate), ("ssl_key_file", &key)];
    let files = files.map(|(name, path)| format!("{name}={}", path.display()));
    bank.begin_with(&["ssl=on", &files[0], &files[1]]);
    let address = |host: &str, parameters: &str| {
        format!("postgres://reader:{PASSWORD}@{host}:{}/{DATABASE}?{parameters}", bank.port())
    };
    let is_encrypted =
        "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE usename = 'reader';";
    for (dsn, is_read, encrypted) in [
        (address("127.0.0.1", "sslmode=disable"), true, "f"),
        (address("127.0.0.1", "sslmode=require"), true, "t"),
        (address("localhost", &format!("sslmode=verify-full&sslrootcert={root}")), true, "t"),
        (address("127.0.0.1", &format!("sslmode=verify-ca&sslrootcert={root}")), true, "t"),
        (address("127.0.0.1", &format!("sslmode=verify-full&sslrootcert={root}")), false, ""),
        (address("localhost", "sslmode=verify-full"), false, ""),
    ] {
        let mut home = bank.home();
        home.set("LEDGER_DSN", &dsn);
        let service = Service::start(&home);
        let shown = dsn.split_once('@').unwrap().1;
        if is_read {
            caught_up(&service);
            assert_eq!(bank.sql(is_encrypted), encrypted, "{shown}");
        } else {
            service.until(shown, || ledger_check(&service).contains("certificate"));
        }
        service.stop();
    }
}

#[test]
fn ids_of_a_fixed_length_at_one_time_are_read_over_several_pages() {
    needs!(PostgreSql);
    let bank = Bank::without_table();
    bank.sql(&TABLE.replace("transaction_id text", "transaction_id char(12)"));
    bank.sql(
        "INSERT INTO transactions SELECT 'txn_' || n, now(), 1, 'EUR', 's', 'd', 'r' \
         FROM generate_series(100, 149) AS n;",
    );
    let mut home = bank.home();
    home.set("LEDGER_SYNC_BATCH", "7");
    let service = Service::start(&home);
    caught_up(&service);
    for n in 100..150 {
        assert_eq!(service.transaction(&format!("txn_{n}")).status, 200, "{n}");
    }
    assert_eq!(ledger_check(&service), "ok");
}

#[test]
fn a_ledger_begins_where_it_was_first_looked_at_also_after_a_restart() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let mut home = bank.home();
    home.set("LEDGER_SYNC_LOOKBACK", "0s");
    home.set("LEDGER_SYNC_OVERLAP", "0s");
    let service = Service::start(&home);
    caught_up(&service);
    drop(service);
    bank.sql("INSERT INTO transactions VALUES ('meanwhile', now(), 1, 'EUR', 's', 'd', 'r');");
    let service = Service::start(&home);
    caught_up(&service);
    assert_eq!(service.transaction("meanwhile").status, 200);
}

#[test]
fn a_look_back_that_is_raised_brings_the_rows_that_it_left_out_and_none_twice() {
    needs!(PostgreSql);
    let bank = Bank::open();
    let insert = |id: &str, age: &str| {
        bank.sql(&format!(
            "INSERT INTO transactions VALUES ('{id}', now() - interval '{age}', 1, 'EUR', 's', 'd', 'r');"
        ));
    };
    insert("old", "5 hours");
    insert("older", "9 hours");
    insert("new", "30 minutes");
    let mut home = bank.home();
    home.set("LEDGER_SYNC_OVERLAP", "0s");
    let taken = r#"tollgate_ledger_rows_total{result="taken"}"#;
    for (look_back, expected, n_taken) in [
        ("1h", [200, 404, 404], 1),
        ("1h", [200, 404, 404], 0),
        ("6h", [200, 200, 404], 1),
        ("12h", [200; 3], 1),
        ("1h", [200; 3], 0),
    ] {
        home.set("LEDGER_SYNC_LOOKBACK", look_back);
        let service = Service::start(&home);
        caught_up(&service);
        let found = ["new", "old", "older"].map(|id| service.transaction(id).status);
        assert_eq!((found, number(&service, taken)), (expected, n_taken), "{look_back}");
    }
}

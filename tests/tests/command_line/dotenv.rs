//! The file `.env`: no part of it is shown, and a value that it changes is told.

use std::fs;

use tollgate_tests::{Home, Service, log};

const SECRET: &str = "hunter2";

/// Checks that a start is refused with these words, that the doctor says the same, and that neither shows a value.
#[track_caller]
fn check_slip(text: &str, words: &str) {
    let home = Home::new();
    fs::write(home.current().join(".env"), text).unwrap();
    let Err(refusal) = Service::try_start(&home) else { panic!("it starts with:\n{text}") };
    let doctor = home.command(&["doctor", "--data-dir", home.data().to_str().unwrap()]).output().unwrap();
    assert_eq!(doctor.status.code(), Some(1));
    for said in [refusal.log.join("\n"), String::from_utf8_lossy(&doctor.stderr).into_owned()] {
        assert!(said.contains(words), "no `{words}` in:\n{said}");
        assert!(!said.contains(SECRET), "the secret of\n{text}\nis shown in:\n{said}");
    }
}

#[test]
fn a_slip_is_reported_with_its_line_and_shows_no_value() {
    check_slip(
        "SERVICE_LOG_FORMAT=text\nTUNNEL_TOKEN=hunter2 and more\n",
        "line 2 (`TUNNEL_TOKEN`) is not `NAME=value`",
    );
    check_slip(
        "# one\n\nTUNNEL_TOKEN=\"hunter2\nSERVICE_LOG_FORMAT=text\n",
        "line 3 (`TUNNEL_TOKEN`) is not",
    );
    check_slip("TUNNEL_TOKEN=hunter2\\d\n", "line 1 (`TUNNEL_TOKEN`) is not");
    check_slip("TUNNEL_TOKEN: hunter2\n", "line 1 is not");
    check_slip("TUNNEL_TOKEN=\nhunter2\n", "line 2 is not");
}

#[test]
fn a_value_that_swallowed_another_line_is_refused() {
    check_slip(
        "SERVICE_LOG_FORMAT=\"text\nTUNNEL_TOKEN=hunter2\nALERT_WEBHOOK_URL=\"\n",
        "the value of `SERVICE_LOG_FORMAT` goes on over the line of `TUNNEL_TOKEN`",
    );
}

#[test]
fn a_secret_in_the_wrong_setting_is_not_shown() {
    check_slip(
        "SERVICE_LOG_FORMAT=hunter2\n",
        "`SERVICE_LOG_FORMAT` is set to a value that is not shown; it takes ",
    );
}

#[test]
fn a_dollar_sign_that_is_replaced_is_one_warning_with_the_settings() {
    let home = Home::new();
    let text =
        "TUNNEL_TOKEN=hunter$2\nLEDGER_WEBHOOK_SECRET='hunter$2'\nALERT_WEBHOOK_SECRET=\"hunter${2}\"\n";
    fs::write(home.current().join(".env"), text).unwrap();
    let service = Service::start(&home);
    let warnings: Vec<String> =
        service.log().lines().into_iter().filter(|line| line.contains("has a `$`")).collect();
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert_eq!(log::fields(warning).unwrap()["settings"], "TUNNEL_TOKEN, ALERT_WEBHOOK_SECRET");
    assert!(!service.log().lines().join("\n").contains("hunter"));
    let doctor = home.command(&["doctor"]).output().unwrap();
    let said = String::from_utf8_lossy(&doctor.stderr);
    assert!(
        said.contains("warning  variables: TUNNEL_TOKEN, ALERT_WEBHOOK_SECRET: `.env` has a `$`"),
        "{said}"
    );
    assert!(!said.contains("hunter"), "{said}");
}

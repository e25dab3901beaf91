//! The catalogue of error codes and its page.

use super::*;

const PAGE: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/api.md"));

/// Returns the rows of the table of codes, without its head.
fn rows() -> Vec<&'static str> {
    let (_, section) = PAGE.split_once("\n### Error codes\n").unwrap();
    let table = section.split("\n#").next().unwrap();
    table.lines().filter(|line| line.starts_with('|')).skip(2).collect()
}

#[test]
fn every_code_has_its_row_in_the_order_of_the_catalogue() {
    let documented: Vec<&str> = rows().iter().map(|row| row.split('`').nth(1).unwrap()).collect();
    let known: Vec<&str> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
    assert_eq!(documented, known);
}

#[test]
fn a_row_says_what_the_catalogue_says() {
    for (code, row) in ErrorCode::ALL.iter().zip(rows()) {
        let (word, status) = (code.as_str(), code.status().as_u16());
        assert_eq!(row, format!("| `{word}` | {status} | {} {} |", code.meaning(), code.help()));
    }
}

#[test]
fn codes_are_words_in_snake_case_and_given_once() {
    for code in ErrorCode::ALL {
        let word = code.as_str();
        assert!(
            word.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_'),
            "{word}"
        );
        assert_eq!(ErrorCode::ALL.iter().filter(|other| other.as_str() == word).count(), 1, "{word}");
        assert!(code.meaning().ends_with('.') && code.help().ends_with('.'), "{word}");
        assert!(code.status().is_client_error() || code.status().is_server_error());
    }
}

#[test]
fn every_code_is_an_answer_of_some_route_or_of_none() {
    let listed: Vec<ErrorCode> = routes::routes().iter().flat_map(|route| route.errors()).collect();
    for code in ErrorCode::ALL {
        let of_no_route = *code == ErrorCode::MethodNotAllowed;
        assert!(listed.contains(code) || of_no_route, "{code:?}");
    }
}

#[test]
fn errors_of_transactions_keep_their_codes() {
    use tollgate_model::transaction::{InvalidTransaction, Json, JsonLimits};
    let of_json = |text: &str| Json::parse(text.as_bytes(), JsonLimits::REQUEST).unwrap_err();
    let deep = "[".repeat(40) + &"]".repeat(40);
    let keys: Vec<String> = (0..1_100).map(|key| format!("\"{key}\":1")).collect();
    let wide = format!("{{{}}}", keys.join(","));
    let json = ["{", r#"{"a":1,"a":2}"#, &deep, &wide, "1e400", r#""\u0000""#]
        .map(of_json)
        .map(InvalidTransaction::Json);
    let others = [
        InvalidTransaction::NotAnObject,
        InvalidTransaction::MissingField { field: "amount" },
        InvalidTransaction::MissingAsSpelled { field: "amount", given: "Amount".to_owned() },
        InvalidTransaction::MisspelledField { field: "amount", given: "Amount".to_owned() },
        InvalidTransaction::InvalidField { field: "amount", expected: "a number" },
    ];
    for error in json.into_iter().chain(others) {
        assert_eq!(ApiError::from(error.clone()).code().as_str(), error.code());
    }
}

#[test]
fn errors_of_the_repository_keep_their_codes() {
    use tollgate_git::{GitError, RepositoryAddressError};
    use tollgate_rules::git_sync::GitSyncError;
    let of_git = [
        GitError::Address(RepositoryAddressError::Host),
        GitError::NotAllowed("why"),
        GitError::NoBranch,
        GitError::NoOwnChoice,
        GitError::Empty,
        GitError::Unreachable,
        GitError::Untrusted,
        GitError::Refused,
        GitError::TooSlow,
        GitError::TooLarge,
        GitError::Worker("how".to_owned()),
        GitError::Key(std::io::ErrorKind::NotFound.into()),
        GitError::PushRefused,
        GitError::OverLimit("why".to_owned()),
        GitError::gone(),
    ];
    let others = [
        GitSyncError::Branch,
        GitSyncError::Message,
        GitSyncError::Busy,
        GitSyncError::NotConfigured,
        GitSyncError::HistoryRewritten,
        GitSyncError::BranchMoved { from: "main".to_owned(), to: "trunk".to_owned(), why: "why" },
        GitSyncError::Diverged,
        GitSyncError::Dirty(vec!["a.ws".to_owned()]),
        GitSyncError::Broken,
    ];
    for error in of_git.into_iter().map(GitSyncError::Git).chain(others) {
        let code = error.code();
        assert_eq!(ApiError::from(error).code().as_str(), code);
    }
}

/// The page that says what each request needs under a policy.
const UNTRUSTED: &str = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/untrusted-rules.md"));

#[test]
fn the_page_about_policies_names_every_request_that_changes_something() {
    for route in routes::routes().iter().filter(|route| guard::changes_state(&route.method)) {
        let named = format!("`{} {}`", route.method, route.path);
        assert!(UNTRUSTED.contains(&named), "{named}");
    }
}

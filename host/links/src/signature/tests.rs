//! Test vectors from other implementations, and every single-bit change.

use super::*;

/// The vector from the tests of the Standard Webhooks libraries.
const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
const TIMESTAMP: &str = "1614265330";
const NOW: i64 = 1_614_265_330;
const BODY: &str = r#"{"test": 2432232314}"#;
const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

fn keys(text: &str) -> SigningKeys {
    SigningKeys::read(&Secret::new(text.to_owned())).unwrap()
}

fn standard_of(id: &str, timestamp: &str, signatures: &str, body: &[u8]) -> Result<(), SignatureError> {
    keys(KEY).verify_standard(StandardHeaders { id, timestamp, signatures }, body, NOW)
}

#[test]
fn the_vector_of_the_standard_is_signed_and_believed() {
    assert_eq!(keys(KEY).sign(ID, NOW, BODY.as_bytes()), SIGNATURE);
    assert_eq!(standard_of(ID, TIMESTAMP, SIGNATURE, BODY.as_bytes()), Ok(()));
}

#[test]
fn a_key_may_be_text_and_there_may_be_several() {
    let two = format!("plain-text-secret {KEY}");
    let signatures = keys(&two).sign(ID, NOW, BODY.as_bytes());
    assert_eq!(signatures.split(' ').count(), 2);
    assert!(signatures.ends_with(SIGNATURE));
    for known in ["plain-text-secret", KEY, &two] {
        let said = StandardHeaders { id: ID, timestamp: TIMESTAMP, signatures: &signatures };
        assert_eq!(keys(known).verify_standard(said, BODY.as_bytes(), NOW), Ok(()), "{known}");
    }
    for none in ["", "  ", "whsec_", "whsec_not base64", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaS"] {
        assert!(SigningKeys::read(&Secret::new(none.to_owned())).is_none(), "{none:?}");
    }
    assert_eq!(format!("{:?}", keys(&two)), "2 keys");
}

#[test]
fn one_valid_signature_among_several_suffices_and_other_versions_do_not_count() {
    let body = BODY.as_bytes();
    let wrong = "v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc=";
    let third = format!("{wrong} v2,{} {SIGNATURE}", SIGNATURE.trim_start_matches("v1,"));
    assert_eq!(standard_of(ID, TIMESTAMP, &third, body), Ok(()));
    for none in [
        "",
        wrong,
        SIGNATURE.trim_start_matches("v1,"),
        &SIGNATURE.replace("v1", "v1a"),
        &SIGNATURE.replace("v1", "v2"),
        &SIGNATURE.replace("v1,", "v1, "),
        &format!("{SIGNATURE},"),
        &SIGNATURE.replace('=', ""),
        &format!("{}{SIGNATURE}", format!("{wrong} ").repeat(SIGNATURES_MAX)),
    ] {
        assert_eq!(standard_of(ID, TIMESTAMP, none, body), Err(SignatureError::Invalid), "{none}");
    }
}

#[test]
fn the_time_may_be_five_minutes_away_and_no_more() {
    let keys = keys(KEY);
    for (now, expected) in [
        (NOW - 301, Err(SignatureError::Expired)),
        (NOW - 300, Ok(())),
        (NOW + 300, Ok(())),
        (NOW + 301, Err(SignatureError::Expired)),
        (i64::MIN, Err(SignatureError::Expired)),
    ] {
        let said = StandardHeaders { id: ID, timestamp: TIMESTAMP, signatures: SIGNATURE };
        assert_eq!(keys.verify_standard(said, BODY.as_bytes(), now), expected, "{now}");
        let signature = hexadecimal(&code(&keys.keys[0], &[format!("{TIMESTAMP}.{BODY}").as_bytes()]));
        let said = TimestampHeaders { timestamp: TIMESTAMP, signature: &signature };
        assert_eq!(keys.verify_stamped(said, BODY.as_bytes(), now), expected, "{now}");
    }
    for odd in ["", "1614265330.0", " 1614265330", "+1614265330", "-1", "1e9", "99999999999999999999"] {
        let signatures = standard(&keys.keys[0], ID, odd, BODY.as_bytes());
        assert_eq!(
            standard_of(ID, odd, &signatures, BODY.as_bytes()),
            Err(SignatureError::Invalid),
            "{odd:?}"
        );
    }
}

#[test]
fn an_id_with_a_dot_could_be_the_beginning_of_another_message() {
    let id = format!("{ID}.1");
    let signatures = keys(KEY).sign(&id, NOW, BODY.as_bytes());
    assert_eq!(standard_of(&id, TIMESTAMP, &signatures, BODY.as_bytes()), Err(SignatureError::Invalid));
}

#[test]
fn the_stamped_scheme_gives_what_openssl_gives() {
    // printf '1614265330.{"test": 2432232314}' | openssl dgst -sha256 -hmac plain-text-secret
    let signature = "cd21ab89c4e775eaeaafeee4814d0629b866aa50d5116905a4044eb3f345d146";
    let said = TimestampHeaders { timestamp: TIMESTAMP, signature };
    assert_eq!(keys("plain-text-secret").verify_stamped(said, BODY.as_bytes(), NOW), Ok(()));
    let upper = signature.to_uppercase();
    let said = TimestampHeaders { timestamp: TIMESTAMP, signature: &upper };
    assert!(keys("plain-text-secret").verify_stamped(said, BODY.as_bytes(), NOW).is_err());
}

/// Returns every valid UTF-8 text that differs from this one in one bit.
fn flipped(text: &str) -> impl Iterator<Item = String> + '_ {
    (0..text.len() * 8).filter_map(|bit| {
        let mut bytes = text.as_bytes().to_vec();
        bytes[bit / 8] ^= 1 << (bit % 8);
        String::from_utf8(bytes).ok()
    })
}

#[test]
fn no_bit_of_anything_can_be_turned() {
    let body = BODY.as_bytes();
    let mut n_tried = 0;
    let mut refused = |outcome: Result<(), SignatureError>, what: &str| {
        n_tried += 1;
        assert!(outcome.is_err(), "{what:?} is believed");
    };
    flipped(ID).for_each(|id| refused(standard_of(&id, TIMESTAMP, SIGNATURE, body), &id));
    flipped(TIMESTAMP).for_each(|time| refused(standard_of(ID, &time, SIGNATURE, body), &time));
    flipped(SIGNATURE).for_each(|one| refused(standard_of(ID, TIMESTAMP, &one, body), &one));
    let stamped = hexadecimal(&code(b"key", &[format!("{TIMESTAMP}.{BODY}").as_bytes()]));
    let stamped_of = |timestamp: &str, signature: &str, body: &[u8]| {
        keys("key").verify_stamped(TimestampHeaders { timestamp, signature }, body, NOW)
    };
    assert_eq!(stamped_of(TIMESTAMP, &stamped, body), Ok(()));
    flipped(TIMESTAMP).for_each(|time| refused(stamped_of(&time, &stamped, body), &time));
    flipped(&stamped).for_each(|one| refused(stamped_of(TIMESTAMP, &one, body), &one));
    for bit in 0..body.len() * 8 {
        let mut turned = body.to_vec();
        turned[bit / 8] ^= 1 << (bit % 8);
        refused(standard_of(ID, TIMESTAMP, SIGNATURE, &turned), "a body");
        refused(stamped_of(TIMESTAMP, &stamped, &turned), "a body");
    }
    assert!(n_tried > 1_000, "{n_tried}");
}

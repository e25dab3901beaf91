//! Addresses in the spellings that attackers use.

use super::*;
use crate::RepositoryAddressError;
use crate::network::SystemNetwork;

/// The default policy for API callers: public hosts over HTTPS.
fn by_default() -> NetworkPolicy {
    NetworkPolicy { schemes: vec![Scheme::Https], hosts: Vec::new(), allow_private: false }
}

/// Reports which check refuses an address: grammar or policy.
fn judge(reach: &NetworkPolicy, text: &str) -> Result<String, String> {
    let (address, _) = RepositoryAddress::parse(text).map_err(|error| format!("grammar: {error}"))?;
    reach.admit(&address).map_err(|error| format!("rules: {error}"))?;
    Ok(address.to_string())
}

/// Hosts that mean this machine or its network, whatever the scheme.
const PRIVATE_HOSTS: [&str; 52] = [
    "127.0.0.1",
    "127.1",
    "127.0.1",
    "127.255.255.254",
    "0.0.0.0",
    "0",
    "00",
    "0x0",
    "0x7f.1",
    "0x7f000001",
    "0x7f.0x0.0x0.0x1",
    "0177.0.0.1",
    "0177.1",
    "017700000001",
    "2130706433",
    "127.0.0.1.",
    "127.0.0.01",
    "127.0.0.0x1",
    "10.0.0.1",
    "10.1",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.0.1",
    "192.168.257",
    "169.254.169.254",
    "0xa9fea9fe",
    "2852039166",
    "0251.0376.0251.0376",
    "100.64.0.1",
    "192.0.0.1",
    "198.18.0.1",
    "224.0.0.1",
    "255.255.255.255",
    "[::]",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[::ffff:0:127.0.0.1]",
    "[::127.0.0.1]",
    "[64:ff9b::7f00:1]",
    "[64:ff9b:1::a00:1]",
    "[2002:7f00:1::1]",
    "[2001:0:7f00:1::]",
    "[fe80::1]",
    "[fe80::1%25eth0]",
    "[fc00::1]",
    "[fd00:ec2::254]",
    "[fec0::1]",
    "[ff02::1]",
    "[2001:db8::1]",
    "[::1%lo]",
];

/// Addresses that the parser must refuse.
const HOSTILE: [&str; 54] = [
    "",
    " https://host.example/a",
    "https://host.example/a\n",
    "https://host.example/a b",
    "https:/host.example/a",
    "https:host.example/a",
    "https://",
    "https:///a",
    "https://host.example",
    "https://host.example/",
    "https://host.example//",
    "https://host.example/../a",
    "https://host.example/a/../../b",
    "https://host.example/%2e%2e/a",
    "https://host.example/a%2fb",
    "https://host.example/a?service=x",
    "https://host.example/a#b",
    "https://host.example/a%00",
    "https://host.example/a%0d%0aX:1",
    "https://host.example:0/a",
    "https://host.example:65536/a",
    "https://host.example:-1/a",
    "https://host.example:+443/a",
    "https://host.example:/a",
    "https://host.example:443:80/a",
    "https://host.example\\@127.0.0.1/a",
    "https://a@b@127.0.0.1/a",
    "https://host.example#@127.0.0.1/a",
    "https://%31%32%37.0.0.1/a",
    "https://①②⑦.0.0.1/a",
    "https://127。0。0。1/a",
    "https://-host.example/a",
    "https://host-/a",
    "https://host..example/a",
    "https://.host/a",
    "https://[::1/a",
    "https://::1/a",
    "https://[127.0.0.1]/a",
    "https://[::1]x/a",
    "git://host.example/a",
    "http://host.example/a",
    "ftp://host.example/a",
    "ssh://git@host.example/a",
    "ssh://-oProxyCommand=touch/a",
    "ssh://git@-oProxyCommand/a",
    "git@host.example:a",
    "-u",
    "--upload-pack=touch",
    "ext::sh -c touch%20x",
    "ext::sh",
    "file:///etc/passwd",
    "file://host.example/etc",
    "/etc/passwd",
    "../a",
];

#[test]
fn every_spelling_of_a_private_host_is_refused() {
    for host in PRIVATE_HOSTS {
        for address in [format!("https://{host}/a.git"), format!("https://user:word@{host}:5432/a.git")] {
            let judged = judge(&by_default(), &address);
            assert!(judged.is_err(), "{address} is taken as {judged:?}");
        }
    }
}

#[test]
fn every_hostile_address_is_refused() {
    for address in HOSTILE {
        let judged = judge(&by_default(), address);
        assert!(judged.is_err(), "{address:?} is taken as {judged:?}");
    }
}

#[test]
fn an_honest_address_is_accepted_in_its_normal_form() {
    for (address, expected) in [
        ("https://git.example/team/rules.git", "https://git.example/team/rules.git"),
        ("HTTPS://Git.Example:443/a", "https://git.example/a"),
        ("https://git.example:8443/a%20b", "https://git.example:8443/a%20b"),
        ("https://token@git.example/a", "https://git.example/a"),
        ("https://user:to%3Aken@8.8.8.8/a", "https://8.8.8.8/a"),
        ("https://[2606:4700::1111]/a", "https://[2606:4700::1111]/a"),
    ] {
        assert_eq!(judge(&by_default(), address).as_deref(), Ok(expected));
    }
}

#[test]
fn credentials_are_taken_out_and_decoded() {
    let parse = |text| RepositoryAddress::parse(text).unwrap().1;
    let secret = |text: &str| Some(tollgate_model::secret::Secret::new(text.to_owned()));
    let both = parse("https://us%40er:pa%3Ass@git.example/a");
    assert_eq!((both.user, both.secret), (secret("us@er"), secret("pa:ss")));
    let token = parse("https://token@git.example/a");
    assert_eq!((token.user, token.secret), (secret("token"), None));
    assert!(parse("https://git.example/a").is_empty());
    for broken in ["https://%zz@git.example/a", "https://a:%0@git.example/a", "https://%0a@git.example/a"] {
        assert_eq!(RepositoryAddress::parse(broken), Err(RepositoryAddressError::Credentials), "{broken}");
    }
}

#[test]
fn an_address_that_the_policy_allows_is_accepted() {
    let all = NetworkPolicy::anywhere();
    for address in
        ["http://127.0.0.1:8080/a", "git@git.example:team/a.git", "file:///srv/a.git", "/srv/a.git"]
    {
        assert!(judge(&all, address).is_ok(), "{address}");
    }
    assert_eq!(judge(&all, "git@git.example:team/a.git").as_deref(), Ok("ssh://git.example/team/a.git"));
    let some = NetworkPolicy { hosts: vec!["git.example".to_owned()], ..by_default() };
    assert!(judge(&some, "https://git.example/a").is_ok());
    for other in ["https://other.example/a", "https://git.example.other/a", "https://8.8.8.8/a"] {
        assert!(judge(&some, other).is_err(), "{other}");
    }
}

#[test]
fn a_name_with_a_private_address_is_refused() {
    let (address, _) = RepositoryAddress::parse("https://localhost/a").unwrap();
    assert!(matches!(by_default().resolve(&address, &SystemNetwork), Err(GitError::NotAllowed(_))));
}

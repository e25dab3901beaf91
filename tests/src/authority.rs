//! A test certificate authority and the certificates it signs.

#![expect(clippy::expect_used, reason = "a harness that cannot go on fails the test it serves")]

use openssl::asn1::Asn1Time;
use openssl::bn::BigNum;
use openssl::ec::{EcGroup, EcKey};
use openssl::error::ErrorStack;
use openssl::hash::MessageDigest;
use openssl::nid::Nid;
use openssl::pkey::{PKey, Private};
use openssl::ssl::{SslAcceptor, SslMethod};
use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
use openssl::x509::{X509, X509Builder, X509Name};

/// 2001-09-09 and 2033-05-18, in Unix seconds.
const LONG_AGO: i64 = 1_000_000_000;
const FAR_AHEAD: i64 = 2_000_000_000;
/// IP address and DNS name of the test servers.
const HERE: (&str, &str) = ("127.0.0.1", "localhost");

/// A certificate authority.
#[derive(Debug)]
pub struct Authority {
    key: PKey<Private>,
    certificate: X509,
}

/// Private key and certificate of a server.
#[derive(Debug)]
pub struct Identity {
    key: PKey<Private>,
    certificate: X509,
}

impl Authority {
    /// Creates an authority of this name.
    ///
    /// # Panics
    /// Panics if no key can be generated.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let make = || {
            let key = key()?;
            let mut builder = begun(name, &key, FAR_AHEAD)?;
            builder.append_extension(BasicConstraints::new().critical().ca().build()?)?;
            let issuer = named(name)?;
            builder.set_issuer_name(&issuer)?;
            builder.sign(&key, MessageDigest::sha256())?;
            Ok::<_, ErrorStack>(Self { key, certificate: builder.build() })
        };
        make().expect("an authority can be made")
    }

    /// Returns the certificate in PEM form.
    ///
    /// # Panics
    /// Panics if the certificate cannot be encoded.
    #[must_use]
    pub fn pem(&self) -> Vec<u8> {
        self.certificate.to_pem().expect("a certificate can be written")
    }

    /// Signs a certificate for 127.0.0.1 and localhost.
    #[must_use]
    pub fn identity(&self) -> Identity {
        self.sign(HERE, FAR_AHEAD)
    }

    /// Signs a certificate for another address and name.
    #[must_use]
    pub fn identity_of_another(&self) -> Identity {
        self.sign(("127.0.0.2", "elsewhere.example"), FAR_AHEAD)
    }

    /// Signs an expired certificate for 127.0.0.1 and localhost.
    #[must_use]
    pub fn expired_identity(&self) -> Identity {
        self.sign(HERE, LONG_AGO + 1)
    }

    fn sign(&self, (address, name): (&str, &str), not_after: i64) -> Identity {
        let make = || {
            let key = key()?;
            let mut builder = begun(address, &key, not_after)?;
            builder.set_issuer_name(self.certificate.subject_name())?;
            let names = SubjectAlternativeName::new()
                .ip(address)
                .dns(name)
                .build(&builder.x509v3_context(Some(&self.certificate), None))?;
            builder.append_extension(names)?;
            builder.sign(&self.key, MessageDigest::sha256())?;
            Ok::<_, ErrorStack>(Identity { key, certificate: builder.build() })
        };
        make().expect("a certificate can be signed")
    }
}

impl Identity {
    /// Returns an acceptor that presents this identity.
    ///
    /// # Panics
    /// Panics if key and certificate do not match.
    #[must_use]
    pub fn acceptor(&self) -> SslAcceptor {
        let make = || {
            let mut builder = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server())?;
            builder.set_private_key(&self.key)?;
            builder.set_certificate(&self.certificate)?;
            Ok::<_, ErrorStack>(builder.build())
        };
        make().expect("a server can be made of it")
    }
}

fn key() -> Result<PKey<Private>, ErrorStack> {
    PKey::from_ec_key(EcKey::generate(&*EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?)?)
}

fn named(name: &str) -> Result<X509Name, ErrorStack> {
    let mut builder = X509Name::builder()?;
    builder.append_entry_by_nid(Nid::COMMONNAME, name)?;
    Ok(builder.build())
}

fn begun(name: &str, key: &PKey<Private>, not_after: i64) -> Result<X509Builder, ErrorStack> {
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    let mut serial = BigNum::new()?;
    serial.rand(127, openssl::bn::MsbOption::MAYBE_ZERO, false)?;
    let serial = serial.to_asn1_integer()?;
    builder.set_serial_number(&serial)?;
    let subject = named(name)?;
    builder.set_subject_name(&subject)?;
    builder.set_pubkey(key)?;
    let (from, to) = (Asn1Time::from_unix(LONG_AGO)?, Asn1Time::from_unix(not_after)?);
    builder.set_not_before(&from)?;
    builder.set_not_after(&to)?;
    Ok(builder)
}

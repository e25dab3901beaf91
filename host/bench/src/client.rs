//! A blocking HTTP client with one connection, for occasional requests.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use super::error::BenchError;
use super::target::HttpTarget;
use super::wire;

/// Timeout for connecting, reading and writing.
const PATIENCE: Duration = Duration::from_secs(60);

/// A keep-alive connection, opened on first use.
#[derive(Debug)]
pub(super) struct Client {
    target: HttpTarget,
    stream: Option<TcpStream>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct HttpResponse {
    pub(super) status: u16,
    pub(super) body: String,
}

impl Client {
    pub(super) const fn of(target: HttpTarget) -> Self {
        Self { target, stream: None }
    }

    /// Sends a request and waits for the response.
    ///
    /// # Errors
    /// When the connection fails, or the response is not valid HTTP.
    pub(super) fn send(&mut self, method: &str, path: &str, body: &str) -> Result<HttpResponse, BenchError> {
        let host = &self.target.host;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let asked = self.exchange(request.as_bytes());
        if asked.is_err() {
            self.stream = None;
        }
        asked.map_err(|what| BenchError::Answer(format!("{method} {path}: {what}")))
    }

    /// Sends a request and returns the body of a response with the expected status.
    ///
    /// # Errors
    /// As [`Self::send`], and when the status is another one.
    pub(super) fn expect(
        &mut self,
        status: u16,
        method: &str,
        path: &str,
        body: &str,
    ) -> Result<String, BenchError> {
        let said = self.send(method, path, body)?;
        if said.status == status {
            Ok(said.body)
        } else {
            Err(BenchError::Answer(format!("{method} {path} returned {}: {}", said.status, said.body)))
        }
    }

    fn exchange(&mut self, request: &[u8]) -> Result<HttpResponse, String> {
        let shown = |error: std::io::Error| error.to_string();
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.target).map_err(shown)?,
        };
        (&stream).write_all(request).map_err(shown)?;
        let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
        let answer = loop {
            if let Some(answer) = wire::answer(&bytes)? {
                break answer;
            }
            let n_bytes = (&stream).read(&mut piece).map_err(shown)?;
            if n_bytes == 0 {
                return Err("the connection was closed before the response".to_owned());
            }
            bytes.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
        };
        if !answer.closes {
            self.stream = Some(stream);
        }
        let body = bytes.get(answer.body.clone()).unwrap_or_default();
        Ok(HttpResponse { status: answer.status, body: String::from_utf8_lossy(body).into_owned() })
    }
}

fn connect(target: &HttpTarget) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&target.address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

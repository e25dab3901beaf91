//! A blocking HTTP client with one connection, for occasional requests.

use std::io::{ErrorKind, Read as _, Write as _};
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
        let asked = self.write(method, path, body).and_then(|()| self.read());
        self.told(asked, method, path)
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
        said.expect(status, method, path)
    }

    /// Drops the connection after an error, and names the request in it.
    fn told<T>(&mut self, asked: Result<T, String>, method: &str, path: &str) -> Result<T, BenchError> {
        asked.map_err(|what| {
            self.stream = None;
            BenchError::Answer(format!("{method} {path}: {what}"))
        })
    }

    fn write(&mut self, method: &str, path: &str, body: &str) -> Result<(), String> {
        let shown = |error: std::io::Error| error.to_string();
        let host = &self.target.host;
        let request = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let stream = match self.stream.take() {
            Some(stream) => stream,
            None => connect(&self.target).map_err(shown)?,
        };
        (&stream).write_all(request.as_bytes()).map_err(shown)?;
        self.stream = Some(stream);
        Ok(())
    }

    fn read(&mut self) -> Result<HttpResponse, String> {
        let stream = self.stream.take().ok_or("no request was sent")?;
        let (mut bytes, mut piece) = (Vec::new(), [0; 16 * 1024]);
        let answer = loop {
            if let Some(answer) = wire::answer(&bytes)? {
                break answer;
            }
            let n_bytes = match (&stream).read(&mut piece) {
                Ok(0) => return Err("the connection was closed before the response".to_owned()),
                Ok(n_bytes) => n_bytes,
                // A signal came; whoever sends requests looks for it between them.
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                Err(error) => return Err(error.to_string()),
            };
            bytes.extend_from_slice(piece.get(..n_bytes).unwrap_or_default());
        };
        if !answer.closes {
            self.stream = Some(stream);
        }
        let body = bytes.get(answer.body.clone()).unwrap_or_default();
        Ok(HttpResponse { status: answer.status, body: String::from_utf8_lossy(body).into_owned() })
    }
}

impl HttpResponse {
    fn expect(self, status: u16, method: &str, path: &str) -> Result<String, BenchError> {
        if self.status == status {
            Ok(self.body)
        } else {
            Err(BenchError::Answer(format!("{method} {path} returned {}: {}", self.status, self.body)))
        }
    }
}

/// Sends one request over each client before waiting for the responses. Returns the bodies of the responses, in order.
///
/// # Errors
/// As [`Client::expect`].
pub(super) fn expect_each(
    clients: &mut [Client],
    status: u16,
    (method, path): (&str, &str),
    bodies: &[String],
) -> Result<Vec<String>, BenchError> {
    for (client, body) in clients.iter_mut().zip(bodies) {
        let written = client.write(method, path, body);
        client.told(written, method, path)?;
    }
    let answers = clients.iter_mut().zip(bodies).map(|(client, _)| {
        let read = client.read();
        client.told(read, method, path)?.expect(status, method, path)
    });
    answers.collect()
}

fn connect(target: &HttpTarget) -> std::io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&target.address, PATIENCE)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    Ok(stream)
}

//! A local Redis server, and the number of tasks in its queues.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use crate::real_blnk::programs::Program;
use crate::real_blnk::until;

/// A script that counts the tasks which Blnk has not finished. A deadline, a lock or a statistic is no task.
const UNFINISHED: &str = r"local n = 0
    for _, key in ipairs(redis.call('KEYS', 'asynq:*')) do
        local state = string.match(key, ':([a-z]+)$')
        if state == 'pending' or state == 'active' then n = n + redis.call('LLEN', key) end
        if state == 'scheduled' or state == 'retry' then n = n + redis.call('ZCARD', key) end
    end
    return n";

/// A server that stores nothing on disk. Killed when dropped.
pub(crate) struct Redis {
    port: u16,
    program: Program,
}

impl Redis {
    /// Starts a server on this port of the loopback.
    pub(crate) fn start(port: u16, directory: &Path) -> Self {
        let mut command = Command::new("redis-server");
        command.args([
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
            "--port",
            &port.to_string(),
        ]);
        let mut redis = Self { port, program: Program::start("redis", &mut command, directory) };
        until("Redis answers", || {
            redis.program.ended().inspect(|ended| panic!("{ended}"));
            redis.ask(&["PING"]).err().map(|error| error.to_string())
        });
        redis
    }

    /// Returns its port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// Returns the number of tasks that wait, run, are scheduled or will be tried again.
    pub(crate) fn n_unfinished(&self) -> u64 {
        let answer = self.ask(&["EVAL", UNFINISHED, "0"]).unwrap();
        answer.strip_prefix(':').and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{answer}"))
    }

    /// Sends a command and returns the first line of the answer.
    fn ask(&self, words: &[&str]) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port))?;
        let words_sent = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len()));
        write!(stream, "*{}\r\n{}", words.len(), words_sent.collect::<String>())?;
        let mut line = String::new();
        BufReader::new(stream).read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }
}

//! CPU time, memory and files of this process, under the names that client libraries of Prometheus use.

use std::fmt;
use std::time::{SystemTime, UNIX_EPOCH};

use procfs::process::Process;
use procfs::{ProcResult, page_size, ticks_per_second};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;

/// Reads `/proc/self` at each scrape; without it, there are no values.
#[derive(Debug)]
struct ProcessMetrics {
    /// Seconds since 1970 UTC.
    started: f64,
}

/// Resources that this process takes.
#[derive(Debug)]
pub struct ProcessUsage {
    /// CPU time, user and system.
    pub cpu_seconds: f64,
    /// Resident memory.
    pub resident_bytes: u64,
    virtual_bytes: u64,
    n_threads: i64,
    /// Open files.
    pub n_files: usize,
}

pub(super) fn register(registry: &mut Registry) {
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
    registry.register_collector(Box::new(ProcessMetrics { started }));
}

impl ProcessUsage {
    /// Reads them from `/proc`.
    ///
    /// # Errors
    /// Fails if the system does not tell them.
    pub fn read() -> ProcResult<Self> {
        let process = Process::myself()?;
        let stat = process.stat()?;
        #[expect(clippy::cast_precision_loss, reason = "a process does not run for 2^53 ticks")]
        let cpu_seconds = (stat.utime + stat.stime) as f64 / ticks_per_second() as f64;
        Ok(Self {
            cpu_seconds,
            resident_bytes: stat.rss * page_size(),
            virtual_bytes: stat.vsize,
            n_threads: stat.num_threads,
            n_files: process.fd_count()?,
        })
    }
}

impl Collector for ProcessMetrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Ok(usage) = ProcessUsage::read() else { return Ok(()) };
        let cpu = ConstCounter::new(usage.cpu_seconds);
        let (name, help) = ("process_cpu_seconds", "CPU time of the service, user and system");
        cpu.encode(encoder.encode_descriptor(name, help, None, cpu.metric_type())?)?;
        let started = ConstGauge::new(self.started);
        let (name, help) =
            ("process_start_time_seconds", "Start time of the service, in seconds since 1970 UTC");
        started.encode(encoder.encode_descriptor(name, help, None, started.metric_type())?)?;
        for (name, help, value) in [
            ("process_resident_memory_bytes", "Resident memory of the service", usage.resident_bytes),
            ("process_virtual_memory_bytes", "Address space of the service", usage.virtual_bytes),
            ("process_threads", "Threads of the service", u64::try_from(usage.n_threads).unwrap_or_default()),
            ("process_open_fds", "Open files and connections of the service", usage.n_files as u64),
        ] {
            let gauge = ConstGauge::new(i64::try_from(value).unwrap_or(i64::MAX));
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        Ok(())
    }
}

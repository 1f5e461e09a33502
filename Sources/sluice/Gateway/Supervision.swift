import Systemd
import UnixSignals

/// How `sluice serve` answers to whoever supervises it: systemd, or an operator with `kill`.
struct Supervision {
    /// Tells systemd how the gateway is; `nil` if nobody listens.
    let notifier: ServiceNotifier?
    /// Requests to read files again.
    let hangUps: UnixSignalsSequence
    /// The settings, from which the names of files are read.
    let reader: SettingReader
}

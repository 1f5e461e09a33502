import ArgumentParser
import EventLoops
import GatewayCore
import GatewayPostgres
import LibPQ
import Logging
import MicroHTTPD

extension ExitCode {
    /// Writes why a command ends to the log, as its last line.
    ///
    /// The level is the highest one, so that no setting suppresses the line. A command that throws a status has said
    /// why it ends: nothing is written, and the status stays.
    ///
    /// - Parameters:
    ///   - error: Why the command ends.
    ///   - logger: The log.
    ///   - message: What failed.
    ///   - login: The role that the command logs in with, for advice about the database; `nil` where the command has a
    ///     database of its own.
    init(logging error: any Error, to logger: Logger, _ message: Logger.Message, as login: PostgresError.Login?) {
        if let status = error as? ExitCode {
            self = status
            return
        }
        var metadata: Logger.Metadata = [:]
        switch error {
        case let error as SettingMistakes:
            metadata["cause"] = "\(error.mistakes.joined(separator: "; "))"
            metadata["advice"] = "'sluice serve --help' lists the settings."
        case let error as DatabaseTrial.Failure:
            metadata["cause"] = "\(Self.line("\(error)"))"
            metadata["advice"] = "\(error.advice)"
        case let error as MasterKeyRotation.Refusal:
            metadata["cause"] = "\(error)"
            metadata["advice"] = "\(error.advice)"
        case let error as Migrator.Failure:
            metadata["cause"] = "\(Self.line("\(error)"))"
            metadata["advice"] = "\(error.advice)"
        case let error as HTTPServerError:
            metadata["cause"] = "\(error)"
            metadata["advice"] = "\(error.advice)"
        case let error as EventLoopError:
            metadata["cause"] = "\(error)"
            metadata["advice"] = "\(error.advice)"
        case let error as MasterKeyError:
            metadata["cause"] = "\(error)"
            metadata["advice"] = "\(error.advice)"
        case let error as PostgresError:
            metadata["cause"] = "PostgreSQL: \(Self.line("\(error)"))"
            if let login { metadata["advice"] = "\(error.advice(for: login))" }
        case GatewayError.slowDown(_, let cause), GatewayError.unavailable(_, let cause):
            metadata["cause"] = "\(Self.line("\(cause)"))"
        default: metadata["cause"] = "\(Self.line("\(error)"))"
        }
        logger.critical(message, metadata: metadata)
        self = .failure
    }

    /// The lines of a text as one.
    private static func line(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }
}

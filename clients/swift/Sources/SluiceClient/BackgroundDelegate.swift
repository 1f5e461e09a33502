import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Which part a task sends; in words `ID/NUMBER`.
struct PartName: Hashable, Sendable, CustomStringConvertible {
    let id: String
    let number: Int

    init(id: String, number: Int) {
        self.id = id
        self.number = number
    }

    init?(_ text: String?) {
        let words = text?.split(separator: "/") ?? []
        guard words.count == 2, let number = Int(words[1]) else { return nil }
        self.init(id: String(words[0]), number: number)
    }

    var description: String { "\(id)/\(number)" }
}

enum Happening: Sendable {
    case ended(PartName, task: Int, AnswerHead?, SluiceError?)
    /// The system has told all that happened while the app was not there.
    case delivered
}

/// Passes on what the session tells, in order.
final class BackgroundDelegate: NSObject, URLSessionTaskDelegate {
    let happening: AsyncStream<Happening>.Continuation
    let completion = Locked<(@Sendable @MainActor () -> Void)?>(nil)

    init(_ happening: AsyncStream<Happening>.Continuation) {
        self.happening = happening
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let part = PartName(task.taskDescription) else { return }
        let lost = error.map { SluiceError.lost("The store did not answer: \($0.localizedDescription)") }
        let head = lost == nil ? AnswerHead(task.response) : nil
        happening.yield(.ended(part, task: task.taskIdentifier, head, lost))
    }

    #if canImport(Darwin)
        func urlSessionDidFinishEvents(forBackgroundURLSession session: URLSession) {
            happening.yield(.delivered)
        }
    #endif
}

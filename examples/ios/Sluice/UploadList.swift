import Foundation
import Observation
import SluiceClient

#if canImport(UniformTypeIdentifiers)
    import UniformTypeIdentifiers
#endif

/// The files that the app uploads, and what became of them.
@MainActor @Observable
final class UploadList {
    /// One file.
    @MainActor @Observable
    final class Item: Identifiable {
        enum State {
            case waiting
            case sending(Double)
            case paused
            case arrived(key: String)
            case failed(String)
        }

        let id = UUID()
        let file: URL
        fileprivate(set) var state = State.waiting
        /// What sends the file, until it has ended.
        fileprivate var transfer: Transfer<Sluice.UploadResult>?

        init(file: URL) {
            self.file = file
        }

        fileprivate var isWaiting: Bool {
            if case .waiting = state { true } else { false }
        }
    }

    /// How many files are sent at once. Of each, four parts are copied and sent at once.
    private static let mostAtOnce = 2

    private(set) var items: [Item] = []
    /// Links to what has arrived. They end after some minutes, and are asked for again.
    private(set) var links: [URL] = []

    private let client: Sluice
    private let account: Account

    /// Copies of files that have not arrived yet.
    nonisolated static let directory = Account.directory("Files")

    /// Names of files that were removed, until nothing is left of them: the app may be ended before.
    private static var removed: [String] {
        get { UserDefaults.standard.stringArray(forKey: "removed") ?? [] }
        set { UserDefaults.standard.set(newValue, forKey: "removed") }
    }

    /// Goes on with the files of an earlier launch.
    init(_ account: Account) {
        self.account = account
        client = account.client()
        let files = try? FileManager.default.contentsOfDirectory(at: Self.directory, includingPropertiesForKeys: nil)
        for file in files ?? [] {
            if Self.removed.contains(file.lastPathComponent) { discard(file) } else { add(file) }
        }
    }

    /// Takes a file of the directory, and sends it when it is its turn.
    func add(_ file: URL) {
        items.append(Item(file: file))
        sendNext()
    }

    /// Sends a file, or what is left of it, when it is its turn.
    func start(_ item: Item) {
        item.state = .waiting
        sendNext()
    }

    private func sendNext() {
        while items.filter({ $0.transfer != nil }).count < Self.mostAtOnce,
            let item = items.first(where: { $0.isWaiting })
        {
            send(item)
        }
    }

    private func send(_ item: Item) {
        let transfer = upload(item.file)
        item.transfer = transfer
        item.state = .sending(0)
        Task {
            for await progress in transfer.progress { item.state = .sending(progress.fraction ?? 0) }
            item.state = await end(of: transfer)
            item.transfer = nil
            sendNext()
            guard case .arrived = item.state else { return }
            try? FileManager.default.removeItem(at: item.file)
            await refreshLinks()
        }
    }

    private func end(of transfer: Transfer<Sluice.UploadResult>) async -> Item.State {
        do {
            return .arrived(key: try await transfer.value.key)
        } catch is CancellationError {
            return .paused
        } catch let error as SluiceError where error.mayPass {
            // What has arrived is kept.
            return .paused
        } catch {
            return .failed(error.localizedDescription)
        }
    }

    /// Stops sending, and keeps what has arrived.
    func pause(_ item: Item) {
        item.transfer?.pause()
    }

    /// Stops sending, and discards what has arrived.
    func remove(_ item: Item) {
        items.removeAll { $0.id == item.id }
        Self.removed.append(item.file.lastPathComponent)
        item.transfer?.cancel()
        discard(item.file, after: item.transfer)
    }

    private func discard(_ file: URL, after transfer: Transfer<Sluice.UploadResult>? = nil) {
        Task {
            _ = try? await transfer?.value
            // An upload that was paused is found by beginning it again.
            let left = upload(file)
            left.cancel()
            _ = try? await left.value
            try? FileManager.default.removeItem(at: file)
            Self.removed.removeAll { $0 == file.lastPathComponent }
        }
    }

    private func upload(_ file: URL) -> Transfer<Sluice.UploadResult> {
        let target = Sluice.Target(
            bucket: account.bucket, key: account.prefix + file.lastPathComponent,
            contentType: Self.contentType(of: file))
        return client.upload(file: file, to: target)
    }

    /// Asks for links to what has arrived, all at once.
    func refreshLinks() async {
        let keys = items.compactMap { item in
            if case .arrived(let key) = item.state { return key }
            return nil
        }
        let requests = keys.map { Sluice.LinkRequest(Sluice.ObjectRequest(bucket: account.bucket, key: $0)) }
        guard let results = try? await client.batch(requests) else { return }
        links = results.compactMap { try? $0.get().url }
    }

    private static func contentType(of file: URL) -> String {
        #if canImport(UniformTypeIdentifiers)
            if let type = UTType(filenameExtension: file.pathExtension)?.preferredMIMEType { return type }
        #endif
        return "application/octet-stream"
    }
}

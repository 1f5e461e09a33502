import CLibCurl
import Synchronization

/// The data of libcurl's callbacks while the bodies of a transfer are streamed.
final class TransferStreams: Sendable {
    private struct State {
        var status = 0
        var fields: [(name: String, value: String)] = []
        var gaveUp = false
    }

    private let upload: StreamedTransfer.Upload
    private let receive: @Sendable (StreamedTransfer.Head, [UInt8]) -> Bool
    private let state = Mutex(State())

    init(
        upload: StreamedTransfer.Upload, receive: @escaping @Sendable (StreamedTransfer.Head, [UInt8]) -> Bool
    ) {
        self.upload = upload
        self.receive = receive
    }

    /// Whether one of the closures ended the transfer.
    var gaveUp: Bool { state.withLock { $0.gaveUp } }

    /// The head of the final answer.
    var head: StreamedTransfer.Head {
        state.withLock { StreamedTransfer.Head(status: $0.status, fields: $0.fields) }
    }

    /// Sets the callbacks. The transfer runs within one call of the caller, who holds this object until the call
    /// returns.
    func attach(to handle: UnsafeMutableRawPointer) -> CURLcode {
        let length: Int64 =
            switch upload {
            case .none: -2
            case .stream(let length, _): length ?? -1
            }
        return unsafe sluice_curl_set_streams(
            handle, Unmanaged.passUnretained(self).toOpaque(), giveUploadPart, takeStreamPart, takeStreamHead, length)
    }

    /// The next bytes of the request's body; `nil` to give up.
    fileprivate func next(_ most: Int) -> [UInt8]? {
        guard case .stream(_, let next) = upload else { return [] }
        guard let bytes = next(most), bytes.count <= most else {
            state.withLock { $0.gaveUp = true }
            return nil
        }
        return bytes
    }

    fileprivate func take(_ bytes: [UInt8]) -> Bool {
        let isTaken = receive(head, bytes)
        if !isTaken { state.withLock { $0.gaveUp = true } }
        return isTaken
    }

    /// Reads one line of a head. The next head replaces the head of an interim answer.
    fileprivate func takeLine(_ line: String) {
        state.withLock { state in
            if line.hasPrefix("HTTP/") {
                state.status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
                state.fields = []
            } else if let colon = line.firstIndex(of: ":") {
                let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
                state.fields.append((String(line[..<colon]), String(value)))
            }
        }
    }

    fileprivate static func from(_ context: UnsafeMutableRawPointer?) -> TransferStreams? {
        guard let context = unsafe context else { return nil }
        return unsafe Unmanaged<TransferStreams>.fromOpaque(context).takeUnretainedValue()
    }
}

/// Called for the next bytes of the request's body.
private func giveUploadPart(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    let abort = 0x1000_0000  // CURL_READFUNC_ABORT, a macro
    guard let streams = unsafe TransferStreams.from(context), let bytes = unsafe bytes,
        let next = streams.next(size * count)
    else { return abort }
    unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count).copyBytes(from: next)
    return next.count
}

/// Called with each part of the answer's body. Any result other than its length ends the transfer.
private func takeStreamPart(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    guard size * count > 0 else { return 0 }
    let part = unsafe Array(UnsafeRawBufferPointer(start: bytes, count: size * count))
    return unsafe TransferStreams.from(context)?.take(part) == true ? size * count : 0
}

/// Called with each line of the head.
private func takeStreamHead(
    bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
    let line = unsafe String(decoding: UnsafeRawBufferPointer(start: bytes, count: size * count), as: UTF8.self)
    unsafe TransferStreams.from(context)?.takeLine(line.trimmingLineBreak)
    return size * count
}

extension String {
    fileprivate var trimmingLineBreak: String {
        var text = self[...]
        while let last = text.last, last.isNewline { text.removeLast() }
        return String(text)
    }
}

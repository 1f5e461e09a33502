import Bytes
import StrictXML

/// Lists objects, page by page. Each page takes a link of its own.
public struct ObjectListing: Sendable {
    /// What was found.
    public struct Outcome: Sendable, Equatable {
        /// What keys with a further `/` begin with, up to and with that slash.
        public var folders: [String] = []
        /// The other objects.
        public var objects: [ListedObject] = []
    }

    /// Stores list no more entries at once.
    public static let largestPage = 1000

    private let pageSize: Int
    /// What a store answers to a request for a page.
    private let answer: @Sendable (LinkRequest) async throws(ClientFailure) -> [UInt8]

    /// Prepares listings.
    ///
    /// - Parameters:
    ///   - client: Asks the gateway.
    ///   - stop: Ends a listing.
    ///   - pageSize: Number of entries that one link asks for.
    public init(client: GatewayClient, stop: StopFlag, pageSize: Int = ObjectListing.largestPage) {
        let transfer = LinkTransfer(timeout: client.timeout, stop: stop, meter: TransferMeter())
        self.init(pageSize: pageSize) { (request) async throws(ClientFailure) -> [UInt8] in
            try await client.use(request) { (link) async throws(ClientFailure) -> [UInt8] in
                try await transfer.answer(to: link)
            }
        }
    }

    /// Prepares listings, with something in place of gateway and store.
    init(pageSize: Int, answer: @escaping @Sendable (LinkRequest) async throws(ClientFailure) -> [UInt8]) {
        self.pageSize = pageSize
        self.answer = answer
    }

    /// Lists the objects whose keys begin with a text.
    ///
    /// - Parameters:
    ///   - place: The bucket and the text, which may end inside a segment.
    ///   - recursive: Whether objects with a further `/` behind the text are listed themselves, and not their folders.
    public func entries(of place: ObjectAddress, recursive: Bool) async throws(ClientFailure) -> Outcome {
        var found = Outcome()
        try await pages(of: place, recursive: recursive) { page in
            found.folders += page.folders
            found.objects += page.objects
        }
        return found
    }

    /// Lists the objects whose keys begin with a text, and gives each page when it arrives.
    ///
    /// - Parameters:
    ///   - place: The bucket and the text, which may end inside a segment.
    ///   - recursive: Whether objects with a further `/` behind the text are listed themselves, and not their folders.
    ///   - take: Gets what is on a page. Stores order a listing, so folders may follow the objects of an earlier page.
    public func pages(
        of place: ObjectAddress, recursive: Bool, _ take: (_ page: Outcome) throws(ClientFailure) -> Void
    ) async throws(ClientFailure) {
        // Not all stores list keys in order, and some list a folder twice. None leads back to a page on purpose.
        var seen: Set<[UInt8]> = []
        var token: String?
        repeat {
            let list = LinkRequest.List(
                delimiter: recursive ? nil : "/", maxKeys: pageSize, continuationToken: token)
            let xml = try await answer(LinkRequest(listing: place, list))
            guard let page = ListedPage(xml) else { throw .unreachable("The store's answer is not a listing.") }
            // What is listed may be deleted, so it has to be what was asked for.
            guard page.keys.allSatisfy({ $0.utf8.starts(with: place.key.utf8) }) else {
                throw .unreachable("The store lists keys that do not begin with '\(place.key)'.")
            }
            if let next = page.next, !seen.insert(Array(next.utf8)).inserted {
                throw .unreachable("The store answers the same pages again and again.")
            }
            try take(Outcome(folders: page.folders, objects: page.objects))
            token = page.next
        } while token != nil
    }
}

/// An object that a store lists.
public struct ListedObject: Sendable, Equatable, Encodable {
    /// The key.
    public var key: String
    /// The length in bytes.
    public var size: Int64
    /// The time of the last change as the store writes it, RFC 3339, if the store tells it.
    public var lastModified: String?
    /// The entity tag without quotes, if the store tells it.
    public var etag: String?
}

/// A page of a listing: the answer to version 2 of the stores' operation.
struct ListedPage {
    var folders: [String] = []
    var objects: [ListedObject] = []
    /// What the next page is asked with; `nil` at the end.
    var next: String?

    /// Reads the XML; `nil` if it is not a listing, or not a whole one.
    init?(_ answer: [UInt8]) {
        guard let root = XMLElement.read(answer), root.name == "ListBucketResult" else { return nil }
        // A store that does not know the encoding leaves keys as they are, and names no encoding.
        let isEncoded = root.text("EncodingType")?.lowercased() == "url"
        for child in root.children {
            switch child.name {
            case "Contents":
                guard let key = child.text("Key").flatMap({ Self.key($0, isEncoded: isEncoded) }),
                    let size = child.text("Size").flatMap({ Int64($0) }), size >= 0
                else { return nil }
                objects.append(
                    ListedObject(
                        key: key, size: size, lastModified: child.text("LastModified"),
                        etag: child.text("ETag")?.withoutQuotes))
            case "CommonPrefixes":
                for prefix in child.children where prefix.name == "Prefix" {
                    guard let folder = Self.key(prefix.text, isEncoded: isEncoded) else { return nil }
                    folders.append(folder)
                }
            default: continue
            }
        }
        guard root.text("IsTruncated") == "true" else { return }
        guard let token = root.text("NextContinuationToken"), !token.isEmpty else { return nil }
        next = token
    }

    /// The beginnings of keys, and the keys.
    var keys: [String] { folders + objects.map(\.key) }

    /// Reads a key; `nil` if it is not UTF-8. Some stores encode a space as `+`, and all encode a plus sign.
    private static func key(_ text: String, isEncoded: Bool) -> String? {
        guard isEncoded else { return text }
        return PercentEncoding.text(text.utf8, plusIsSpace: true)
    }
}

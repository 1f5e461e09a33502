import Foundation
import Synchronization
import Terminal
import Testing

@testable import ObjectClient
@testable import ObjectCommands

/// What stores answer to listings, and what is printed of it.
@Suite struct ObjectListingTests {
    private func page(_ content: String) -> ListedPage? {
        ListedPage(Array("<?xml version='1.0'?><ListBucketResult>\(content)</ListBucketResult>".utf8))
    }

    private func object(_ key: String) -> String { "<Contents><Key>\(key)</Key><Size>1</Size></Contents>" }

    @Test func `a page gives folders, objects and where the next one begins`() throws {
        let page = try #require(
            self.page(
                """
                <Name>photos</Name><Prefix>a/</Prefix><MaxKeys>3</MaxKeys><Delimiter>/</Delimiter>
                <EncodingType>url</EncodingType><IsTruncated>true</IsTruncated><KeyCount>3</KeyCount>
                <NextContinuationToken>a+b/%20=</NextContinuationToken>
                <Contents><Key>a/cat.png</Key><LastModified>2030-03-17T17:46:40.000Z</LastModified>
                <ETag>&quot;0cc175b9&quot;</ETag><Size>24512</Size><StorageClass>STANDARD</StorageClass>
                <Owner><ID>me</ID><DisplayName>me</DisplayName></Owner></Contents>
                <Contents><Key>a/empty</Key><Size>0</Size></Contents>
                <CommonPrefixes><Prefix>a/b%20c/</Prefix></CommonPrefixes>
                """))
        let cat = ListedObject(
            key: "a/cat.png", size: 24_512, lastModified: "2030-03-17T17:46:40.000Z", etag: "0cc175b9")
        #expect(page.objects == [cat, ListedObject(key: "a/empty", size: 0, lastModified: nil, etag: nil)])
        // The token is the store's own, and goes back as it came.
        #expect(page.folders == ["a/b c/"] && page.next == "a+b/%20=")
        #expect(page.keys == ["a/b c/", "a/cat.png", "a/empty"])
    }

    @Test func `keys are decoded where the store encodes them, and are left alone elsewhere`() throws {
        let encoded = "<EncodingType>url</EncodingType>"
        for text in ["a%20b%2Bc%2541%20%C3%BC", "a+b%2Bc%2541+%c3%bc", "a b%2Bc%2541 \u{fc}"] {
            #expect(page(encoded + object(text))?.keys == ["a b+c%41 \u{fc}"], "\(text)")
        }
        #expect(page(object("a%20b+c &amp; d"))?.keys == ["a%20b+c & d"])
        let folders = "<CommonPrefixes><Prefix>a+/</Prefix><Prefix>b/</Prefix></CommonPrefixes>"
        #expect(page(folders)?.keys == ["a+/", "b/"])
        let empty = try #require(page("<IsTruncated>false</IsTruncated>"))
        #expect(empty.keys.isEmpty && empty.next == nil)
    }

    @Test(arguments: [
        "<Contents><Key>a</Key></Contents>", "<Contents><Size>1</Size></Contents>",
        "<Contents><Key>a</Key><Size>-1</Size></Contents>", "<Contents><Key>a</Key><Size>x</Size></Contents>",
        // Neither is UTF-8.
        "<EncodingType>url</EncodingType><Contents><Key>%FF</Key><Size>1</Size></Contents>",
        "<EncodingType>url</EncodingType><CommonPrefixes><Prefix>%F</Prefix></CommonPrefixes>",
        // More is there, but nobody can ask for it.
        "<IsTruncated>true</IsTruncated>", "<IsTruncated>true</IsTruncated><NextContinuationToken/>",
    ])
    func whatIsIncompleteIsNoPage(content: String) {
        #expect(page(content) == nil)
    }

    @Test func `another document is no page`() {
        #expect(ListedPage(Array("<html/>".utf8)) == nil && ListedPage(Array("<ListBucketResult>".utf8)) == nil)
    }

    @Test func `a request for a listing has a prefix and no key`() throws {
        let place = try ObjectAddress(place: "photos")
        let list = LinkRequest.List(delimiter: "/", maxKeys: 2, continuationToken: nil)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let listing = try encoder.encode(LinkRequest(listing: place, list))
        #expect(
            String(decoding: listing, as: UTF8.self) == """
                {"action":"ListObjects","bucket":"photos","list":{"delimiter":"/","encodingType":"url","maxKeys":2},\
                "prefix":""}
                """)
        let deletion = try encoder.encode(LinkRequest(deleting: ObjectAddress("photos/a")))
        #expect(
            String(decoding: deletion, as: UTF8.self) == #"{"action":"DeleteObject","bucket":"photos","key":"a"}"#)
    }

    @Test func `a place is a bucket, or what keys begin with`() throws {
        for text in ["photos", "photos/", "sluice://photos", "sluice://photos/"] {
            #expect(try ObjectAddress(place: text) == ObjectAddress(bucket: "photos", key: ""), "\(text)")
        }
        for (key, folder) in [("", ""), ("a", ""), ("a/", "a/"), ("a/b/c", "a/b/"), ("a/\u{301}x", "a/")] {
            #expect(try ObjectAddress(place: "photos/\(key)").folder.utf8.elementsEqual(folder.utf8), "\(key)")
        }
        for wrong in ["", "/key", "sluice://"] {
            #expect(throws: ClientFailure.self, "\(wrong)") { try ObjectAddress(place: wrong) }
        }
    }

    /// A listing whose pages a function writes, by the token that asks for each.
    private func listing(
        _ write: @escaping @Sendable (_ token: String?) throws(ClientFailure) -> String
    ) -> ObjectListing {
        ObjectListing(pageSize: 1) { (request) async throws(ClientFailure) -> [UInt8] in
            let content = try write(request.list?.continuationToken)
            return Array("<ListBucketResult>\(content)</ListBucketResult>".utf8)
        }
    }

    /// A page with one object, after which another page comes.
    private static func page(_ key: String, next: String) -> String {
        "<Contents><Key>\(key)</Key><Size>1</Size></Contents><IsTruncated>true</IsTruncated>"
            + "<NextContinuationToken>\(next)</NextContinuationToken>"
    }

    /// Counts requests.
    private final class Count: Sendable {
        private let number = Mutex(0)

        var value: Int { number.withLock { $0 } }

        func increase() -> Int {
            number.withLock { number -> Int in
                number += 1
                return number
            }
        }
    }

    @Test(arguments: [1, 2, 5]) func `pages in a circle end a listing, however long it is`(length: Int) async throws {
        let count = Count()
        let circle = listing { _ in
            let number = count.increase()
            // A listing that does not notice ends here.
            return number < 50 ? Self.page("a\(number)", next: "t\(number % length)") : ""
        }
        let place = try ObjectAddress(place: "photos")
        let failure = await #expect(throws: ClientFailure.self) {
            try await circle.entries(of: place, recursive: true)
        }
        #expect(failure == .unreachable("The store answers the same pages again and again."))
        #expect(count.value == length + 1)
    }

    @Test func `a page is given when it arrives, and one that fails takes none back`() async throws {
        let pages = listing { (token) throws(ClientFailure) -> String in
            switch token {
            case nil: return Self.page("a", next: "1")
            case "1": return Self.page("b", next: "2")
            default: throw .unreachable("cut")
            }
        }
        let place = try ObjectAddress(place: "photos")
        var keys: [[String]] = []
        do throws(ClientFailure) {
            try await pages.pages(of: place, recursive: true) { page in keys.append(page.objects.map(\.key)) }
            Issue.record("the third page failed")
        } catch {
            #expect(error == .unreachable("cut"))
        }
        #expect(keys == [["a"], ["b"]])
    }

    private let found = ObjectListing.Outcome(
        folders: ["a/b/"],
        objects: [
            // Some programs make an object for a folder.
            ListedObject(key: "a/", size: 0, lastModified: nil, etag: nil),
            ListedObject(key: "a/cat.png", size: 24_512, lastModified: "2030-03-17T17:46:40.123Z", etag: nil),
            ListedObject(key: "a/c\u{1b}[m", size: 1, lastModified: "2030-03-17T17:46:40Z", etag: nil),
        ])

    @Test func `a table has folders first, without size and time, and nothing that a terminal obeys`() {
        let file = TerminalStream(isTerminal: false, columns: nil, environment: [:])
        #expect(
            ListCommand.table(found, in: "a/", on: file, hasHeading: true) == """
                SIZE        LAST-MODIFIED         NAME
                -           -                     b/
                0 B         -                     a/
                23.9 KiB    2030-03-17T17:46:40Z  cat.png
                1 B         2030-03-17T17:46:40Z  c\\u{1b}[m

                """)
        // The lines of a later page line up with these.
        let later = ObjectListing.Outcome(objects: [ListedObject(key: "a/z", size: 1 << 50, lastModified: nil)])
        #expect(
            ListCommand.table(later, in: "a/", on: file, hasHeading: false) == """
                1024.0 TiB  -                     z

                """)
        let whole = ListCommand.table(found, in: "", on: file, hasHeading: true)
        #expect(whole.contains("  a/b/\n") && whole.contains("  a/cat.png\n"))
        #expect(ListCommand.table(ObjectListing.Outcome(), in: "a/", on: file, hasHeading: true) == "")
        let terminal = TerminalStream(isTerminal: true, columns: 20, environment: ["TERM": "xterm"])
        let bold = ListCommand.table(found, in: "a/", on: terminal, hasHeading: true)
        #expect(bold.hasPrefix("\u{1B}[1mSIZE        LAST-MODIFIED         NAME\u{1B}[0m\n-  "))
    }
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import PrometheusMetrics
import Synchronization
import Testing

@Suite("POST /v1/events/…")
struct StoreEventTests {
    private static let time = "2030-03-17T17:46:40.123Z"

    private static func s3(
        key: String, bucket: String = "photos", event: String = "ObjectCreated:Put", source: String = "aws:s3",
        time: String = time
    ) -> String {
        """
        {"eventVersion":"2.1","eventSource":"\(source)","eventTime":"\(time)","eventName":"\(event)","x":{"y":[1.5e3,null]},
        "s3":{"bucket":{"name":"\(bucket)","arn":"a"},"object":{"key":"\(key)","size":5,"eTag":"\\"tag\\"","sequencer":"0A"}}}
        """
    }

    private func post(
        _ gateway: TestGateway, _ records: [String], to path: String = "/v1/events/s3",
        token: String? = MemoryStoreEvents.secret
    ) async -> TestAnswer {
        await gateway.send(.post, path, token: token, json: #"{"Records":[\#(records.joined(separator: ","))]}"#)
    }

    private func keys(_ gateway: TestGateway) -> [String] { gateway.events.objects.withLock { $0.map(\.key.rawValue) } }

    @Test("notes objects that were made, by their decoded keys; Ceph encodes none")
    func keysAreDecoded() async {
        let gateway = TestGateway()
        let answer = await post(
            gateway,
            [
                Self.s3(key: "a+b%2Bc%C3%BC/%25.bin"), Self.s3(key: "a+b%2B", source: "ceph:s3"),
                Self.s3(key: "m", event: "s3:ObjectCreated:CompleteMultipartUpload", source: "minio:s3"),
            ])
        #expect(answer.status == 200 && answer.number("noted") == 3, "\(answer.text)")
        #expect(keys(gateway) == ["a b+cü/%.bin", "a+b%2B", "m"])
        let made = gateway.events.objects.withLock { $0[0] }
        #expect(made.size == 5 && made.etag == "tag" && made.madeAt.timeIntervalSince1970 == 1_900_000_000.123)
        // Ceph, before 2021.
        let former = Self.s3(key: "f", source: "ceph:s3").replacing("eTag", with: "etag")
        #expect(await post(gateway, [former]).status == 200)
        #expect(gateway.events.objects.withLock { $0.last }?.etag == "tag")
    }

    @Test("ignores what no upload can have made, and counts it")
    func ignored() async {
        let gateway = TestGateway()
        let hostile = [
            "", "/a", "../a", "a//b", "a/../b", "%00", "%2", "%zz", "%ff", "a%0d%0ab", "%24%7Bx%7D",
            String(repeating: "k", count: 1024),
        ]
        var records = hostile.map { Self.s3(key: $0) }
        records.append(Self.s3(key: "a", event: "ObjectRemoved:Delete"))
        records.append(Self.s3(key: "a", event: "TestEvent"))
        records.append(Self.s3(key: "a", time: "2030-03-01T00:00:00Z"))
        records.append(Self.s3(key: "a", time: "2031-01-01T00:00:00Z"))
        records.append(Self.s3(key: "a", time: "yesterday"))
        records += [Self.s3(key: "good"), Self.s3(key: "good")]
        let answer = await post(gateway, records)
        #expect(answer.status == 200, "\(answer.text)")
        #expect(answer.number("ignored").map { $0 >= hostile.count + 5 } == true)
        #expect(Set(keys(gateway)) == ["good"])
        let page = String(decoding: gateway.metrics.text(), as: UTF8.self)
        #expect(!page.contains(#"sluice_store_events_total{outcome="ignored"} 0"#), "\(page)")
    }

    @Test("refuses all where one is of another bucket")
    func otherBucket() async {
        let gateway = TestGateway()
        let answer = await post(gateway, [Self.s3(key: "a"), Self.s3(key: "b", bucket: "secrets")])
        #expect(answer.status == 403 && keys(gateway).isEmpty)
        let removal = await post(gateway, [Self.s3(key: "b", bucket: "secrets", event: "ObjectRemoved:Delete")])
        #expect(removal.status == 403)
    }

    @Test("takes the secret from the query, as a bearer token and as a password, and no other")
    func secrets() async {
        let basic = Data("store:\(MemoryStoreEvents.secret)".utf8).base64EncodedString()
        let gateway = TestGateway()
        func status(_ authorization: String?, _ query: String = "") async -> Int {
            var headers: HeaderFields = [:]
            headers[.authorization] = authorization
            return await gateway.send(
                .post, "/v1/events/s3" + query, headers: headers, json: #"{"Event":"s3:TestEvent","Bucket":"photos"}"#
            ).status
        }
        #expect(await status("Bearer \(MemoryStoreEvents.secret)") == 200)
        #expect(await status("Basic \(basic)") == 200)
        #expect(await status("basic \(basic)") == 200)
        #expect(await status("anything of the store's own", "?secret=\(MemoryStoreEvents.secret)") == 200)
        for wrong in [
            nil, "Bearer x", "Bearer user-token", "Bearer admin-token", "Basic !",
            "Basic \(Data("x".utf8).base64EncodedString())",
            "Bearer \(MemoryStoreEvents.secret.dropLast())t",
            "Bearer sluicee_zzzzzzzzzzzz_\(String(repeating: "s", count: 43))",
        ] {
            #expect(await status(wrong) == 401, "\(wrong ?? "none")")
        }
        #expect(await status(nil, "?secret=\(MemoryStoreEvents.secret)&secret=x") == 400)
        #expect(await status(nil, "?secret=x") == 401)
        // Without the secret, no part of a message is read.
        #expect(await gateway.send(.post, "/v1/events/s3?nosuch=1", json: "{").status == 401)
        #expect(!gateway.logLines.contains(MemoryStoreEvents.secret))
    }

    @Test("takes 1,000 events and not 10,000")
    func many() async {
        let gateway = TestGateway()
        #expect(await post(gateway, (0..<1000).map { Self.s3(key: "k\($0)") }).number("noted") == 1000)
        let answer = await post(gateway, (0..<10_000).map { Self.s3(key: "k\($0)") })
        #expect(answer.status == 400 && answer.string("field") == "Records")
        #expect(keys(gateway).count == 1000)
    }

    @Test("takes messages that Amazon SNS wraps, whatever type it says they are of")
    func sns() async throws {
        let gateway = TestGateway()
        let inner = #"{"Records":[\#(Self.s3(key: "a"))]}"#
        func send(_ message: [String: String]) async throws -> TestAnswer {
            let json = String(decoding: try JSONSerialization.data(withJSONObject: message), as: UTF8.self)
            return await gateway.send(
                .post, "/v1/events/s3?secret=\(MemoryStoreEvents.secret)",
                headers: [.contentType: "text/plain; charset=UTF-8"], json: json)
        }
        #expect(try await send(["Type": "Notification", "Message": inner]).number("noted") == 1)
        #expect(keys(gateway) == ["a"])
        let subscription = try await send(
            ["Type": "SubscriptionConfirmation", "SubscribeURL": "http://169.254.169.254/", "Message": "x"])
        #expect(subscription.status == 400 && subscription.string("field") == "Type")
        #expect(try await send(["Type": "Notification", "Message": "{"]).status == 400)
    }

    @Test(
        "refuses what is no message of a store",
        arguments: ["", "{", "[]", "null", "{}", #"{"Records":1}"#, #"{"Records":[1]}"#, #"{"Records":[{}]}"#])
    func malformed(json: String) async {
        for path in ["/v1/events/s3", "/v1/events/oss"] {
            let answer = await TestGateway().send(.post, path, token: MemoryStoreEvents.secret, json: json)
            #expect(answer.status == 400, "\(path) \(json): \(answer.text)")
        }
    }

    @Test("takes notifications of Alibaba OSS in each of their forms, and callbacks")
    func oss() async {
        func event(_ key: String) -> String {
            """
            {"eventName":"ObjectCreated:PutObject","eventSource":"acs:oss","eventTime":"\(Self.time)","eventVersion":"1.0",
            "oss":{"bucket":{"name":"photos"},"object":{"deltaSize":5,"eTag":"5EB6","key":"\(key)","size":5},"ruleId":"r"}}
            """
        }
        func envelope(_ message: String) -> String {
            #"{"TopicOwner":"1","TopicName":"t","Message":"\#(message)","MessageMD5":"0"}"#
        }
        let gateway = TestGateway()
        let plain = #"{"events":[\#(event("a+b%20"))]}"#
        let callback = #"{"bucket":"photos","object":"d","size":7,"etag":"\"E\"","mimeType":"image/png","my_var":"x"}"#
        for body in [
            plain, Data(#"{"events":[\#(event("b"))]}"#.utf8).base64EncodedString(),
            #"{"id":"1","source":"acs.oss","type":"oss:ObjectCreated:PutObject","data":\#(event("c"))}"#, callback,
            "bucket=photos&object=e+f%2Fg&size=9&etag=%22E%22&mimeType=image%2Fpng",
            envelope(Data(#"{"events":[\#(event("h"))]}"#.utf8).base64EncodedString()),
            envelope(#"{\"bucket\":\"photos\",\"object\":\"i\"}"#),
        ] {
            let answer = await gateway.send(
                .post, "/v1/events/oss?secret=\(MemoryStoreEvents.secret)",
                headers: [
                    .authorization: "kKQeGTRccDKyHB3H9vF+xYMSrmhMZjzzl2/kdD1ktNVgbWE=", .contentType: "text/plain",
                ],
                json: body)
            #expect(answer.status == 200 && answer.number("noted") == 1, "\(body): \(answer.text)")
        }
        #expect(keys(gateway) == ["a+b%20", "b", "c", "d", "e f/g", "h", "i"])
        let xml = await gateway.send(
            .post, "/v1/events/oss", token: MemoryStoreEvents.secret, json: "<Notification><Message/></Notification>")
        #expect(xml.status == 400 && xml.text.contains("NotifyContentFormat"), "\(xml.text)")
        let other = await gateway.send(
            .post, "/v1/events/oss", token: MemoryStoreEvents.secret, json: #"{"bucket":"other","object":"a"}"#)
        #expect(other.status == 403)
    }

    /// OSS counts the start of an upload in parts, and each part, among the creations of objects.
    @Test(
        "does not take parts of an object for the object",
        arguments: ["InitiateMultipartUpload", "UploadPart", "UploadPartCopy"], ["", "oss:"])
    func ossParts(name: String, vocabulary: String) async {
        let gateway = TestGateway()
        let answer = await gateway.send(
            .post, "/v1/events/oss", token: MemoryStoreEvents.secret,
            json: """
                {"events":[{"eventName":"\(vocabulary)ObjectCreated:\(name)","eventTime":"\(Self.time)",
                "oss":{"bucket":{"name":"photos"},"object":{"eTag":"5EB6","key":"a","size":5}}}]}
                """)
        #expect(answer.status == 200 && answer.number("noted") == 0 && answer.number("ignored") == 1, "\(answer.text)")
        #expect(keys(gateway) == [])
    }

    /// MinIO counts these among the creations of objects. They say nothing of an upload.
    @Test(
        "does not take a change of an object for a new one",
        arguments: ["PutTagging", "DeleteTagging", "PutRetention", "PutLegalHold"], ["", "s3:"])
    func changesOfObjects(name: String, vocabulary: String) async {
        let gateway = TestGateway()
        let answer = await post(
            gateway, [Self.s3(key: "a", event: "\(vocabulary)ObjectCreated:\(name)", source: "minio:s3")])
        #expect(answer.status == 200 && answer.number("noted") == 0 && answer.number("ignored") == 1, "\(answer.text)")
        #expect(keys(gateway) == [])
        let made = await post(
            gateway,
            ["Put", "Post", "Copy", "CompleteMultipartUpload"].map {
                Self.s3(key: $0, event: "\(vocabulary)ObjectCreated:\($0)", source: "minio:s3")
            })
        #expect(made.number("noted") == 4, "\(made.text)")
    }

    @Test("is let in by a secret that admins make, see no more, rotate and remove")
    func secretOfABucket() async throws {
        let gateway = TestGateway()
        let path = "/admin/v1/buckets/photos/event-secret"
        let made = await gateway.send(.post, path, token: "admin-token", json: #"{"overlapSeconds":60}"#)
        #expect(made.status == 201 && made.string("previousExpiresAt") != nil, "\(made.text)")
        let secret = try #require(made.string("secret"))
        #expect(await post(gateway, [Self.s3(key: "a")], token: secret).status == 200)
        let read = await gateway.send(.get, path, token: "auditor-token")
        #expect(read.status == 200 && read.string("name") == made.string("name") && !read.text.contains(secret))
        for body in [#"{"overlapSeconds":-1}"#, #"{"overlapSeconds":604801}"#] {
            let refused = await gateway.send(.post, path, token: "admin-token", json: body)
            #expect(refused.string("field") == "overlapSeconds")
        }
        #expect(await gateway.send(.delete, path, token: "admin-token").status == 204)
        #expect(await gateway.send(.delete, path, token: "admin-token").string("code") == "NoSuchEventSecret")
        #expect(await gateway.send(.get, path, token: "auditor-token").status == 404)
        #expect(await post(gateway, [Self.s3(key: "b")], token: secret).status == 401)
        #expect(!gateway.logLines.contains(secret))
    }
}

import Foundation
import GatewayCore
import HTTPServing
import HTTPTypes
import LibCrypto
import Testing

@testable import GatewayAPI

/// The request of a case, as its client sends it, and what the answer says.
struct MatrixRequest {
    private static let oid = DigestAlgorithm.sha256.digest(of: "an object").hex
    private static let key = "uploads/a.png"

    /// The size that a case states where one has to be stated.
    static func size(of world: MatrixWorld) -> Int64 { world.length ?? 900 }

    /// Whether a client's string is meant for Alibaba OSS.
    static func isInWordsOfOSS(_ world: MatrixWorld) -> Bool { (world.provider == .oss) != world.isForeign }

    let method: HTTPRequest.Method
    let path: String
    private(set) var headers: HeaderFields = [.authorization: "Bearer user-token"]
    private(set) var body: String?
    private let way: MatrixWorld.Way

    /// Makes the request of a case.
    ///
    /// - Parameters:
    ///   - world: The case.
    ///   - bucket: Name of the bucket to ask for.
    init(_ world: MatrixWorld, bucket: String = "photos") throws {
        way = world.way
        let upload = "/v1/multipart-uploads"
        let companion = "/companion/s3"
        let id = MemoryUploads.openID.uuidString.lowercased()
        var json: [String: Any]?
        switch way {
        case .url:
            (method, path, json) = (.post, "/v1/presigned-urls", Self.link(world, bucket))
        case .batch:
            (method, path, json) = (.post, "/v1/presigned-urls/batch", ["items": [Self.link(world, bucket)]])
        case .form:
            (method, path) = (.post, "/v1/post-policies")
            json = ["bucket": bucket, "key": Self.key, "contentTypes": [world.type], "maxBytes": Self.size(of: world)]
            json?["expiresIn"] = world.expiresIn
        case .start:
            (method, path) = (.post, upload)
            json = ["bucket": bucket, "key": Self.key, "contentType": world.type]
            json?["contentLength"] = world.length
        case .part:
            (method, path) = (.post, "\(upload)/\(id)/parts")
            var part: [String: Any] = ["partNumber": 1]
            part["contentLength"] = world.length
            part["contentMD5"] = world.contentMD5
            json = ["parts": [part]]
            json?["expiresIn"] = world.expiresIn
        case .complete:
            (method, path) = (.post, "\(upload)/\(id):complete")
            json = ["parts": [["partNumber": 1, "etag": "e1"] as [String: Any]]]
        case .redirect: (method, path) = (.get, "/v1/objects/\(bucket)/\(Self.key)")
        case .session:
            (method, path) = (.post, "/v1/sts")
            json = ["bucket": bucket, "prefix": "uploads/", "actions": [world.action.rawValue]]
        case .cookies:
            (method, path, json) = (.post, "/v1/cdn-cookies", ["bucket": bucket, "prefix": "uploads/"])
            json?["expiresIn"] = world.expiresIn
        case .string:
            (method, path) = (.post, "/v1/signatures/" + (Self.isInWordsOfOSS(world) ? "oss" : "aws-v2"))
            json = ["content": Self.string(world, bucket)]
        case .containerCredentials:
            (method, path) = (.get, "/v1/sts/aws/\(bucket)/uploads/?actions=\(world.action.rawValue)")
        case .webIdentity:
            (method, path) = (.post, "/v1/aws/sts")
            headers = [.contentType: "application/x-www-form-urlencoded"]
            body =
                "Action=AssumeRoleWithWebIdentity&Version=2011-06-15&RoleSessionName=backup&WebIdentityToken=user-token"
                + "&RoleArn=arn%3Aaws%3Aiam%3A%3A000000000000%3Arole%2Fsluice%2F\(bucket)%2Fuploads%2F"
        case .gitLFS:
            (method, path) = (.post, "/lfs/\(bucket)/uploads/objects/batch")
            headers[.contentType] = "application/vnd.git-lfs+json"
            json = [
                "operation": world.action == .putObject ? "upload" : "download",
                "objects": [["oid": Self.oid, "size": Self.size(of: world)] as [String: Any]],
            ]
        case .request:
            (method, path, json) = (.post, "/v1/aws/s3/sign", Self.request(world, bucket))
        case .companionForm:
            (method, path) = (.get, companion + "/params?filename=a.png&type=" + world.type.replacing("/", with: "%2F"))
        case .companionStart:
            (method, path, json) = (.post, companion + "/multipart", ["filename": "a.png", "type": world.type])
        case .companionPart:
            (method, path) = (.get, "\(companion)/multipart/\(id)/1?key=uploads%2Fa.png")
        case .companionComplete:
            (method, path) = (.post, "\(companion)/multipart/\(id)/complete?key=uploads%2Fa.png")
            json = ["parts": [["PartNumber": 1, "ETag": "e1"] as [String: Any]]]
        case .companionSession: (method, path) = (.get, companion + "/sts")
        }
        if path.hasPrefix(companion) {
            headers[.sluiceBucket] = bucket
            headers[.sluicePrefix] = "uploads/"
        }
        if let json { body = String(decoding: try JSONSerialization.data(withJSONObject: json), as: UTF8.self) }
    }

    /// Sends the request.
    func send(to gateway: TestGateway) async -> TestAnswer {
        await gateway.send(method, path, headers: headers, json: body)
    }

    /// Whether steps of an upload are asked for by its identifier, without a bucket.
    var namesNoBucket: Bool { [.part, .complete, .companionPart, .companionComplete].contains(way) }

    private static func link(_ world: MatrixWorld, _ bucket: String) -> [String: Any] {
        var item: [String: Any] = ["action": world.action.rawValue, "bucket": bucket]
        item[world.action == .listObjects ? "prefix" : "key"] = world.action == .listObjects ? "uploads/" : key
        item["expiresIn"] = world.expiresIn
        guard world.action == .putObject else { return item }
        item["contentType"] = world.type
        item["contentLength"] = world.length
        item["contentMD5"] = world.contentMD5
        return item
    }

    private static func string(_ world: MatrixWorld, _ bucket: String) -> String {
        let method = world.action == .putObject ? "PUT" : world.action == .getObject ? "GET" : "DELETE"
        let isUpload = world.action == .putObject
        return "\(method)\n\(isUpload ? world.contentMD5 ?? "" : "")\n\(isUpload ? world.type : "")\n"
            + "Sun, 17 Mar 2030 17:46:40 GMT\n/\(bucket)/\(key)"
    }

    private static func request(_ world: MatrixWorld, _ bucket: String) -> [String: Any] {
        let root = "https://store.example/\(bucket)"
        var headers: [String: [String]] = [:]
        if world.action == .putObject {
            headers["content-type"] = [world.type]
            headers["content-md5"] = world.contentMD5.map { [$0] }
            headers["content-length"] = world.length.map { ["\($0)"] }
        }
        let (method, uri) =
            switch world.action {
            case .putObject: ("PUT", "\(root)/\(key)")
            case .getObject: ("GET", "\(root)/\(key)")
            case .deleteObject: ("DELETE", "\(root)/\(key)")
            case .listObjects: ("GET", "\(root)?list-type=2&prefix=uploads%2F")
            }
        return ["method": method, "uri": uri, "region": "eu-west-1", "headers": headers]
    }
}

/// What an answer says, whatever its protocol: the code of a refusal in the gateway's own words.
struct MatrixOutcome {
    /// The code; `nil` where a credential is in the answer.
    let code: String?
    /// The refusal without what differs from request to request.
    let refusal: String

    init(_ answer: TestAnswer, of way: MatrixWorld.Way) {
        let item: [String: Any]?
        switch way {
        case .batch, .part: item = (answer.json["results"] as? [[String: Any]])?.first
        case .gitLFS: item = (answer.json["objects"] as? [[String: Any]])?.first
        default: item = answer.json
        }
        refusal = Self.plain(item ?? [:], answer)
        switch way {
        case .gitLFS:
            let status = (item?["error"] as? [String: Any])?["code"] as? Int
            code = status.map { Self.words[$0] ?? "\($0)" } ?? (item?["actions"] == nil ? "nothing" : nil)
        case .webIdentity:
            let text = answer.text.split(separator: "<Code>").last?.prefix { $0 != "<" }
            code = answer.status == 200 ? nil : text == "Throttling" ? "QuotaExceeded" : text.map { String($0) }
        case .request:
            code = (item?["error"] as? [String: Any])?["type"] as? String ?? (answer.status == 200 ? nil : "nothing")
        case .redirect: code = answer.status == 303 ? nil : answer.string("code") ?? "nothing"
        default: code = item?["code"] as? String ?? (answer.status < 300 ? nil : "nothing")
        }
    }

    /// The statuses of Git LFS.
    private static let words = [
        403: "AccessDenied", 413: "EntityTooLarge", 422: "NotEnforceable", 429: "QuotaExceeded", 509: "QuotaExceeded",
    ]

    private static func plain(_ item: [String: Any], _ answer: TestAnswer) -> String {
        var members = item
        for name in ["requestID", "requestId", "request_id"] { members[name] = nil }
        let json = try? JSONSerialization.data(withJSONObject: members, options: .sortedKeys)
        let text = members.isEmpty ? answer.text : String(decoding: json ?? Data(), as: UTF8.self)
        return "\(answer.status) " + text.replacing(/<RequestId>.*<\/RequestId>/, with: "")
    }
}

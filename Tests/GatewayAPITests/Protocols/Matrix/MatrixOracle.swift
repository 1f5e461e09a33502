import Foundation
import GatewayCore

/// What must come of a case, by the words of the documents alone: docs/deciding-and-binding.md, docs/protocols and
/// docs/links.md. No function of the gateway is asked.
struct MatrixOracle {
    /// The codes of refusals, of which one is right; empty where the credential must be issued.
    private(set) var codes: Set<String> = []
    /// Whether nothing may be told apart from a bucket that does not exist.
    private(set) var isVeiled = false

    private let world: MatrixWorld
    private let way: MatrixWorld.Way

    init(_ world: MatrixWorld) {
        (self.world, way) = (world, world.way)
        codes = offences
        // Policy changes when a request comes as far as the ledger.
        let isRevoked = world.weather == .revoked && codes.isEmpty
        let isClosed = world.weather == .notOpened || world.weather == .closed && codes.isEmpty
        isVeiled = !world.isGranted || isRevoked || isClosed && !way.protocols.isEmpty
        if isVeiled { codes = ["AccessDenied"] }
        if codes.isEmpty, usesUpQuota { codes = ["QuotaExceeded"] }
    }

    // MARK: What schemes bind: the table "What a URL binds"

    private var bindsLength: Bool { [.awsV4, .ossV4, .gcsV4RSA, .gcsV4HMAC].contains(world.scheme) }
    private var bindsLargest: Bool { world.provider == .gcs }
    private var hasForms: Bool { ![.awsV2, .gcsV2RSA].contains(world.scheme) }
    private var listsPrefix: Bool { ![.awsV2, .ossV1, .gcsV2RSA].contains(world.scheme) }

    /// Strings of AWS version 2 bind parameters only at buckets that chose it.
    private var isStringThatBindsNoParameter: Bool {
        way == .string && [.gcs, .s3].contains(world.provider) && world.scheme != .awsV2
    }

    private func has(_ condition: MatrixWorld.Condition) -> Bool { world.conditions.contains(condition) }
    private var countsBytes: Bool { world.limit == .bytes || world.limit == .bytesUsedUp }

    /// Largest number of bytes that can arrive by an upload; `nil` where nothing bounds them.
    private var bound: Int64? {
        switch way {
        case .url, .batch:
            if let length = world.length { return bindsLength || bindsLargest ? length : nil }
            return has(.maxBytes) && bindsLargest ? MatrixWorld.maxBytes : nil
        case .gitLFS: return bindsLength || bindsLargest ? MatrixRequest.size(of: world) : nil
        case .form: return MatrixRequest.size(of: world)
        case .companionForm: return has(.maxBytes) ? MatrixWorld.maxBytes : nil
        case .part: return bindsLength ? world.length : nil
        case .request: return world.length
        default: return nil
        }
    }

    private var carriesBytes: Bool {
        world.action == .putObject && !way.isSession
            && ![.start, .complete, .companionStart, .companionComplete].contains(way)
    }

    // MARK: Refusals

    private var offences: Set<String> {
        var codes: Set<String> = []
        if has(.outside) || has(.notYet) || has(.ended) { codes.insert("AccessDenied") }
        if way.isSession { return codes.union(offencesOfSession) }
        if way == .cookies {
            let bringsParameters = world.provider == .oss && world.dropsParameters != true
            return has(.forceDownload) || !world.isOpen || bringsParameters ? codes.union(["NotEnforceable"]) : codes
        }
        if way == .string {
            let isOSS = world.provider == .oss
            if world.isServiceAccount || MatrixRequest.isInWordsOfOSS(world) != isOSS { codes.insert("NotEnforceable") }
        }
        if way == .request, world.scheme != .awsV4 { codes.insert("NotEnforceable") }
        // Both sign for a quarter of an hour, and the client fixes it.
        if way == .string || way == .request, has(.maxTTL) || has(.endsSoon) { codes.insert("NotEnforceable") }
        switch world.action {
        case .putObject: codes.formUnion(offencesOfUpload)
        case .getObject: codes.formUnion(offencesOfDownload)
        case .listObjects: if !listsPrefix { codes.insert("NotEnforceable") }
        case .deleteObject:
            if world.scheme == .gcsV2RSA || isStringThatBindsNoParameter { codes.insert("NotEnforceable") }
        }
        return codes
    }

    private var offencesOfSession: Set<String> {
        var codes: Set<String> = []
        if world.provider == .gcs || has(.maxTTL) || has(.endsSoon) { codes.insert("NotEnforceable") }
        switch world.action {
        case .putObject:
            if has(.contentTypes) || has(.maxBytes) || has(.requireContentMD5) || countsBytes {
                codes.insert("NotEnforceable")
            }
            if world.provider == .oss, !world.permitsSymlinks { codes.insert("NotEnforceable") }
        case .getObject: if has(.forceDownload) || !world.isOpen { codes.insert("NotEnforceable") }
        case .listObjects, .deleteObject: break
        }
        return codes
    }

    private var offencesOfDownload: Set<String> {
        var codes: Set<String> = []
        let isUnsigned = world.scheme == .gcsV2RSA || isStringThatBindsNoParameter
        if isUnsigned, has(.forceDownload) || !world.isOpen { codes.insert("NotEnforceable") }
        // The client wrote its request without the header that the grant forces.
        if way == .string || way == .request, has(.forceDownload) { codes.insert("NotEnforceable") }
        return codes
    }

    private var offencesOfUpload: Set<String> {
        var codes: Set<String> = []
        let type = way == .gitLFS ? "application/octet-stream" : world.type
        if has(.contentTypes), !type.hasPrefix("image/") { codes.insert("AccessDenied") }
        if has(.requireContentMD5) { codes.formUnion(offencesOfMD5) }
        if isInParts, world.scheme == .gcsV2RSA { codes.insert("NotEnforceable") }
        if way == .form || way == .companionForm, !hasForms { codes.insert("NotEnforceable") }
        if way == .gitLFS, world.scheme != .awsV4 {
            // Without a SHA-256 only the size is checked, and still nothing is replaced.
            if !world.opensVerify || world.scheme == .awsV2 { codes.insert("NotEnforceable") }
        }
        if has(.maxBytes) { codes.formUnion(offencesOfLimit) }
        if countsBytes { codes.formUnion(offencesOfQuota) }
        return codes
    }

    /// What a grant with `requireContentMD5` refuses.
    private var offencesOfMD5: Set<String> {
        switch way {
        // Nothing of these can state one. Neither would Uppy's parts.
        case .form, .companionForm, .companionStart: ["NotEnforceable"]
        case .url, .batch, .part, .string, .request: world.contentMD5 == nil ? ["AccessDenied"] : []
        default: carriesBytes ? ["AccessDenied"] : []
        }
    }

    private var isInParts: Bool {
        [.start, .part, .complete, .companionStart, .companionPart, .companionComplete].contains(way)
    }

    /// What a grant with `maxBytes` refuses.
    private var offencesOfLimit: Set<String> {
        var codes: Set<String> = []
        switch way {
        case .companionForm: return []
        case .companionStart: return ["NotEnforceable"]
        // Nobody knows how much the parts are together.
        case .companionPart: return ["AccessDenied", "NotEnforceable"]
        case .companionComplete: return ["AccessDenied"]
        case .string: return world.allowsUnenforcedSize ? [] : ["NotEnforceable"]
        default: break
        }
        let size = [.form, .gitLFS].contains(way) ? MatrixRequest.size(of: world) : world.length
        if let size, size > MatrixWorld.maxBytes { codes.insert("EntityTooLarge") }
        if isInParts, size == nil { codes.insert("AccessDenied") }
        let isUnbound = way == .start ? !bindsLength : carriesBytes && bound == nil
        if isUnbound {
            if bindsLength { codes.insert(way == .request ? "NotEnforceable" : "AccessDenied") }
            if !bindsLength, !world.allowsUnenforcedSize { codes.insert("NotEnforceable") }
        }
        return codes
    }

    /// What a quota on bytes refuses: whatever binds no length.
    private var offencesOfQuota: Set<String> {
        switch way {
        case .companionStart: return ["NotEnforceable"]
        case .companionPart: return ["AccessDenied", "NotEnforceable"]
        case .start: return bindsLength ? [] : ["NotEnforceable"]
        case .companionForm, .string, .request: return bound == nil ? ["NotEnforceable"] : []
        default:
            guard carriesBytes, bound == nil else { return [] }
            let couldState = bindsLength || bindsLargest && way != .part
            return [couldState ? "AccessDenied" : "NotEnforceable"]
        }
    }

    // MARK: What is issued

    /// The charge; `nil` where no quota counts the request.
    var charge: Int64? {
        switch world.limit {
        case .none: nil
        case .urls, .urlsUsedUp: way == .complete || way == .companionComplete ? nil : 1
        case .bytes, .bytesUsedUp: carriesBytes ? bound : nil
        }
    }

    private var usesUpQuota: Bool {
        guard let charge else { return false }
        return world.limit == .urlsUsedUp || world.limit == .bytesUsedUp && charge > MatrixWorld.bytesLeft
    }

    /// Seconds from now until the credential ends.
    var life: ClosedRange<Int> {
        if way.isSession { return 900...3600 }
        var life: Int
        switch way {
        case .url, .batch, .form, .part, .cookies: life = world.expiresIn ?? 900
        case .start, .complete, .companionStart, .companionComplete: life = 60
        default: life = 900
        }
        if has(.maxTTL) || has(.endsSoon) { life = min(life, MatrixWorld.seconds) }
        let isLink = world.action == .getObject && [.url, .batch, .redirect, .gitLFS].contains(way)
        if world.hasWindow, isLink, !has(.maxTTL), !has(.endsSoon) {
            life += 3600 - Int(TestGateway.now.timeIntervalSince1970) % 3600
        }
        return life...life
    }

    var delivery: Delivery {
        switch way {
        case .url, .batch, .gitLFS: .presignedURL
        case .form, .companionForm: .postPolicy
        case .start, .companionStart: .multipartStart
        case .part, .companionPart: .multipartPart
        case .complete, .companionComplete: .multipartComplete
        case .redirect: .redirect
        case .cookies: .cdnCookies
        case .session, .containerCredentials, .webIdentity, .companionSession: .sts
        case .string, .request: .remoteSignature
        }
    }
}

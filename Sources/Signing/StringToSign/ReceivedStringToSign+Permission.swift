import Bytes

extension ReceivedStringToSign {
    /// Applies all rules that do not depend on grants.
    ///
    /// - Throws: ``StringToSignRefusal``.
    public func permitted(by rules: StringRules) throws(StringToSignRefusal) -> PermittedString {
        let (use, validUntil) = try checkDate(rules)
        var (headers, query) = try checkToken(use, rules)
        if vendor == .alibaba {
            headers = rules.withoutCallback(headers, prefix: vendor.headerPrefix, method: method)
            query = rules.withoutCallback(query, prefix: "", method: method)
        }
        // '?' starts the sub-resources. Keys with '?' are never issued, so no reader can take it for part of a key.
        let parameters = try OperationParameters(method: method, parameters: query, vendor: vendor)
        for header in headers { try HeaderRules(vendor, rules).check(header) }
        guard contentMD5.isEmpty || Base64.decode(contentMD5)?.count == 16 else { throw .invalidContentMD5 }
        guard contentType.isEmpty || Self.isContentType(contentType) else { throw .invalidContentType }
        let needsType =
            parameters.operation == .uploadPart
            ? vendor == .alibaba || rules.partsNeedType : parameters.operation.beginsObject
        guard !needsType || !contentType.isEmpty else { throw .contentTypeNeeded }
        return PermittedString(
            permission: StringPermission(
                operation: parameters.operation,
                bucket: bucket,
                key: key,
                uploadID: parameters.uploadID,
                partNumber: parameters.partNumber,
                contentType: contentType.isEmpty ? nil : contentType,
                contentMD5: contentMD5.isEmpty ? nil : contentMD5,
                contentLength: nil,
                use: use,
                validUntil: validUntil,
                headers: headers,
                query: query
            ),
            text: text,
            scheme: .version2(vendor)
        )
    }

    static func isContentType(_ text: String) -> Bool {
        let space = UInt8(ascii: " ")
        return 1...255 ~= text.utf8.count && text.utf8.first != space && text.utf8.last != space
            && text.utf8.allSatisfy(ByteSet.printable.contains)
    }

    private func checkDate(
        _ rules: StringRules
    ) throws(StringToSignRefusal) -> (use: StringPermission.Use, validUntil: SigningInstant) {
        let vendorDate = headers.first { $0.name == vendor.version2.dateHeader }?.value
        var line = date
        if vendor != .alibaba, let vendorDate {
            // The vendor's header replaces the line.
            guard date.isEmpty else { throw .datesDiffer }
            line = vendorDate
        }
        switch StringDate(line, vendor: vendor) {
        case nil:
            throw .invalidDate
        case .date(let instant):
            guard vendorDate == nil || vendorDate?.isSameBytes(as: line) == true else { throw .datesDiffer }
            return (.header(instant), try rules.check(date: instant))
        case .expiry(let instant):
            guard vendorDate == nil else { throw .datesDiffer }
            try rules.check(expiry: instant)
            return (.presignedURL(expiresAt: instant), instant)
        }
    }

    /// Checks the token, and returns the headers and parameters without token and date.
    private func checkToken(
        _ use: StringPermission.Use, _ rules: StringRules
    ) throws(StringToSignRefusal) -> (headers: [NamedValue], query: [NamedValue]) {
        let dialect = vendor.version2
        var tokens = headers.filter { $0.name == dialect.tokenHeader }.map(\.value)
        var query = subResources
        if case .subResource(let name) = dialect.tokenForm {
            guard !headers.contains(where: { $0.name == dialect.tokenHeader }) || use.isHeader else {
                throw .securityToken
            }
            let inQuery = query.filter { $0.name == name }.map(\.value)
            guard inQuery.isEmpty || !use.isHeader else { throw .securityToken }
            tokens += inQuery
            query.removeAll { $0.name == name }
        }
        try rules.check(securityToken: tokens.first)
        let own = [dialect.dateHeader, dialect.tokenHeader]
        return (headers.filter { !own.contains($0.name) }, query)
    }
}

extension StringPermission.Use {
    /// Whether the signature is for a header.
    var isHeader: Bool {
        if case .header = self { true } else { false }
    }
}

import CLibCurl

/// Owns the list of header lines of one transfer.
@safe struct HeaderLines: ~Copyable {
    private var list: UnsafeMutablePointer<curl_slist>?

    /// Makes the list; `nil` for a field with a line break, or without memory.
    init?(_ fields: [HTTPTransfer.Field]) {
        // This keeps libcurl from sending `Expect`, and a content type of its own choice.
        unsafe list = nil
        var lines = ["Expect:"]
        if !fields.contains(where: { $0.name.lowercased() == "content-type" }) { lines.append("Content-Type:") }
        for field in fields {
            guard !field.name.isEmpty, !(field.name + field.value).utf8.contains(where: { $0 < 0x20 || $0 == 0x7f })
            else { return nil }
            // libcurl removes a header with an empty value, unless it is written like this.
            lines.append(field.value.isEmpty ? field.name + ";" : "\(field.name): \(field.value)")
        }
        for line in lines {
            guard let longer = unsafe curl_slist_append(list, line) else { return nil }
            unsafe list = longer
        }
    }

    deinit { unsafe curl_slist_free_all(list) }

    /// Sets the headers of a transfer, which must end before this object does.
    func attach(to handle: UnsafeMutableRawPointer) -> CURLcode {
        unsafe sluice_curl_set_headers(handle, list)
    }

    /// Sets method, body and headers of a transfer, which must end before this object does.
    func attach(to handle: UnsafeMutableRawPointer, _ method: HTTPTransfer.Method) -> CURLcode {
        switch method {
        case .get, .head:
            return unsafe sluice_curl_set_headers(handle, list)
        case .delete, .options:
            let name = method == .delete ? "DELETE" : "OPTIONS"
            let code = unsafe sluice_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, name)
            return code == CURLE_OK ? unsafe sluice_curl_set_headers(handle, list) : code
        case .post(let body):
            return unsafe attach(body, to: handle)
        case .put(let body):
            let code = unsafe attach(body, to: handle)
            return code == CURLE_OK ? unsafe sluice_curl_set_text(handle, CURLOPT_CUSTOMREQUEST, "PUT") : code
        }
    }

    private func attach(_ body: [UInt8], to handle: UnsafeMutableRawPointer) -> CURLcode {
        unsafe body.withUnsafeBytes { bytes in
            // An empty body needs a pointer too; otherwise libcurl would use its read callback.
            unsafe sluice_curl_set_body(handle, bytes.baseAddress ?? UnsafeRawPointer(handle), bytes.count, list)
        }
    }
}

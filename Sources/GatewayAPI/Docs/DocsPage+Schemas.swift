import ContractModel

extension DocsPage {
    /// The section with every named schema.
    var schemaSection: String {
        let schemas = (model.root["components"]?["schemas"]?.members ?? []).map { schema in
            """
            <article id="schema-\(HTML.text(schema.name))"><h3><a href="#schema-\(HTML.text(schema.name))">\
            \(HTML.text(schema.name))</a></h3>
            <p>\(schemaLine(schema.value))</p>
            \(HTML.markdown(schema.value["description"]?.text ?? ""))
            \(schemaTable(schema.value))</article>
            """
        }
        return
            "<section><h2 id=\"schemas\"><a href=\"#schemas\">Schemas</a></h2>\n\(schemas.joined(separator: "\n"))</section>"
    }

    /// Renders the members of an object as a table; returns an empty text for anything else.
    func schemaTable(_ schema: ContractValue) -> String {
        let members = schema["properties"]?.members ?? []
        guard !members.isEmpty else { return "" }
        let required = Set((schema["required"]?.items ?? []).compactMap(\.text))
        let rows = members.map { member in
            """
            <tr><th scope="row"><code>\(HTML.text(member.name))</code>\(required.contains(member.name) ? " <em>required</em>" : "")</th>\
            <td>\(schemaLine(member.value))\(schemaTable(member.value))\(schemaTable(member.value["items"] ?? .null))</td>\
            <td>\(HTML.cell(member.value["description"]?.text ?? ""))</td></tr>
            """
        }
        return """
            <div class="wide"><table><thead><tr><th>member</th><th>value</th><th>meaning</th></tr></thead>
            <tbody>\(rows.joined(separator: "\n"))</tbody></table></div>
            """
    }

    /// Describes the permitted values of a schema in one line.
    func schemaLine(_ schema: ContractValue) -> String {
        if let name = model.referredName(of: schema) {
            return "<a href=\"#schema-\(HTML.text(name))\">\(HTML.text(name))</a>"
        }
        var parts: [String] = []
        if let type = schema["type"] {
            parts.append(HTML.text(type.text ?? type.items.compactMap(\.text).joined(separator: " or ")))
        }
        if let items = schema["items"] { parts.append("of " + schemaLine(items)) }
        for (name, word) in [("oneOf", "one of"), ("anyOf", "any of"), ("allOf", "all of")] {
            let choices = (schema[name]?.items ?? []).map(schemaLine).filter { !$0.isEmpty }
            if !choices.isEmpty { parts.append("\(word) \(choices.joined(separator: ", "))") }
        }
        let alternatives = schema.alternatives.map { names in
            names.map { "<code>\(HTML.text($0))</code>" }.joined(separator: " with ")
        }
        if !alternatives.isEmpty { parts.append("with " + alternatives.joined(separator: ", or ")) }
        let names = schema["enum"]?.items ?? []
        if !names.isEmpty {
            parts.append(names.map { "<code>\(HTML.text($0.text ?? $0.json()))</code>" }.joined(separator: " "))
        }
        if let value = schema["const"] { parts.append("<code>\(HTML.text(value.text ?? value.json()))</code>") }
        parts += limits(of: schema)
        return parts.joined(separator: " ")
    }

    private func limits(of schema: ContractValue) -> [String] {
        var parts: [String] = []
        if let format = schema["format"]?.text { parts.append("<i>\(HTML.text(format))</i>") }
        let bounds = [
            ("minimum", "from"), ("maximum", "to"), ("minLength", "characters from"), ("maxLength", "characters to"),
            ("minItems", "items from"), ("maxItems", "items to"), ("minProperties", "members from"),
            ("maxProperties", "members to"),
        ]
        for (name, word) in bounds {
            if let value = schema[name]?.integer { parts.append("\(word) \(value)") }
        }
        if let pattern = schema["pattern"]?.text {
            parts.append("<code class=\"pattern\">\(HTML.text(pattern))</code>")
        }
        if let value = schema["default"] {
            parts.append("default <code>\(HTML.text(value.text ?? value.json()))</code>")
        }
        if schema["writeOnly"]?.flag == true { parts.append("<em>never answered</em>") }
        return parts
    }
}

import Foundation
import Testing

@Suite("settings", .timeLimit(.minutes(1)))
struct SettingsTests {
    @Test func allMistakesAreNamedTogetherAndNoValueIsShown() throws {
        let result = try Command.run(
            ["serve", "--set", "log.format=xml"],
            environment: [
                "SLUICE_LISTEN": "nowhere", "SLUICE_HTTP_THREADS": "many", "SLUICE_LEDGER_KEEP_DAYS": "31",
                "SLUICE_TRUSTED_PROXIES": "10.0.0.0/8,elsewhere", "SLUICE_BOOTSTRAP_ADMIN_KEY": "made-up-short",
                "SLUICE_MASTER_KEY": "made-up-master-key", "SLUICE_TLS_KEY_FILE": "/key.pem", "SLUICE_LISTEM": "1",
            ])
        #expect(result.status == 1)
        #expect(result.errors.hasSuffix(" [sluice] The gateway failed\n") && result.errors.count { $0 == "\n" } == 1)
        let named = result.errors.matches(of: #/(?:cause="|; )(SLUICE_[A-Z_]+): /#).map { String($0.1) }
        #expect(
            Set(named) == [
                "SLUICE_LOG_FORMAT", "SLUICE_LISTEN", "SLUICE_HTTP_THREADS", "SLUICE_LEDGER_KEEP_DAYS",
                "SLUICE_TRUSTED_PROXIES", "SLUICE_BOOTSTRAP_ADMIN_KEY", "SLUICE_MASTER_KEY", "SLUICE_DATABASE_URL",
                "SLUICE_TLS_CERTIFICATE_FILE", "SLUICE_LISTEM",
            ])
        #expect(!result.errors.contains("made-up"))
    }

    @Test func variablesOfCommandsThatCallAGatewayAreNoMistakesAndOthersAre() throws {
        let ofClients = [
            "SLUICE_ADMIN_URL", "SLUICE_ADMIN_KEY", "SLUICE_ADMIN_KEY_FILE", "SLUICE_URL", "SLUICE_KEY",
            "SLUICE_KEY_FILE",
        ]
        var environment = Dictionary(uniqueKeysWithValues: ofClients.map { ($0, "made-up") })
        environment["SLUICE_ADMIN_KEYS"] = "made-up"
        let result = try Command.run(["serve"], environment: environment)
        #expect(result.status == 1)
        #expect(result.errors.contains("SLUICE_ADMIN_KEYS: there is no such setting"))
        for name in ofClients { #expect(!result.errors.contains("\(name): ")) }
        #expect(!result.errors.contains("made-up"))
    }

    @Test(arguments: [
        ("SLUICE_LISTEM", "SLUICE_LISTEN"), ("SLUICE_DATABASE_ULR", "SLUICE_DATABASE_URL"),
        ("SLUICE_HTTP_THREAD", "SLUICE_HTTP_THREADS"), ("SLUICE_MASTERKEY", "SLUICE_MASTER_KEY"),
        ("SLUICE_SOMETHING_ELSE", nil),
    ])
    func aMisspeltSettingIsAnsweredWithTheNameThatItResembles(name: String, meant: String?) throws {
        let result = try Command.run(["serve"], environment: [name: "made-up"])
        #expect(
            result.errors.contains(
                "\(name): there is no such setting\(meant.map { "; did you mean \($0)?" } ?? ""); SLUICE_"))
    }

    @Test func theVersionIsThatOfTheContract() throws {
        let contract = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../openapi/sluice.yaml")
        let text = try String(contentsOf: contract.standardizedFileURL, encoding: .utf8)
        let version = try #require(text.firstMatch(of: /(?m)^  version: (.+)$/)).1
        let result = try Command.run(["--version"])
        #expect(result.status == 0)
        #expect(result.output == "\(version)\n")
    }

    @Test(arguments: [
        "made-up key with spaces, quite long enough", "made-up#key-that-no-bearer-token-can-be", "made-up",
    ])
    func aBootstrapKeyThatNoRequestCouldCarryIsAMistake(key: String) throws {
        let result = try Command.run(["serve"], environment: ["SLUICE_BOOTSTRAP_ADMIN_KEY": key])
        #expect(result.errors.contains("SLUICE_BOOTSTRAP_ADMIN_KEY: "))
        #expect(!result.errors.contains("made-up"))
    }

    /// libpq would take a part of it for a port or a host, and tell it.
    @Test(arguments: ["sluice:S3cret/Pass@127.0.0.1:1", "sluice:S3cret@Pass@127.0.0.1"])
    func aPasswordThatIsNotEscapedIsNotTold(authority: String) throws {
        for command in ["serve", "doctor", "migrate"] {
            let result = try Command.run(
                [command],
                environment: [
                    "SLUICE_DATABASE_URL": "postgresql://\(authority)/sluice", "SLUICE_LISTEN": "127.0.0.1:0",
                ])
            let told = result.output + result.errors
            #expect(result.status == 1 && told.contains("%40 %2F %3A %3F %23 %25"), "\(told)")
            #expect(!told.contains("S3cret") && !told.contains("Pass@"), "\(told)")
        }
    }

    @Test(arguments: [
        ("https://app.example/", false), ("app.example", false), ("https://App.example", false),
        ("https://app.example", true), ("http://localhost:3000,https://[::1]:3000", true), ("*", true),
        ("https://pages.example:443", false), ("http://app.example:80", false), ("http://app.example:443", true),
        ("https://app.example:99999", false), ("https://:::", false), ("https://app.example:", false),
    ])
    func originsAreInTheFormThatBrowsersSend(origins: String, areGood: Bool) throws {
        let result = try Command.run(["serve"], environment: ["SLUICE_CORS_ALLOWED_ORIGINS": origins])
        #expect(result.errors.contains("SLUICE_DATABASE_URL: "))
        #expect(result.errors.contains("SLUICE_CORS_ALLOWED_ORIGINS: ") == !areGood)
        if origins.hasSuffix("pages.example:443") { #expect(result.errors.contains("such as https://pages.example")) }
    }

    @Test(arguments: [
        ("127.0.0.1:7001", "127.0.0.1:7001", true), ("127.0.0.1:7001", "127.0.0.1:7002", false),
        ("127.0.0.1:7001", "127.0.0.2:7001", false), ("127.0.0.1:7001", "7001", true),
        ("0.0.0.0:7001", "127.0.0.1:7001", true), ("127.0.0.1:7001", "0.0.0.0:7001", true),
        ("0.0.0.0:7001", "[::1]:7001", false), ("0.0.0.0:7001", "[::ffff:127.0.0.1]:7001", true),
        ("0.0.0.0:7001", "[::]:7001", true), ("[::]:7001", "127.0.0.1:7001", true),
        ("[::]:7001", "[0:0::1]:7001", true), ("[::1]:7001", "[0:0::1]:7001", true),
        ("[::1]:7001", "127.0.0.1:7001", false), ("[::]:7001", "[::1]:7002", false),
        ("0.0.0.0:0", "127.0.0.1:0", false), ("", "127.0.0.1:8080", true), ("", "127.0.0.1:8081", false),
        ("127.0.0.1", "127.0.0.1:8080", false),
    ])
    func twoListenersNeedTwoPortsWhereTheirAddressesOverlap(listen: String, admin: String, clash: Bool) throws {
        var environment = ["SLUICE_ADMIN_LISTEN": admin]
        if !listen.isEmpty { environment["SLUICE_LISTEN"] = listen }
        let result = try Command.run(["serve"], environment: environment)
        #expect(result.errors.contains("SLUICE_DATABASE_URL: "))
        #expect(result.errors.contains("SLUICE_ADMIN_LISTEN: must have another port") == clash, "\(result.errors)")
    }

    @Test func flagsComeBeforeTheEnvironmentAndTheEnvironmentBeforeTheFile() throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(#"{"listen": "file", "http": {"threads": "file"}, "admin-listen": "file", "lost": 1}"#.utf8)
            .write(to: file)
        let result = try Command.run(
            ["serve", "--config", file.path, "--set", "listen=127.0.0.1:1"],
            environment: ["SLUICE_LISTEN": "environment", "SLUICE_HTTP_THREADS": "1"])
        #expect(result.status == 1)
        #expect(!result.errors.contains("SLUICE_LISTEN:"))
        #expect(!result.errors.contains("SLUICE_HTTP_THREADS:"))
        #expect(result.errors.contains("SLUICE_ADMIN_LISTEN:"))
        #expect(result.errors.contains("there is no setting 'lost'"))
    }

    @Test(arguments: [
        (#"{"http": {"threads": 2.5}}"#, "SLUICE_HTTP_THREADS: must be a whole number"),
        (#"{"http": {"threads": true}}"#, "SLUICE_HTTP_THREADS: must be a whole number"),
        (#"{"http.threads": "2"}"#, "SLUICE_HTTP_THREADS: must be a whole number"),
        (#"{"http": {"threads": []}}"#, "SLUICE_HTTP_THREADS: must be a whole number"),
        (#"{"listen": 1}"#, "SLUICE_LISTEN: must be a text"),
        (#"{"trusted-proxies": ["10.0.0.0/8", 1]}"#, "SLUICE_TRUSTED_PROXIES: must be a list"),
        (#"{"http": {"threads": 2}, "http.threads": 3}"#, "the setting 'http.threads' is there twice"),
        (#"{"http": {"threads": 2.0}}"#, nil), (#"{"http.threads": 2}"#, nil), (#"{"http": {"threads": null}}"#, nil),
        (#"{"trusted-proxies": []}"#, nil), (#"{"trusted-proxies": ["10.0.0.0/8"]}"#, nil), ("{}", nil),
    ])
    func aFileHasValuesOfTheRightKind(text: String, mistake: String?) throws {
        try Self.withFile(text) { file in
            let result = try Command.run(["serve", "--config", file], environment: [:])
            #expect(result.status == 1)
            let line = try #require(result.errors.firstMatch(of: #/cause="(.*)" \[sluice\]/#))
            var cause = String(line.1)
            // Without these settings nothing starts.
            for missing in [/SLUICE_DATABASE_URL: must be set, [^;]*/, /SLUICE_MASTER_KEY: must be set, .*-base64 32/] {
                let place = try #require(cause.firstRange(of: missing), "\(result.errors)")
                cause.removeSubrange(place)
            }
            let others = cause.split(separator: "; ").map(String.init)
            #expect(others.count == (mistake == nil ? 0 : 1), "\(result.errors)")
            if let mistake { #expect(others.first?.hasSuffix(mistake) == true, "\(result.errors)") }
        }
    }

    @Test(arguments: ["", "{", "[1]", "null", #"{"listen": "a", "listen": "b"}"#])
    func aFileThatIsNoJSONObjectIsRefused(text: String) throws {
        try Self.withFile(text) { file in
            let result = try Command.run(["serve", "--config", file], environment: [:])
            #expect(result.status == 64 && result.errors.contains("'\(file)' is not one JSON object."))
        }
    }

    @Test func anEmptyNameOfAFileIsNone() throws {
        let result = try Command.run(["serve"], environment: ["SLUICE_CONFIG": "", "SLUICE_MASTER_KEY_FILE": ""])
        #expect(result.status == 1 && result.errors.contains("SLUICE_DATABASE_URL: must be set"), "\(result.errors)")
        #expect(!result.errors.contains("SLUICE_CONFIG") && !result.errors.contains("_KEY_FILE:"), "\(result.errors)")
    }

    @Test func aFileThatCannotBeReadIsToldApart() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let binary = folder.appending(path: "binary")
        try Data([0xFF, 0xFE]).write(to: binary)
        for (path, reason) in [
            (folder.path, "is a directory"), (binary.path, "is not text in UTF-8"),
            (folder.appending(path: "missing").path, "does not exist"),
        ] {
            let result = try Command.run(["serve"], environment: ["SLUICE_MASTER_KEY_FILE": path])
            #expect(result.errors.contains("SLUICE_MASTER_KEY_FILE: '\(path)' \(reason)"), "\(result.errors)")
        }
        let result = try Command.run(["serve", "--config", folder.path], environment: [:])
        #expect(result.errors.contains("The configuration file '\(folder.path)' is a directory."), "\(result.errors)")
    }

    @Test(arguments: [
        ("database.url", "SLUICE_DATABASE_URL", "use '--config'"),
        ("master-key", "SLUICE_MASTER_KEY", "SLUICE_MASTER_KEY_FILE"),
        ("bootstrap-admin-key", "SLUICE_BOOTSTRAP_ADMIN_KEY", "SLUICE_BOOTSTRAP_ADMIN_KEY_FILE"),
    ])
    func secretsAreNotTakenFromTheCommandLine(key: String, variable: String, file: String) throws {
        for command in ["serve", "migrate", "rotate-master-key", "audit-quotas", "doctor"] {
            let result = try Command.run([command, "--set", "\(key)=made-up"], environment: [:])
            let told = result.output + result.errors
            #expect(result.status == 1)
            #expect(told.contains("--set \(key): "))
            #expect(told.contains("\(variable) in the environment, or "))
            #expect(told.contains(file))
            #expect(!told.contains("made-up"))
        }
    }

    @Test(arguments: ["serve", "doctor"])
    func mistakesOfTheCommandLineAreNamedWithTheOthersAndWithWhatWasMeant(command: String) throws {
        let result = try Command.run(
            [
                command, "--set", "listem=made-up", "--set", "nothing=made-up", "--set", "http.threads",
                "--set", "postgresql://u:made-up@h/db?sslmode=require", "--set", "0123456789abcdef",
            ],
            environment: ["SLUICE_LISTEN": "nowhere"])
        #expect(result.status == 1)
        let told = result.output + result.errors
        for mistake in [
            "--set: there is no setting 'listem'; did you mean 'listen'?", "--set: there is no setting 'nothing'",
            "--set http.threads: the value is missing", "--set: a setting has the form key=value",
            "SLUICE_LISTEN: must be an address",
        ] {
            #expect(told.contains(mistake), "\(told)")
        }
        #expect(!told.contains("made-up") && !told.contains("0123456789abcdef"), "\(told)")
    }

    @Test(arguments: ["\n", "\r\n", "", " \n", "\n\n"])
    func oneLineBreakAtTheEndOfAFileIsNoPartOfTheSecret(end: String) throws {
        let isGood = ["\n", "\r\n", ""].contains(end)
        try Self.withFile("made-up-bootstrap-key-of-32-letters" + end) { file in
            let result = try Command.run(["serve"], environment: ["SLUICE_BOOTSTRAP_ADMIN_KEY_FILE": file])
            #expect(result.errors.contains("SLUICE_DATABASE_URL: "))
            #expect(result.errors.contains("SLUICE_BOOTSTRAP_ADMIN_KEY_FILE: ") == !isGood)
            #expect(!result.errors.contains("made-up"))
        }
    }

    @Test func aSecretInTwoFormsIsAMistakeWhateverTheValues() throws {
        try Self.withFile("made-up-bootstrap-key-of-32-letters") { file in
            let result = try Command.run(
                ["serve"],
                environment: [
                    "SLUICE_DATABASE_URL": "postgresql://sluice:made-up@127.0.0.1/sluice",
                    "SLUICE_DATABASE_PASSWORD_FILE": file,
                    "SLUICE_BOOTSTRAP_ADMIN_KEY": "made-up-bootstrap-key-of-32-letters",
                    "SLUICE_BOOTSTRAP_ADMIN_KEY_FILE": file,
                    "SLUICE_MASTER_KEY": "made-up", "SLUICE_MASTER_KEY_FILE": file,
                ])
            #expect(result.status == 1)
            #expect(result.errors.contains("SLUICE_DATABASE_PASSWORD_FILE: must not be set together with a password"))
            for name in ["SLUICE_BOOTSTRAP_ADMIN_KEY", "SLUICE_MASTER_KEY"] {
                #expect(result.errors.contains("\(name): must not be set together with \(name)_FILE"))
            }
            #expect(!result.errors.contains("made-up"))
        }
    }

    @Test(arguments: [
        "SLUICE_DATABASE_PASSWORD_FILE", "SLUICE_BOOTSTRAP_ADMIN_KEY_FILE", "SLUICE_MASTER_KEY_FILE",
    ])
    func aFileThatCannotBeReadIsNamed(name: String) throws {
        let missing = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString).path
        let result = try Command.run(["serve"], environment: [name: missing])
        #expect(result.status == 1)
        #expect(result.errors.contains("\(name): '\(missing)' does not exist"))
        try Self.withFile("\n") { empty in
            let result = try Command.run(["serve"], environment: [name: empty])
            #expect(result.errors.contains("\(name): '\(empty)' is empty"))
        }
    }

    private static func withFile(_ text: String, _ body: (String) throws -> Void) throws {
        let file = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(text.utf8).write(to: file)
        try body(file.path)
    }

    /// A file made from nothing but the page: names, objects, numbers and arrays.
    @Test func aFileWrittenAsTheDocumentSaysHasEverySetting() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let document = try String(contentsOf: root.appending(path: "docs/settings.md"), encoding: .utf8)
        let rule = try #require(document.firstMatch(of: #/(?s)Where a name begins with(.*?)that word is an object/#)).1
        let objects = rule.matches(of: #/`([a-z]+)`/#).map { String($0.1) }
        #expect(objects.count > 10)
        var file: [String: Any] = [:]
        let rows = document.matches(of: #/(?m)^\| `SLUICE_([A-Z_]+)` \| (.*?) \| (.*?) \|/#)
        for row in rows {
            let isNumber = String(row.3).wholeMatch(of: #/[0-9,]+–[0-9,]+/#) != nil
            let value: Any = row.2.contains("comma-separated") ? ["made-up"] : isNumber ? 50 : "made-up"
            let words = row.1.lowercased().split(separator: "_").map(String.init)
            if objects.contains(words[0]) {
                var object = file[words[0]] as? [String: Any] ?? [:]
                object[words.dropFirst().joined(separator: "-")] = value
                file[words[0]] = object
            } else {
                file[words.joined(separator: "-")] = value
            }
        }
        #expect(rows.count > 20)
        let text = String(decoding: try JSONSerialization.data(withJSONObject: file), as: UTF8.self)
        try Self.withFile(text) { file in
            let result = try Command.run(["serve", "--config", file], environment: [:])
            #expect(result.status == 1)
            #expect(result.errors.contains("SLUICE_PUBLIC_URL: 'made-up' is not an origin"))
            for mistake in ["must be a text", "must be a list", "must be a whole number", "there is no setting"] {
                #expect(!result.errors.contains(mistake), "\(result.errors)")
            }
        }
    }

    @Test func anEmptyVariableIsNotSet() throws {
        for (value, isMistake) in [("", false), ("https://sluice.example", false), ("sluice.example", true)] {
            let result = try Command.run(["serve"], environment: ["SLUICE_PUBLIC_URL": value])
            #expect(result.status == 1 && result.errors.contains("SLUICE_DATABASE_URL"))
            #expect(result.errors.contains("SLUICE_PUBLIC_URL") == isMistake, "\(value): \(result.errors)")
        }
    }

    /// No browser sends these, and any spelling is clear.
    @Test(arguments: ["SLUICE_PUBLIC_URL", "SLUICE_EVENTS_OSS_KEY_ORIGINS"])
    func anOriginThatNobodyComparesMayBeSpeltInAnyWay(name: String) throws {
        for (value, isMistake) in [
            ("https://sluice.example:443", false), ("HTTPS://Sluice.example/", false), ("http://[::1]:8080", false),
            ("https://sluice.example/api", true), ("https://sluice.example?a", true), ("ftp://sluice.example", true),
            ("https://sluice.example:", true), ("https://a@sluice.example", true),
        ] {
            let result = try Command.run(["serve"], environment: [name: value])
            #expect(result.status == 1 && result.errors.contains("SLUICE_DATABASE_URL"))
            #expect(result.errors.contains("\(name): ") == isMistake, "\(value): \(result.errors)")
        }
    }

    @Test func theDocumentListsTheSettingsThatTheHelpLists() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let document = try String(contentsOf: root.appending(path: "docs/settings.md"), encoding: .utf8)
        let listed = document.matches(of: #/(?m)^\| `(SLUICE_[A-Z_]+)` \|/#).map { String($0.1) }
        let help = try Command.run(["serve", "--help"]).output
        let known = help.matches(of: #/(?m)^(SLUICE_[A-Z_]+)  ([a-z.-]+)$/#)
        #expect(known.count > 20)
        #expect(listed == known.map { String($0.1) })
        // The keys beside the variables are those that '--set' takes.
        let keys = known.map { String($0.2) }
        let result = try Command.run(["serve"] + keys.flatMap { ["--set", "\($0)="] }, environment: [:])
        for key in keys { #expect(result.errors.contains("--set \(key): "), "\(result.errors)") }
    }
}

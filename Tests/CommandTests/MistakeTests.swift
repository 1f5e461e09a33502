import Foundation
import Testing

/// Command lines with mistakes, and what is answered. The gateway that they name does not exist.
@Suite struct MistakeTests {
    struct Mistake: Sendable, CustomTestStringConvertible {
        let line: String
        let status: Int32
        let errors: String

        init(_ line: String, _ status: Int32, _ errors: String) {
            self.line = line
            self.status = status
            self.errors = errors
        }

        var testDescription: String { line }
    }

    static let mistakes: [Mistake] = [
        Mistake(
            #"admin gratns list"#, 64,
            #"""
            error: There is no command 'admin gratns'. Did you mean 'grants'?
            See 'sluice admin --help'.
            """#),
        Mistake(
            #"admin grant list"#, 64,
            #"""
            error: There is no command 'admin grant'. Did you mean 'grants'?
            See 'sluice admin --help'.
            """#),
        Mistake(
            #"admin buckets ls"#, 64,
            #"""
            error: There is no command 'admin buckets ls'. Did you mean 'list'? The commands are 'create', \#
            'list', 'get', 'replace', 'update', 'delete', 'validate' and 'event-secret'.
            See 'sluice admin buckets --help'.
            """#),
        Mistake(
            #"admin grants remove 1"#, 64,
            #"""
            error: There is no command 'admin grants remove'. Did you mean 'delete'? The commands are 'create', \#
            'list', 'apply', 'export', 'import', 'get', 'replace', 'update', 'delete', 'unused' and \#
            'blast-radius'.
            See 'sluice admin grants --help'.
            """#),
        Mistake(
            #"admin credentials make --name x"#, 64,
            #"""
            error: There is no command 'admin credentials make'. Did you mean 'create'? The commands are \#
            'create', 'list', 'get', 'replace', 'update', 'delete', 'dependents' and 'blast-radius'.
            See 'sluice admin credentials --help'.
            """#),
        Mistake(
            #"admin credentials create --name x"#, 64,
            #"""
            error: Required: '--access-key-id' and '--secret-access-key', or '--service-account', or '--key-pair'.
            See 'sluice admin credentials create --help'.
            """#),
        Mistake(
            #"admin credentials create --name x --access-key-id A"#, 64,
            #"""
            error: '--secret-access-key' is required.
            See 'sluice admin credentials create --help'.
            """#),
        Mistake(
            #"admin credentials create --name x --service-account.client-email a@b"#, 64,
            #"""
            error: '--service-account.private-key' is required.
            See 'sluice admin credentials create --help'.
            """#),
        Mistake(
            #"admin grants list --buckets photos"#, 64,
            #"""
            error: There is no option '--buckets'. Did you mean '--bucket'?
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin --bukcet photos grants list"#, 64,
            #"""
            error: There is no option '--bukcet'. Did you mean '--bucket'?
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin grants list --limit many"#, 64,
            #"""
            error: '--limit' takes a whole number greater than 0.
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin grants list --limit 0"#, 64,
            #"""
            error: '--limit' takes a whole number greater than 0.
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin quotas list --near-limit much"#, 64,
            #"""
            error: '--near-limit' takes a number, such as 0.8.
            See 'sluice admin quotas list --help'.
            """#),
        Mistake(
            #"admin grants list --effect forbid"#, 64,
            #"""
            error: '--effect' takes 'allow' or 'deny', not 'forbid'.
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin grants list --columns id,principle"#, 64,
            #"""
            error: There is no column 'principle'. The columns are id, created-by, principal, bucket, prefix, \#
            template, actions, effect, conditions, not-before, not-after, note, created-at. Did you mean \#
            'principal'?
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin grants list --print prinicpal"#, 64,
            #"""
            error: The answer has no member 'prinicpal'. Its members are id, created-by, principal, bucket, \#
            prefix, template, actions, effect, conditions, not-before, not-after, note, created-at. Did you \#
            mean 'principal'?
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin grants list extra"#, 64,
            #"""
            error: Unexpected argument 'extra'.
            See 'sluice admin grants list --help'.
            """#),
        Mistake(
            #"admin grants get"#, 64,
            #"""
            error: The argument <id> is missing.
            See 'sluice admin grants get --help'.
            """#),
        Mistake(
            #"admin grants get 1 2"#, 64,
            #"""
            error: Unexpected argument '2'.
            See 'sluice admin grants get --help'.
            """#),
        Mistake(
            #"admin grants get 1 --principal user:a"#, 64,
            #"""
            error: There is no option '--principal'.
            See 'sluice admin grants get --help'.
            """#),
        Mistake(
            #"admin grants create"#, 64,
            #"""
            error: '--principal' is required.
            error: '--bucket' is required.
            error: '--actions' is required.
            error: One of '--prefix' and '--template' is required.
            See 'sluice admin grants create --help'.
            """#),
        Mistake(
            #"admin grants create --principal user:a --bucket b --prefix p/ --actions Putobject"#, 64,
            #"""
            error: '--actions' takes 'PutObject', 'GetObject', 'ListObjects', 'DeleteObject', 'oss:PutObject', \#
            'oss:GetObject', 'oss:ListObjects', 'oss:DeleteObject', 's3:PutObject', 's3:GetObject', 's3:ListObjects', \#
            's3:ListBucket' or 's3:DeleteObject', not 'Putobject'. Did you mean 'PutObject'?
            See 'sluice admin grants create --help'.
            """#),
        Mistake(
            #"admin grants create --principal user:a --bucket b --prefix p/ --actions PutObject --max-bytes 5"#, 64,
            #"""
            error: There is no option '--max-bytes'. Did you mean '--conditions.max-bytes'?
            See 'sluice admin grants create --help'.
            """#),
        Mistake(
            #"admin grants create --principal user:a --bucket b --prefix p/ --actions PutObject --conditions.max-bytes much"#,
            64,
            #"""
            error: '--conditions.max-bytes' takes a whole number.
            See 'sluice admin grants create --help'.
            """#),
        Mistake(
            #"admin grants create --principal user:a --bucket b --prefix p/ --actions PutObject --conditions.force-download=maybe"#,
            64,
            #"""
            error: '--conditions.force-download' takes 'true' or 'false'.
            See 'sluice admin grants create --help'.
            """#),
        Mistake(
            #"admin grants create --principal user:a --bucket b --prefix p/ --actions PutObject --note"#, 64,
            #"""
            error: '--note' needs a value.
            See 'sluice admin grants create --help'.
            """#),
        Mistake(
            #"admin grants update 1"#, 64,
            #"""
            error: Nothing to change: set members with options, '--unset' or '--file'.
            See 'sluice admin grants update --help'.
            """#),
        Mistake(
            #"admin grants update 1 --unset conditions.max-byte"#, 64,
            #"""
            error: There is no member 'conditions.max-byte'. Did you mean 'conditions.max-bytes'?
            See 'sluice admin grants update --help'.
            """#),
        Mistake(
            #"admin grants update 1 --conditions {"#, 64,
            #"""
            error: '--conditions' takes JSON. A member's name was expected (at byte 1).
            See 'sluice admin grants update --help'.
            """#),
        Mistake(
            #"admin grants delete 1 --yess"#, 64,
            #"""
            error: There is no option '--yess'. Did you mean '--yes'?
            See 'sluice admin grants delete --help'.
            """#),
        Mistake(
            #"admin grants list --json --print id"#, 64,
            #"""
            {
              "code": "CommandLine",
              "detail": "'--json' and '--print' exclude each other. See 'sluice admin grants list --help'.",
              "errors": [
                "'--json' and '--print' exclude each other."
              ]
            }
            """#),
        Mistake(
            #"admin grants export --output g.xlsx"#, 64,
            #"""
            error: 'g.xlsx' ends neither with '.csv' nor with '.ndjson'. Name the format with '--format'.
            """#),
        Mistake(
            #"admin audit export --output a.csv"#, 64,
            #"""
            error: 'a.csv' does not end with '.ndjson', and this command writes NDJSON only.
            """#),
        Mistake(
            #"admin audit export --output a.json"#, 64,
            #"""
            error: 'a.json' does not end with '.ndjson', and this command writes NDJSON only.
            """#),
        Mistake(
            #"admin grants import --file /nowhere/grants.txt"#, 64,
            #"""
            error: '/nowhere/grants.txt' ends neither with '.csv' nor with '.ndjson'. Name the format with \#
            '--file-type'.
            """#),
        Mistake(
            #"admin grants import --file /nowhere/grants.csv"#, 1,
            #"""
            error: '/nowhere/grants.csv' does not exist.
            """#),
        Mistake(
            #"admin quotas create --principal user:a --metric url --period week"#, 64,
            #"""
            error: '--metric' takes 'urls' or 'bytes', not 'url'. Did you mean 'urls'?
            error: '--period' takes 'minute', 'hour', 'day', 'month' or 'total', not 'week'.
            error: '--limit' is required.
            See 'sluice admin quotas create --help'.
            """#),
        Mistake(
            #"admin issuers create --issuer https://id.example --audiences a --algorithms RS256 --principal-prefix= --group-prefix="#,
            64,
            #"""
            error: One of '--keys.url', '--keys.inline' and '--keys.secret' is required.
            See 'sluice admin issuers create --help'.
            """#),
        Mistake(
            #"admin explain --principal user:a --action GetObject"#, 64,
            #"""
            error: '--bucket' is required.
            See 'sluice admin explain --help'.
            """#),
        Mistake(
            #"admin usage --by minute"#, 64,
            #"""
            error: '--by' takes 'hour', 'day' or 'range', not 'minute'.
            See 'sluice admin usage --help'.
            """#),
        Mistake(
            #"admin grants list --url gateway.example"#, 64,
            #"""
            error: 'gateway.example' is not the URL of a gateway. An example: https://gateway.example. '--url' \#
            sets this URL.
            """#),
        Mistake(
            #"admin grants list"#, 7,
            #"""
            error: Nothing answers at http://127.0.0.1:1: Couldn't connect to server.
              SLUICE_ADMIN_URL sets this URL.
            """#),
        Mistake(
            #"admin whoami"#, 64,
            #"""
            error: There is no command 'admin whoami'. Did you mean 'caller'?
            See 'sluice admin --help'.
            """#),
        Mistake(
            #"grants list"#, 64,
            #"""
            error: There is no command 'grants'. Did you mean 'sluice admin grants'?
            See 'sluice --help'.
            """#),
        Mistake(
            #"srve"#, 64,
            #"""
            error: There is no command 'srve'. Did you mean 'sluice serve'?
            See 'sluice --help'.
            """#),
        Mistake(
            #"help admin grnats"#, 64,
            #"""
            error: There is no command 'admin grnats'. Did you mean 'grants'?
            See 'sluice admin --help'.
            """#),
    ]

    @Test(arguments: mistakes)
    func `a mistake is answered with what is wrong and what is right`(mistake: Mistake) throws {
        let result = try Command.run(
            mistake.line.split(separator: " ").map(String.init),
            environment: ["SLUICE_ADMIN_KEY": "k", "SLUICE_ADMIN_URL": "http://127.0.0.1:1"])
        #expect(result.errors == mistake.errors + "\n")
        #expect(result.status == mistake.status)
        #expect(result.output == "")
    }

    /// Repaired, both names of a key would be one. The gateway that the environment names would not answer.
    @Test(arguments: [
        ("put one", 3), ("get --json", 3), ("rm --yes", 3), ("admin grants get", 4), ("admin --json grants get", 5),
        ("sign", 2), ("complete-words --", 3), ("", 1),
    ])
    func `an argument that is not UTF-8 is refused`(line: String, number: Int) throws {
        let script = #"program=$1; shift; exec "$program" "$@" "$(printf 'demo/r\351sum\351.txt')""#
        let run = try Command.run(
            ["-c", script, "sh", Command.program.path] + line.split(separator: " ").map(String.init),
            of: URL(fileURLWithPath: "/bin/sh"),
            environment: [
                "SLUICE_URL": "http://127.0.0.1:1", "SLUICE_KEY": "made-up", "SLUICE_ADMIN_URL": "http://127.0.0.1:1",
                "SLUICE_ADMIN_KEY": "made-up", "PATH": "/usr/bin:/bin",
            ])
        let mistake = "Argument \(number) is not UTF-8: 'demo/r\u{FFFD}sum\u{FFFD}.txt'."
        #expect(run.status == 64 && run.output == "", "\(run.status) \(run.output)")
        guard line.contains("--json") else {
            #expect(run.errors == "error: \(mistake)\n")
            return
        }
        #expect(run.errors.contains(mistake) && run.errors.contains("CommandLine"), "\(run.errors)")
        _ = try JSONSerialization.jsonObject(with: Data(run.errors.utf8))
    }

    @Test(arguments: [
        ("--timeout", "601", "'--timeout' takes 1 to 600 seconds."),
        ("--patience", "90000", "'--patience' takes 1 to 86400 seconds."), ("--timeout", "0", "1 to 600 seconds."),
    ])
    func `a time that is out of range is answered with the range`(option: String, value: String, told: String) throws {
        let result = try Command.run(["qualify", "photos", option, value], environment: [:])
        #expect(result.status == 64 && result.errors.contains(told), "\(result.errors)")
    }

    @Test func `a proxy that is set is told where nothing answers, because it is not asked`() throws {
        let result = try Command.run(
            ["admin", "grants", "list"],
            environment: [
                "SLUICE_ADMIN_KEY": "k", "SLUICE_ADMIN_URL": "http://127.0.0.1:1", "http_proxy": "",
                "https_proxy": "http://127.0.0.1:2",
            ])
        #expect(result.errors.contains("Sluice uses no proxy: https_proxy has no effect."), "\(result.errors)")
        #expect(result.status == 7)
    }
}

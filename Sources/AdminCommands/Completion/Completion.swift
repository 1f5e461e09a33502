import ContractModel
import Terminal

/// What may stand at the place of the last word of a command line.
public struct Completion: Sendable {
    /// Words, each with a text about it.
    public private(set) var entries: [ProgramTree.Entry] = []
    /// Whether names of files fit as well.
    public private(set) var takesFiles = false
    /// The rows whose names would fit, to be asked of the gateway.
    private(set) var rows: AdminRows?
    private var beginning = ""
    private var prefix = ""

    /// Completes a line of the program.
    ///
    /// - Parameters:
    ///   - words: The words after the program's name. The last one, which may be empty, is completed.
    ///   - tree: The program's commands.
    public init(of words: [String], in tree: ProgramTree) {
        guard let last = words.last else { return }
        let before = words.dropLast()
        switch before.first {
        case "admin": completeAdmin(Array(before.dropFirst()), last)
        case "help":
            if before.dropFirst().first == "admin" {
                completeAdmin(["help"] + before.dropFirst(2), last)
            } else {
                offer(tree.command(before.dropFirst()).tree.commands, last)
            }
        default: complete(before, last, in: tree)
        }
    }

    /// The lines for the shells: word, tab, text. A line `:files` asks for names of files.
    ///
    /// - Parameter names: Names that the gateway gave; see ``askGateway(environment:)``.
    public func lines(with names: [ProgramTree.Entry] = []) -> [String] {
        var lines = (entries + names.map { .init(name: prefix + $0.name, text: $0.text) })
            .filter { $0.name.hasPrefix(beginning) }
            .map { "\($0.name.visible)\t\($0.text.firstSentence)" }
        if takesFiles { lines.append(":files") }
        return lines
    }

    /// Asks the gateway for the names that fit. Returns none if there are none, or on any error.
    ///
    /// - Parameter environment: The environment, with the key and the URL.
    public func askGateway(environment: [String: String]) -> [ProgramTree.Entry] {
        (try? rows?.names(environment: environment)) ?? []
    }

    /// Whether ``askGateway(environment:)`` would send a request.
    public var needsGateway: Bool { rows != nil }

    private mutating func offer(_ entries: [ProgramTree.Entry], _ beginning: String, after prefix: String = "") {
        self.entries += entries.map { .init(name: prefix + $0.name, text: $0.text) }
        self.beginning = beginning
        self.prefix = prefix
    }

    private mutating func complete(_ before: ArraySlice<String>, _ last: String, in tree: ProgramTree) {
        let (command, rest) = tree.command(before)
        var words = rest
        var given = 0
        while let word = words.popFirst() {
            guard word.hasPrefix("-"), word.count > 1 else {
                given += 1
                continue
            }
            guard let option = command.option(word), option.value != nil, words.popFirst() == nil else { continue }
            return offerValues(of: option, last)
        }
        if last.hasPrefix("--"), let equals = last.firstIndex(of: "="),
            let option = command.option(String(last[..<equals]))
        {
            return offerValues(of: option, last, after: String(last[...equals]))
        }
        if last.hasPrefix("-") {
            let names = command.options.flatMap { option in
                option.names.map { ProgramTree.Entry(name: $0, text: option.text) }
            }
            return offer(names, last)
        }
        let argument = command.arguments.dropFirst(given).first ?? command.arguments.last { $0.isRepeating }
        takesFiles = argument?.isFile ?? false
        offer(command.commands + (argument?.choices ?? []).map { .init(name: $0, text: "") }, last)
    }

    private mutating func offerValues(of option: ProgramTree.Option, _ last: String, after prefix: String = "") {
        takesFiles = option.isFile
        offer(option.choices.map { .init(name: $0, text: "") }, last, after: prefix)
    }

    private mutating func completeAdmin(_ before: [String], _ last: String) {
        guard let model = try? ContractModel.embedded() else { return }
        let commands = AdminOperation.all(of: model)
        let line = AdminLine(before, among: commands, model)
        guard line.unknown == nil else { return }
        if let option = line.pending { return completeValue(of: option, last, "", line, commands, model) }
        if last.hasPrefix("--"), let equals = last.firstIndex(of: "=") {
            let key = AdminNames.key(last[..<equals].dropFirst(2))
            let options = line.candidates.flatMap { $0.options(model) }
            guard let option = options.first(where: { AdminNames.key($0.name) == key }) else { return }
            let value = String(last[last.index(after: equals)...])
            return completeValue(of: option, value, String(last[...equals]), line, commands, model)
        }
        if last.hasPrefix("-") { return offer(options(line, model), last) }
        guard let command = line.command else { return offer(words(line), last) }
        guard !line.asksForHelp, line.arguments.count < command.path.count else { return }
        offer([], last)
        rows = AdminRows(
            named: command.path[line.arguments.count].name, of: command, arguments: line.arguments,
            among: commands, model)
    }

    /// The words that may come next: a verb with the summary of its command, a noun with its verbs.
    private func words(_ line: AdminLine) -> [ProgramTree.Entry] {
        line.nextWords.map { word in
            let next = line.candidates.filter { $0.words[line.words.count] == word }
            let whole = next.first { $0.words.count == line.words.count + 1 }
            var seen: Set<String> = []
            let verbs = next.compactMap { $0.words.dropFirst(line.words.count + 1).first }
                .filter { seen.insert($0).inserted }
            return .init(name: word, text: whole?.operation.summary ?? verbs.joined(separator: ", "))
        }
    }

    /// The options that may still be used. Before the command is known, these are the ones of all commands.
    private func options(_ line: AdminLine, _ model: ContractModel) -> [ProgramTree.Entry] {
        let general = AdminGeneralOption.allCases.filter(\.isShared).map(AdminOption.init)
        let used = Set(line.options.filter { !$0.isList }.map(\.name))
        return (line.command?.options(model) ?? general).filter { !used.contains($0.name) }
            .map { .init(name: "--" + $0.name, text: $0.text) }
    }

    private mutating func completeValue(
        of option: AdminOption, _ value: String, _ before: String, _ line: AdminLine, _ commands: [AdminOperation],
        _ model: ContractModel
    ) {
        var choices = option.choices
        if option.isFlag { choices = ["true", "false"] }
        let command = line.command
        switch option.meaning {
        case .general(.file), .general(.output): takesFiles = true
        case .general(.columns), .general(.print):
            choices = (command?.answerMembers(model) ?? []).map(AdminNames.option)
        case .general(.unset):
            choices = (command?.ownOptions(model) ?? []).compactMap {
                if case .member = $0.meaning { $0.name } else { nil }
            }
        case .member(let place) where value.hasPrefix("@") && !place.isList: takesFiles = true
        case .query(let name): rows = command.flatMap { AdminRows(named: name, of: $0, among: commands, model) }
        case .member(let place):
            rows = command.flatMap { AdminRows(named: place.names.last ?? "", of: $0, among: commands, model) }
        default: break
        }
        var prefix = before
        if option.isList, let comma = value.lastIndex(of: ",") {
            let chosen = value[..<comma].split(separator: ",").map(String.init)
            choices.removeAll { chosen.contains($0) }
            prefix += value[...comma]
        }
        offer(choices.map { .init(name: $0, text: "") }, before + value, after: prefix)
    }
}

extension String {
    /// The first sentence, in one line without marks.
    fileprivate var firstSentence: String {
        let line = plainText.split(whereSeparator: \.isWhitespace).joined(separator: " ").visible
        guard let end = line.firstRange(of: ". ") else { return line }
        return String(line[..<end.lowerBound]) + "."
    }
}

/// Texts in columns, with two spaces between them.
public enum TextGrid {
    /// The width of each column: that of its widest cell.
    ///
    /// - Parameter lines: The cells of each line. All lines have the same number of cells.
    public static func widths(of lines: [[String]]) -> [Int] {
        (0..<(lines.first?.count ?? 0)).map { column in lines.map { $0[column].terminalWidth }.max() ?? 0 }
    }

    /// The lines, each with a line break. Nothing is behind the last cell of a line.
    ///
    /// - Parameters:
    ///   - lines: The cells of each line. All lines have the same number of cells.
    ///   - least: The least widths of the first columns, for texts that are to line up with others.
    public static func text(_ lines: [[String]], least: [Int] = []) -> String {
        let widths = Self.widths(of: lines).enumerated().map { column, width in
            column < least.count ? max(width, least[column]) : width
        }
        return lines.map { line in
            var text = ""
            for (column, cell) in line.enumerated() {
                text += cell
                if column < line.count - 1 {
                    text += String(repeating: " ", count: widths[column] - cell.terminalWidth + 2)
                }
            }
            return text + "\n"
        }.joined()
    }
}

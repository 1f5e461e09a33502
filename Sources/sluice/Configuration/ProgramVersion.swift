/// The version of the program.
enum ProgramVersion {
    /// Also the version of the contract that the program serves.
    static let current = "1.0.0"
}

/// The API's contract, as the program serves it.
public enum Contract {
    /// `sluice.yaml`: OpenAPI 3.1, UTF-8.
    public static let yaml: [UInt8] = PackageResources.sluice_yaml
}

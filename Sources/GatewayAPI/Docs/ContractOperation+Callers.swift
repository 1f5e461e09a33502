import ContractModel

extension ContractModel.Operation {
    /// Whether it is for admins or auditors.
    var isForAdmins: Bool { ["admin", "auditor"].contains(access) }
    /// Whether it is for apps, or for stores, whose listener may be another than that of admins.
    var isForApps: Bool { !isForAdmins && access != "public" }
}

import SwiftUI

@main
struct SluiceApp: App {
    // All windows show one list: two would upload the same files.
    @State private var list = Account.kept().flatMap { $0.key.isEmpty ? nil : UploadList($0) }

    var body: some Scene {
        WindowGroup {
            if let list {
                UploadsView(list: list)
            } else {
                SignInView { account in
                    try? account.keep()
                    list = UploadList(account)
                }
            }
        }
    }
}

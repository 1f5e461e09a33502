import SwiftUI

@main
struct SluiceApp: App {
    @State private var account = Account.kept()

    var body: some Scene {
        WindowGroup {
            if let account, !account.key.isEmpty {
                UploadsView(list: UploadList(account))
            } else {
                SignInView { signedIn in
                    try? signedIn.keep()
                    account = signedIn
                }
            }
        }
    }
}

import Foundation
import TestSupport

/// What systemd does for a service, done by Perl: it holds the sockets, and it hears messages.
enum Supervisor {
    /// A command that starts the gateway on a socket that it holds, again each time that the gateway ends, until it is
    /// told to end itself.
    ///
    /// - Parameters:
    ///   - name: Name of the socket.
    ///   - file: Receives the process identifier of the gateway that runs.
    static func holding(socketNamed name: String, file: URL) -> [String] {
        ["/usr/bin/perl", "-e", holder, file.path, name]
    }

    private static let holder = #"""
        use strict; use Socket; use POSIX ();
        my ($file, $name, @command) = @ARGV;
        $^F = 99;
        # The tests' threads block signals, and whoever they start inherits that.
        POSIX::sigprocmask(POSIX::SIG_SETMASK(), POSIX::SigSet->new);
        socket(my $listener, PF_INET, SOCK_STREAM, 0) or die;
        bind($listener, sockaddr_in(0, INADDR_LOOPBACK)) && listen($listener, 1024) or die;
        my ($ends, $child) = (0, 0);
        $SIG{TERM} = sub { $ends = 1; kill 'TERM', $child };
        until ($ends) {
            defined($child = fork) or die;
            unless ($child) {
                $SIG{TERM} = 'DEFAULT';
                POSIX::dup2(fileno $listener, 3);
                @ENV{'LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES'} = ($$, 1, $name);
                exec 'setpriv', '--pdeathsig', 'KILL', '--', @command;
            }
            open my $note, '>', "$file.new" or die;
            print $note $child; close $note; rename "$file.new", $file;
            until (waitpid($child, 0) == $child) { }
            warn "the gateway ended with $?\n" if $?;
        }
        """#

    /// Listens at a Unix socket. Its output has a line for each assignment that arrives.
    ///
    /// - Parameter name: A path, or a name that begins with `@`.
    static func hearing(at name: String) async throws -> RunningProcess {
        let process = try RunningProcess(["/usr/bin/perl", "-e", hearer, name], environment: [:])
        try await waitUntil("somebody hears") { process.output.hasPrefix("hearing\n") }
        return process
    }

    private static let hearer = #"""
        use Socket; $| = 1;
        (my $name = $ARGV[0]) =~ s/^@/\0/;
        socket(S, PF_UNIX, SOCK_DGRAM, 0) && bind(S, sockaddr_un($name)) or die;
        print "hearing\n";
        while (defined recv(S, my $message, 4096, 0)) { print "$message\n" }
        """#

    /// Runs `body` with a directory that is removed afterwards.
    static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "supervised-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }
}

extension RunningProcess {
    /// How many lines of the output are equal to a text.
    func count(of line: String) -> Int { output.split(separator: "\n").count { $0 == line } }
}

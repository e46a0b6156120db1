//! The command: everything is in the library.

fn main() -> std::process::ExitCode {
    mkfatimg::cli::run()
}

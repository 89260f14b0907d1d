#include "cli/exit_code.hpp"

#include <exception>

#include "cli/output.hpp"

namespace holdfast::cli {

ExitCode exit_code_of(const Error& error) {
    if (error.code().category() != error_category()) return internal_error;
    switch (static_cast<errc>(error.code().value())) {
        case errc::invalid_argument:
        case errc::not_supported:
        case errc::deadlock:
            return usage;
        // What the users of one resource do not agree on, or what the store cannot read, no
        // repetition mends.
        case errc::bad_configuration:
        case errc::conflict:
        case errc::corrupt:
            return bad_configuration;
        // Lost by one that held nothing yet; of a hold's own loss its command's end tells.
        case errc::unreachable:
        case errc::lost:
            return unreachable;
        case errc::cancelled:
            return not_acquired;
        case errc::inherited:
            return internal_error;
    }
    return internal_error;
}

int exit_code_of(const std::function<int()>& work) {
    try {
        return work();
    } catch (const Error& error) {
        say(error.what());
        return exit_code_of(error);
    } catch (const NotWritten&) {
        return not_written;
    } catch (const std::exception& error) {
        say(error.what());
        return internal_error;
    }
}

}  // namespace holdfast::cli

#include "cli/store.hpp"

#include <string_view>

#include <holdfast/error.hpp>

namespace holdfast::cli {
namespace {

/// Mostly a variable that is not set: silently taking the lock elsewhere would exclude nobody.
std::string refuse_empty(const std::string& url) {
    return url.empty() ? "the URL is empty; leave -S out for this machine" : "";
}

void add_store_by(const std::string& names, CLI::App& command, std::string& url) {
    // An empty variable counts as unset: the parser sees to that.
    command.add_option(names, url, "The store; else $HOLDFAST_STORE; else local:")
        ->option_text("URL")
        ->envname("HOLDFAST_STORE")
        ->check(refuse_empty);
}

}  // namespace

void add_store(CLI::App& command, std::string& url) {
    add_store_by("-S,--store", command, url);
}

void add_store_or_word(CLI::App& command, std::string& url) {
    add_store_by("-S,--store,URL", command, url);
}

Client connect_to(const std::string& url, const ClientOptions& options) {
    Client client = connect(url, options);
    if (client.store().starts_with("memory:")) {
        throw Error(errc::bad_configuration,
                    "memory: is inside one process and would exclude nobody; leave -S out for "
                    "this machine");
    }
    return client;
}

}  // namespace holdfast::cli

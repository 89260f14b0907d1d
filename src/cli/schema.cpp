#include <memory>
#include <string>
#include <string_view>

#include <holdfast/upkeep.hpp>

#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/output.hpp"
#include "cli/subcommands.hpp"

namespace holdfast::cli {
namespace {

constexpr const char* schema_examples = R"(Examples:
  holdfast schema postgres://app@db/shop | psql shop
  holdfast schema mysql://app@db/shop | mysql shop

For a database where users may create nothing; where they may, nothing has to be done. No server is
asked. Running it again changes nothing.)";

/// In procedures there are semicolons, at each of which the program mysql would end a statement.
std::string for_program_of(std::string_view url, const std::string& statements) {
    if (!url.starts_with("mysql:")) return statements;
    return "DELIMITER //\n" + statements + "//\nDELIMITER ;\n";
}

int print_schema(const std::string& store) {
    const std::string statements = schema(store);
    if (statements.empty()) {
        say("this store needs nothing in a database; name one of postgres: or mysql:");
        return usage;
    }
    print(for_program_of(store, statements));
    return success;
}

}  // namespace

Subcommand add_schema(CLI::App& program) {
    const auto store = std::make_shared<std::string>();
    CLI::App& parser =
        add_subcommand(program, {.name = "schema",
                                 .summary = "Print what a store needs in its database",
                                 .usage = "holdfast schema [URL]",
                                 .examples = schema_examples});
    add_store_or_word(parser, *store);
    return {&parser, *store, [store] { return print_schema(*store); }};
}

}  // namespace holdfast::cli

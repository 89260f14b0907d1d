#include "cli/schema.hpp"

#include <holdfast/upkeep.hpp>

#include "cli/exit_code.hpp"
#include "cli/help.hpp"
#include "cli/output.hpp"
#include "cli/say.hpp"
#include "cli/store.hpp"

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

}  // namespace

CLI::App* add_schema(CLI::App& program, SchemaOptions& options) {
    CLI::App* const command =
        program.add_subcommand("schema", "Print what a store needs in its database");
    command->formatter(std::make_shared<HelpWithUsage>("holdfast schema [URL]"));
    add_store_or_word(*command, options.store);
    command->footer(schema_examples);
    return command;
}

int schema(const SchemaOptions& options) {
    const std::string statements = holdfast::schema(options.store);
    if (statements.empty()) {
        say("this store needs nothing in a database; name one of postgres: or mysql:");
        return usage;
    }
    print(for_program_of(options.store, statements));
    return success;
}

}  // namespace holdfast::cli

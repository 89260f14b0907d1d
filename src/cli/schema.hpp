#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace holdfast::cli {

/// What `holdfast schema` was asked for.
struct SchemaOptions {
    std::string store;
};

/// Adds the command to the program's. Parsing fills `options`, which must outlive the parser.
CLI::App* add_schema(CLI::App& program, SchemaOptions& options);

/// Prints the statements that make what a store needs in its database, and says how the program
/// shall end.
int schema(const SchemaOptions& options);

}  // namespace holdfast::cli

#pragma once

#include <string>
#include <string_view>

#include <holdfast/error.hpp>

#include "port/store_url.hpp"

namespace holdfast::inline v0::postgres {

/// The schema that has the locks of this URL. It is the same for all users whatever their
/// search_path: in schemas of their own two would hold one lock. Throws Error with
/// errc::bad_configuration.
inline std::string schema_of(const StoreUrl& url) {
    constexpr std::size_t longest_identifier = 63;
    std::string schema = url.text("schema").value_or("public");
    if (schema.empty() || schema.size() > longest_identifier ||
        schema.find('\0') != std::string::npos) {
        throw Error(errc::bad_configuration, url.shown + ": the parameter schema is '" + schema +
                                                 "'; give the name of a schema, up to 63 bytes");
    }
    return schema;
}

/// As a session is told to look for what is ours there, and nowhere else before.
inline std::string search_path_of(std::string_view schema) {
    std::string path = "\"";
    for (const char c : schema) {
        if (c == '"') path += '"';
        path += c;
    }
    return path + "\"";
}

/// What somebody says who makes our tables and functions by hand.
inline std::string choice_of_schema(const StoreUrl& url) {
    return "SET search_path = " + search_path_of(schema_of(url)) + ";\n";
}

}  // namespace holdfast::inline v0::postgres

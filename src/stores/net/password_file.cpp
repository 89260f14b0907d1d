#include "stores/net/password_file.hpp"

#include <fstream>

#include <holdfast/error.hpp>

namespace holdfast::inline v0::net {

namespace {

[[noreturn]] void refuse(const StoreUrl& url, const std::string& sentence) {
    throw Error(errc::bad_configuration, url.shown + ": " + sentence);
}

}  // namespace

std::string password_from(const StoreUrl& url, const std::string& path) {
    if (!url.password.empty()) {
        refuse(url, "a password and a password_file are given; leave one of them out");
    }
    std::ifstream file(path);
    std::string password;
    if (!file || (!std::getline(file, password) && !file.eof())) {
        refuse(url, "the password_file '" + path + "' cannot be read; check its name and rights");
    }
    if (!password.empty() && password.back() == '\r') password.pop_back();
    if (password.empty()) {
        refuse(url,
               "the password_file '" + path + "' is empty; put the password on its first line");
    }
    return password;
}

}  // namespace holdfast::inline v0::net

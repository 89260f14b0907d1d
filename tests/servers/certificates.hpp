#pragma once

#include <filesystem>

namespace holdfast::test {

struct Certificate {
    std::filesystem::path certificate;
    std::filesystem::path key;
};

/// Made by openssl(1) when first asked for, and gone with this process.
struct Certificates {
    Certificate authority;
    Certificate server;     ///< for 127.0.0.1 and localhost
    Certificate elsewhere;  ///< a server's too, but for elsewhere.example
    Certificate client;
    /// Nobody whom the above trust.
    Certificate other_authority;
    Certificate other_server;  ///< for 127.0.0.1 and localhost
    Certificate stranger;      ///< a client's
};

const Certificates& certificates();

}  // namespace holdfast::test
